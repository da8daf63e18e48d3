package coroutine

import (
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/internal/clock"
)

// Standby: a rescuer (handoff.go) that stands by before a coroutine blocks.
//
// The monitor of the host checks now and then, and a coroutine that blocks
// outside netco holds up its loop until then. Code that has blocked is likely
// to block again. So before it runs, the loop starts a standby: an ordinary
// goroutine that does the checks. The Go scheduler runs it on the loop's thread
// as soon as the coroutine blocks, or on another thread that is idle. It leaves
// the coroutine behind when that has been blocked for standbyAfterNs, and gives
// up when the coroutine has run for standbyForNs. The monitor, too, starts a
// standby where it finds a coroutine blocked (Executor.Rescue). A standby that
// is missing or late costs only time.
//
// Credit decides which runs begin with a standby. A coroutine has credit
// (worker.credit), and so has each function that coroutines are started with
// (habit):
//
//	a start of a function with credit   takes 1 from the function; the
//	                                    coroutine has maxCredit
//	a start of another function         the coroutine has 1 if the executor is
//	                                    wary, else none
//	a run with a standby                takes 1 from the coroutine
//	it is left behind                   gives 1 to both
//	it rejoins after less than worthNs  halves both
//	it rejoins after longer             fills both
//
// So code that has blocked once has standbys for some runs, and code that keeps
// blocking has them for good; code whose waits are shorter than the work of a
// handoff soon has none. An executor is wary at its first starts, and at the
// first starts after each handoff: coroutines that are started together often
// block together.
//
// When no coroutine was left behind for habitNs, a resume checks
// Executor.careful and no credit. docs/RATIONALE.md says what each part gains.
const (
	maxCredit      = 8
	standbyAfterNs = 50_000
	standbyForNs   = 100_000 // unless Standby says otherwise
	worthNs        = 100_000 // about the time that a handoff and the way back take, on both sides
	habitNs        = 10_000_000_000

	waryAtFirst = 16 // starts
	waryAfter   = 8  // starts
)

// habits are the credit of functions, as code pointer<<8 | credit. If two
// functions share an entry, the function that blocked last has it. Updates may
// be lost, which does no harm.
var habits [256]atomic.Uint64

// habitsUntil is the time, as a stamp of the status word, until which executors
// check credit.
var habitsUntil atomic.Uint64

// habit is the credit of one function.
type habit struct {
	entry *atomic.Uint64
	code  uint64
}

// habitOf returns the habit of fn, which all closures of the same function
// share.
func habitOf(fn func()) habit {
	code := uint64(codeOf(fn)) << 8
	return habit{&habits[code*0x9e3779b97f4a7c15>>56], code}
}

func (h habit) credit() uint8 {
	if word := h.entry.Load(); word&^0xff == h.code {
		return uint8(word)
	}
	return 0
}

func (h habit) set(credit uint8) { h.entry.Store(h.code | uint64(credit)) }

// Standby is the configuration of standbys.
type Standby struct {
	Barrier func()            // makes every thread execute a memory barrier
	OnLeft  func(*LeftBehind) // called on a new goroutine for each coroutine left behind; or nil
	forNs   int64             // how long a coroutine may run before its standby gives up
}

// SetStandby makes the executor start standbys from then on. Any thread.
// Precondition: CanLeave.
func (ex *Executor) SetStandby(s Standby) {
	if s.forNs == 0 {
		s.forNs = standbyForNs
	}
	ex.standby.Store(&s)
	expectHabits()
}

// expectHabits makes executors check credit for habitNs.
func expectHabits() { habitsUntil.Store(stampOf(clock.Now() + habitNs)) }

// hasHabits reports whether credit is checked in this turn. Owner only.
func (ex *Executor) hasHabits() bool {
	return ex.stamp < habitsUntil.Load() && ex.standby.Load() != nil
}

// suspect reports whether co, which is about to start, is to have a standby.
// Owner only.
func (ex *Executor) suspect(co *Coroutine) bool {
	return ex.wary > 0 || habitOf(co.fn).credit() > 0
}

// takeCredit returns the credit that co starts with. Owner only.
func (ex *Executor) takeCredit(co *Coroutine) uint8 {
	h := habitOf(co.fn)
	switch c := h.credit(); {
	case c > 0:
		h.set(c - 1)
		return maxCredit
	case ex.wary > 0:
		ex.wary--
		return 1
	}
	return 0
}

// takeCare starts a standby for the current coroutine, which the loop is about
// to resume, if it has credit. Owner only, on the loop.
func (ex *Executor) takeCare(w *worker) {
	if w.credit == 0 {
		return
	}
	w.credit--
	if s := ex.standby.Load(); s != nil {
		ex.Stats.Standbys.Inc()
		go s.run(blockedRun{w: w, ex: ex}, ex.current.Own(), func() {})
	}
}

// Rescue starts a standby for the running coroutine if it is blocked outside
// netco. Any thread. onLeft is called just before the loop runs on, if it does.
// Precondition: SetStandby was called.
func (ex *Executor) Rescue(onLeft func()) {
	if l, co := ex.blockedRun(); co != nil {
		go ex.standby.Load().run(l, co, onLeft)
	}
}

// run leaves co behind if it soon blocks for standbyAfterNs within one run. If
// co gives up the thread between two waits, they are in different runs.
func (s *Standby) run(l blockedRun, co *Coroutine, onLeft func()) {
	before := func(b *LeftBehind) {
		if s.OnLeft != nil {
			go s.OnLeft(b) // called here, it would hold up the loop
		}
		onLeft()
	}
	begin, since := clock.Now(), int64(0)
	for l.ex.current.Load() == co {
		now := clock.Now()
		switch run := l.w.pinning.Run(); {
		case l.w.blocked():
			if since == 0 || run != l.run {
				since, l.run = now, run
			} else if now-since >= standbyAfterNs {
				if l.leave(s.Barrier, before) {
					return
				}
				since = 0 // it has just woken, and may block again
			}
		case now-begin >= s.forNs:
			return
		default:
			since = 0
		}
		runtime.Gosched()
	}
}

// creditLeft gives credit to a coroutine that was left behind. Owner only.
func (w *worker) creditLeft() {
	expectHabits()
	w.ex.wary = max(w.ex.wary, waryAfter)
	w.giveCredit(1)
}

// giveCredit adds to the credit of the coroutine and its function. Owner only.
func (w *worker) giveCredit(more uint8) {
	w.credit = min(w.credit+more, maxCredit)
	h := habitOf(w.co.Own().fn)
	h.set(min(h.credit()+more, maxCredit))
}

// cameBack adjusts the credit of a coroutine that has rejoined; worth says
// whether it was away for worthNs. Owner only.
func (w *worker) cameBack(worth bool) {
	if worth {
		w.giveCredit(maxCredit)
		return
	}
	w.credit /= 2
	h := habitOf(w.co.Own().fn)
	h.set(h.credit() / 2)
}
