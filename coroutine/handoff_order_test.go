package coroutine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// The model of handoff: a coroutine's goroutine, the loop, and two rescuers,
// step by step, in every order. It is a model, not the code itself, because the
// code relies on this: the goroutine's stores are plain, so others see them
// later, from a buffer, in their order (x86-TSO). Its status, which is the
// runtime's, is modelled as such a store as well: nothing promises that the
// runtime changes it with a fence. What rescuer and loop store is atomic, and
// they load afterwards.
//
// A step is one access to what is shared. The steps are those of CurrentWorker,
// suspend, worker.end, blockedRun.leave, worker.blocked, Executor.wentOn and
// worker.post.

// rules are what the model can do without, to show what each is for.
type rules struct {
	barrier bool // the rescuer has every thread execute a memory barrier once it has claimed
	reread  bool // it reads open once more after the status
	pins    bool // a wait inside netco closes open
	looks   bool // an operation checks away
}

// place is where a thread of the model is.
type place uint8

const (
	// The coroutine's goroutine.
	cUser    place = iota // in the user's code
	cBlocked              // blocked there
	cLook                 // about to check away
	cGuard                // inside, touching what belongs to the owner
	cPin                  // about to wait inside: closes open,
	cWait                 //   blocks,
	cWaiting              //   is blocked,
	cUnpin                //   opens open
	cClose                // about to suspend itself: closes open,
	cSwitch               //   switches
	cRejoin               // the same, when it comes back
	cBack                 //   switches
	cParked               // in its coro
	cResumed              // about to open open
	cFinish               // about to end: closes open,
	cEnd                  //   switches for good
	cEnded

	// The loop.
	lRun      // between two coroutines
	lParked   // in the coroutine's coro
	lReturned // behind its switch
	lOver

	// A rescuer.
	rClaim
	rBarrier
	rOpen
	rStatus
	rReread
	rGiveUp
	rLeave
	rLeft
	rSwitch
	rParked
	rPost
	rOver
)

// What is in the coro.
const (
	holdsNone = iota
	holdsLoop
	holdsCoroutine
	holdsRescuer // and its number
)

// store is a store that other threads do not see yet.
type store struct{ open, blocked, isOpen uint8 }

const rescuers = 2

// model is one state. Its zero value but for program is a running coroutine of
// a loop that is parked.
type model struct {
	// Shared memory.
	away    uint8
	open    uint8
	blocked uint8 // the goroutine's status
	left    bool
	queued  bool // in the run queue
	posted  bool // in the inbox
	coro    uint8

	// The goroutine: its stores under way, what it has written itself, what it
	// has still to do, and how it goes on after a check or a resume.
	buffer  [4]store
	stores  uint8
	mine    uint8
	todo    uint8
	next    place
	c, l    place
	r       [rescuers]place
	seen    [rescuers]uint8 // of open
	trouble uint8           // an index of troubles
}

var troubles = []string{"", "the coroutine and its loop both have what is the owner's",
	"a rescuer switches to what is not the loop", "the coroutine suspends itself into nothing"}

func (m model) owns() bool {
	switch m.c {
	case cGuard, cPin, cWait, cWaiting, cUnpin, cClose, cSwitch, cFinish, cEnd:
		return true
	}
	return false
}

func (m model) check() model {
	others := m.l == lRun || m.l == lReturned
	for i := range m.r {
		others = others || m.r[i] == rLeft || m.r[i] == rSwitch
	}
	if m.owns() && others && m.trouble == 0 {
		m.trouble = 1
	}
	return m
}

// put is a plain store of the goroutine's.
func (m model) put(s store) model {
	m.buffer[m.stores] = s
	m.stores++
	return m
}

// drained is m when all stores have been seen.
func (m model) drained() model {
	for m.stores > 0 {
		m = m.flush()
	}
	return m
}

func (m model) flush() model {
	if s := m.buffer[0]; s.isOpen != 0 {
		m.open = s.open
	} else {
		m.blocked = s.blocked
	}
	copy(m.buffer[:], m.buffer[1:])
	m.stores--
	m.buffer[m.stores] = store{}
	return m
}

func (m model) setOpen(open bool) model {
	if (m.mine&1 != 0) != open {
		m.mine++
	}
	return m.put(store{open: m.mine, isOpen: 1})
}

func (m model) setBlocked(b uint8) model { return m.put(store{blocked: b}) }

// suspends hands the thread to the goroutine parked in the coro.
func (m model) suspends() model {
	m = m.drained() // the switch is a fence
	m.blocked = 1   // as others see it
	switch in := m.coro; {
	case in == holdsLoop:
		m.l = lReturned
	case in >= holdsRescuer:
		m.r[in-holdsRescuer] = rPost
	default:
		m.trouble = 3
	}
	m.coro = holdsCoroutine
	return m
}

// steps returns where m can go next.
func (m model) steps(u rules) (to []model) {
	if m.stores > 0 {
		to = append(to, m.flush())
	}
	if m.stores < uint8(len(m.buffer)) {
		to = append(to, m.goroutine(u)...)
	}
	to = append(to, m.loop()...)
	for i := range m.r {
		to = append(to, m.rescuer(i, u)...)
	}
	for i := range to {
		to[i] = to[i].check()
	}
	return to
}

// at is m with its goroutine at another place.
func (m model) at(c place) model {
	m.c = c
	return m
}

// begins is m that begins an operation of netco.
func (m model) begins(next place, u rules) model {
	m.next = next
	if !u.looks {
		return m.at(next)
	}
	return m.at(cLook)
}

func (m model) goroutine(u rules) []model {
	switch m.c {
	case cUser:
		if m.todo == 0 {
			return []model{m.begins(cFinish, u)}
		}
		m.todo--
		return []model{m.setBlocked(1).at(cBlocked),
			m.begins(cGuard, u), m.begins(cPin, u), m.begins(cClose, u)}
	case cBlocked:
		m = m.setBlocked(0).at(cUser)
	case cLook:
		switch m.away {
		case attached:
			m.c = m.next
		case outside:
			m.c = cRejoin
		default:
			return nil
		}
	case cGuard:
		m.c = cUser
	case cPin:
		if u.pins {
			m = m.setOpen(false)
		}
		m.c = cWait
	case cWait:
		m = m.setBlocked(1).at(cWaiting)
	case cWaiting:
		m = m.setBlocked(0).at(cUnpin)
	case cUnpin:
		if u.pins {
			m = m.setOpen(true)
		}
		m.c = cGuard
	case cClose: // a yield: it queues itself
		m = m.setOpen(false).at(cSwitch)
		m.next, m.queued = cUser, true
	case cRejoin:
		m = m.setOpen(false).at(cBack)
	case cSwitch, cBack:
		m = m.suspends().at(cParked)
	case cResumed:
		m = m.setOpen(true).at(m.next)
	case cFinish:
		m = m.setOpen(false).at(cEnd)
	case cEnd:
		m = m.suspends().at(cEnded) // blocked stays: another has its identity
		m.coro = holdsNone
	default: // cParked, cEnded
		return nil
	}
	return []model{m}
}

func (m model) loop() (to []model) {
	switch m.l {
	case lRun:
		if m.posted {
			n := m
			n.posted, n.away, n.queued = false, attached, true
			to = append(to, n)
		}
		if m.queued {
			n := m
			if n.queued = false; n.coro != holdsCoroutine {
				n.trouble = 3
			}
			n.coro, n.l, n.c, n.blocked = holdsLoop, lParked, cResumed, 0
			to = append(to, n)
		}
		if m.c == cEnded && !m.posted && !m.queued {
			n := m
			n.l = lOver
			to = append(to, n)
		}
	case lReturned:
		if m.left {
			m.left, m.away = false, outside
		}
		m.l = lRun
		to = append(to, m)
	}
	return to
}

func (m model) rescuer(i int, u rules) []model {
	at := &m.r[i]
	*at++ // mostly
	switch m.r[i] - 1 {
	case rClaim:
		n := m
		n.r[i] = rOver // it has not checked
		if m.away != attached {
			return []model{n}
		}
		m.away = claimed
		return []model{m, n}
	case rBarrier:
		if u.barrier {
			m = m.drained()
		}
	case rOpen:
		if m.seen[i] = m.open; m.open&1 == 0 {
			m.r[i] = rGiveUp
		}
	case rStatus:
		if m.blocked == 0 {
			m.r[i] = rGiveUp
		}
	case rReread:
		if m.r[i] = rLeave; u.reread && m.open != m.seen[i] {
			m.r[i] = rGiveUp
		}
	case rGiveUp:
		m.away, m.r[i] = attached, rOver
	case rLeave:
		m.away = leaving
	case rLeft:
		m.left = true
	case rSwitch:
		if m.coro != holdsLoop {
			m.trouble = 2
		}
		m.coro, m.l = holdsRescuer+uint8(i), lReturned
	case rPost:
		m.posted = true
	default: // rParked, rOver
		return nil
	}
	return []model{m}
}

func (m model) over() bool {
	over := m.c == cEnded && m.l == lOver && m.stores == 0
	for i := range m.r {
		over = over && m.r[i] == rOver
	}
	return over
}

// explored is what all orders lead to: how many states there are, how many of
// them with a rescuer parked, and the first trouble.
func explored(u rules, todo uint8) (states, handedOn int, trouble string) {
	first := model{coro: holdsLoop, open: 1, mine: 1, todo: todo, l: lParked}
	for i := range first.r {
		first.r[i] = rClaim
	}
	from := map[model][]model{first: nil}
	queue := []model{first}
	var ends []model
	for ; len(queue) > 0; queue = queue[1:] {
		m := queue[0]
		if m.trouble != 0 {
			return len(from), handedOn, troubles[m.trouble]
		}
		for i := range m.r {
			if m.r[i] == rParked {
				handedOn++
			}
		}
		to := m.steps(u)
		if m.over() {
			ends = append(ends, m)
		}
		for _, n := range to {
			if _, known := from[n]; !known {
				queue = append(queue, n)
			}
			from[n] = append(from[n], m)
		}
	}
	fine := map[model]bool{}
	for ; len(ends) > 0; ends = ends[1:] {
		if fine[ends[0]] {
			continue
		}
		fine[ends[0]] = true
		ends = append(ends, from[ends[0]]...)
	}
	if len(fine) != len(from) {
		for m := range from {
			if !fine[m] {
				return len(from), handedOn, fmt.Sprintf("no end can be reached from %+v", m)
			}
		}
	}
	return len(from), handedOn, ""
}

// TestHandoffEveryOrder: whatever the order, and whenever the goroutine's
// stores are seen, loop and coroutine never both touch what belongs to the
// owner, nothing is lost and all can end. And each of the rules is needed for
// that.
func TestHandoffEveryOrder(t *testing.T) {
	todo := uint8(3)
	if testenv.Full() {
		todo = 7
	}
	all := rules{barrier: true, reread: true, pins: true, looks: true}
	states, handedOn, trouble := explored(all, todo)
	if trouble != "" || handedOn == 0 {
		t.Fatalf("%d states, %d of them handed on: %s", states, handedOn, trouble)
	}
	t.Logf("%d states, %d of them handed on", states, handedOn)
	for _, c := range []struct {
		without string
		rules   rules
	}{
		{"the memory barrier", rules{reread: true, pins: true, looks: true}},
		{"the second look at open", rules{barrier: true, pins: true, looks: true}},
		{"pins", rules{barrier: true, reread: true, looks: true}},
		{"looks", rules{barrier: true, reread: true, pins: true}},
	} {
		states, _, trouble := explored(c.rules, todo)
		testenv.True(t, strings.Contains(trouble, "owner's"), "without %s: %d states, trouble: %q",
			c.without, states, trouble)
	}
}
