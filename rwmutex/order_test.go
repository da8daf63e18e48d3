package rwmutex

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/explore"
	"github.com/netco-go/netco/internal/waitq"
)

// orders are the programs of TestEveryOrder. What parks that end early, spins
// and ends by force add to a program includes the program without them.
var orders = []struct {
	programs string // see order.run
	early    int    // how many parks may end early
	spin     bool   // callers may spin before they queue
	calm     bool   // no waiter is ever starved
}{
	{programs: "W W", early: 2, spin: true},
	{programs: "R W", early: 1, spin: true},
	{programs: "WW WW", early: 1, spin: true},
	{programs: "RR WW", early: 1, spin: true},
	{programs: "WR WR", early: 1, spin: true},
	{programs: "W! W!", early: 1},
	{programs: "W W W", spin: true},
	{programs: "R W! R!"},
	{programs: "W R R!"},
	{programs: "T W", early: 1, spin: true},
	{programs: "U W", early: 1, spin: true},
	{programs: "T T W"},
	{programs: "T W W"},
	{programs: "U W R"},
	{programs: "T R R"},
	{programs: "U U W"},
	{programs: "C W W!"},
	{programs: "W& T& R&"},
	{programs: "W& W R&"},
	{programs: "O W W"},
	{programs: "P W W"},
	{programs: "P R W"},
	{programs: "w W R"},
	{programs: "r W R"},
	{programs: "rw WR"},
	{programs: "x W W"},
	{programs: "x x W"},
	{programs: "x R W", spin: true},
	{programs: "xx R W"},
	{programs: "x R W!"},
	{programs: "y R R"},
	{programs: "WW W W"},
	{programs: "W W W W", calm: true},
	{programs: "R W R W", calm: true},
	{programs: "W R! W!"},
	{programs: "W W R", early: 1, spin: true},
	{programs: "R R W", early: 1, spin: true},
	{programs: "W! W! W!"},
	{programs: "WR RW R"},
	{programs: "T! W! U!"},
	{programs: "R T R W", calm: true},
}

// TestEveryOrder runs small programs in every order of their shared accesses,
// and checks: mutual exclusion; service in the order of arrival; that no caller
// passes a handoff; that one writer at most is woken; that no thread is left
// waiting and the end can be reached from every state; that misuse panics; and
// that the lock is free in the end.
func TestEveryOrder(t *testing.T) {
	for _, c := range orders {
		t.Run(strings.ReplaceAll(c.programs, " ", ","), func(t *testing.T) {
			defer func(n uint32) { choose, noteFor = nil, n }(noteFor)
			noteFor = 0
			explore.Run(t, func(w *explore.World) explore.Program {
				o := newOrder(w, strings.Fields(c.programs))
				choose = func(q question) bool { return o.choose(q, c.spin, c.calm) }
				return o.program()
			}, explore.Limits{Early: c.early})
		})
	}
}

// order is one lock, the programs that use it, and what is to be true of them.
type order struct {
	m        RWMutex
	w        *explore.World
	programs []string

	pos       []int  // in the programs
	waiting   []int  // threads that wait or are woken, by arrival
	contender int    // the thread that is woken to try, or -1
	late      bool   // the woken writer is starved
	served    []bool // threads that have got the lock from the queue, and not entered
	queue     []int  // as it was after the last step
	state     int64  // as it was after the last step
	inside    struct{ readers, writers int }
	failure   string
}

func newOrder(w *explore.World, programs []string) *order {
	return &order{w: w, programs: programs, pos: make([]int, len(programs)),
		served: make([]bool, len(programs)), contender: -1}
}

// choose answers the lock's questions: in every way, or always no.
func (o *order) choose(q question, spin, calm bool) bool {
	if q == isStarved && calm || q == doesSpin && !spin {
		return false
	}
	yes := o.w.Choose(2) == 1
	if q == isStarved && o.w.Running().ID() == o.contender {
		o.late = yes
	}
	return yes
}

func (o *order) program() explore.Program {
	p := explore.Program{State: o.appendState, Seen: o.seen, Check: o.check, End: o.end,
		Describe: o.describe}
	for range o.programs {
		p.Threads = append(p.Threads, o.run)
	}
	return p
}

// run runs a thread's program: a letter per operation.
//
//	W, R     lock, stay a step, unlock, for writing or reading
//	T, U     the same with a timeout, which may come at any time
//	C        W with a context
//	O, P     W, R with no time
//	w, r     the same with TryLock or TryRLock
//	x, y     an RUnlock, Unlock too many
//	!, &     behind them: the thread's parks may be ended by shutdown; it is a
//	         goroutine
func (o *order) run(th *explore.Thread) {
	program := o.programs[th.ID()]
	th.Stoppable = strings.Contains(program, "!")
	th.Goroutine = strings.Contains(program, "&")
	for i, letter := range strings.TrimRight(program, "!&") {
		o.pos[th.ID()] = i
		th.Step("begin")
		switch letter {
		case 'W':
			o.m.Lock()
			o.write(th)
		case 'R':
			o.m.RLock()
			o.read(th)
		case 'T':
			o.writeIf(th, o.m.LockTimeout(time.Hour))
		case 'C':
			o.writeIf(th, o.m.LockContext(th.Context()))
		case 'O':
			o.writeIf(th, o.m.LockTimeout(0))
		case 'U':
			o.readIf(th, o.m.RLockTimeout(time.Hour))
		case 'P':
			o.readIf(th, o.m.RLockTimeout(0))
		case 'w':
			if o.m.TryLock() {
				o.write(th)
			}
		case 'r':
			if o.m.TryRLock() {
				o.read(th)
			}
		case 'x':
			// Else it would be a reader's.
			if s := o.m.state.Load(); s&writer != 0 || count(s) <= 0 {
				o.misuse(th, "rwmutex: RUnlock of unlocked RWMutex", o.m.RUnlock)
			}
		case 'y':
			o.misuse(th, "rwmutex: Unlock of unlocked RWMutex", o.m.Unlock)
		}
	}
}

func (o *order) writeIf(th *explore.Thread, err error) {
	if err == nil {
		o.write(th)
	}
}

func (o *order) readIf(th *explore.Thread, err error) {
	if err == nil {
		o.read(th)
	}
}

func (o *order) write(th *explore.Thread) {
	o.enter(th)
	o.inside.writers++
	th.Step("stay inside")
	o.inside.writers--
	o.m.Unlock()
}

func (o *order) read(th *explore.Thread) {
	o.enter(th)
	o.inside.readers++
	th.Step("stay inside")
	o.inside.readers--
	o.m.RUnlock()
}

// enter is called when the thread has the lock: by what it has just done, or
// because it has been served.
func (o *order) enter(th *explore.Thread) {
	switch id := th.ID(); {
	case o.served[id]:
		o.served[id] = false
	case slices.Contains(o.waiting, id):
		o.fail("thread %d entered, which has not been served", id)
	case o.state&handoff != 0:
		o.fail("thread %d passed %v of a handoff lock", id, o.waiting)
	}
}

func (o *order) misuse(th *explore.Thread, want string, f func()) {
	if got := th.Panics(f); !strings.HasPrefix(fmt.Sprint(got), want) {
		o.fail("misuse gave %v, want a panic with %q", got, want)
	}
}

func (o *order) fail(format string, args ...any) {
	if o.failure == "" {
		o.failure = fmt.Sprintf(format, args...)
	}
}

// check follows the queue from what it was before the step of th.
func (o *order) check(th *explore.Thread) string {
	before, after, s := o.queue, o.w.Queue(&o.m.queue), o.m.state.Load()
	wasWoken := o.state&woken != 0
	wasStarving := o.state&handoff != 0
	o.queue, o.state = after, s
	switch {
	case th.ID() == o.contender && wasWoken && s&woken == 0 && !slices.Contains(after, th.ID()):
		o.contender = -1
		o.serve([]int{th.ID()})
	case len(after) > len(before):
		o.pushed(th.ID(), before, after)
	case len(after) < len(before):
		o.taken(th, before, after, wasStarving)
	case !slices.Equal(before, after):
		o.fail("the queue went from %v to %v", before, after)
	}
	if o.inside.writers > 1 || o.inside.writers == 1 && o.inside.readers > 0 {
		o.fail("%d writers and %d readers are inside", o.inside.writers, o.inside.readers)
	}
	if !o.m.guard.Held() {
		o.checkFlags(s)
	}
	return o.failure
}

func (o *order) pushed(id int, before, after []int) {
	if id == o.contender {
		o.contender = -1
		if !slices.Equal(after, append([]int{id}, before...)) {
			o.fail("contender %d went back: %v became %v", id, before, after)
		}
		if o.late && o.state&handoff == 0 {
			o.fail("contender %d went back overdue, and the lock is not handoff", id)
		}
		return
	}
	if strings.IndexByte("OP", o.programs[id][o.pos[id]]) >= 0 {
		o.fail("thread %d queued without any time to wait", id)
	}
	o.waiting = append(o.waiting, id)
	if !slices.Equal(after, append(slices.Clone(before), id)) {
		o.fail("thread %d queued: %v became %v", id, before, after)
	}
}

func (o *order) taken(th *explore.Thread, before, after []int, wasStarving bool) {
	if at := slices.Index(before, th.ID()); at >= 0 && th.Waiter().Tag == 0 { // it has given up
		before = slices.Delete(slices.Clone(before), at, at+1)
		o.waiting = slices.DeleteFunc(o.waiting, func(id int) bool { return id == th.ID() })
		if !slices.Equal(before, after) {
			o.fail("thread %d gave up and left %v, not %v", th.ID(), after, before)
		}
		return
	}
	n := len(before) - len(after)
	out := before[:n]
	if !slices.Equal(before[n:], after) {
		o.fail("the queue went from %v to %v", before, after)
	}
	kinds := ""
	for _, id := range out {
		kinds += o.kind(id)
	}
	switch {
	case kinds == "W" && o.state&writer == 0 && wasStarving:
		o.fail("thread %d was not handed the handoff lock, but woken to try", out[0])
	case kinds == "W" && o.state&writer == 0:
		if o.contender >= 0 {
			o.fail("contenders %d and %d", o.contender, out[0])
		}
		o.contender, o.late = out[0], false
	case kinds == "W":
		o.serve(out)
	case strings.Trim(kinds, "R") != "":
		o.fail("served at once: %s", kinds)
	case len(after) > 0 && o.kind(after[0]) == "R":
		o.fail("readers served without the one behind them")
	default:
		o.serve(out)
	}
}

// serve marks threads that have got the lock: they must have waited longest.
func (o *order) serve(ids []int) {
	if n := len(ids); n > len(o.waiting) || !slices.Equal(o.waiting[:n], ids) {
		o.fail("%v were served, of %v", ids, o.waiting)
		return
	}
	o.waiting = slices.Clone(o.waiting[len(ids):])
	for _, id := range ids {
		o.served[id] = true
	}
}

// kind returns what the thread waits for, R or W.
func (o *order) kind(id int) string {
	if strings.IndexByte("RUP", o.programs[id][o.pos[id]]) >= 0 {
		return "R"
	}
	return "W"
}

// checkFlags checks the invariants of the states in which the guard is free.
func (o *order) checkFlags(s int64) {
	switch {
	case (s&queued != 0) != (len(o.queue) > 0):
		o.fail("queue %v and flags %#x", o.queue, s&flagMask)
	case (s&woken != 0) != (o.contender >= 0):
		o.fail("contender %d and flags %#x", o.contender, s&flagMask)
	case s != normal(s):
		o.fail("flags %#x, want %#x", s&flagMask, normal(s)&flagMask)
	}
}

// end says what is wrong when all have ended.
func (o *order) end() string {
	if s := o.m.state.Load() &^ quick; s != 0 || o.m.guard.Held() || !o.m.queue.Empty() {
		return "not free: " + o.describe()
	}
	return ""
}

func (o *order) describe() string {
	s := o.m.state.Load()
	return fmt.Sprintf("count %d, flags %06b, queue %v, waiting %v, contender %d", count(s),
		s&flagMask, o.w.Queue(&o.m.queue), o.waiting, o.contender)
}

// seen returns what a thread reads into its local variables by the access op.
func (o *order) seen(op waitq.Op) uint64 {
	switch op {
	case opLoad:
		return uint64(o.m.state.Load())
	}
	return 0
}

func (o *order) appendState(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(o.m.state.Load()))
	if o.late {
		b = append(b, 1)
	}
	b = append(b, byte(o.contender), byte(o.inside.readers), byte(o.inside.writers))
	for i, id := range o.waiting {
		b = append(b, byte(i), byte(id))
	}
	for _, served := range o.served {
		if served {
			b = append(b, 1)
		}
		b = append(b, 0)
	}
	return o.w.AppendQueue(b, &o.m.queue)
}
