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
// the coroutine behind when that has been blocked for standbyAfterNs; if the
// waits of its function are long, for sureAfterNs. It gives up when the
// coroutine has run for standbyForNs. The monitor, too, starts a standby where
// it finds a coroutine blocked (Executor.Rescue). A standby that is missing or
// late costs only time.
//
// Credit decides which runs begin with a standby. A coroutine has credit
// (worker.credit), and so has each function that coroutines are started with
// (fnCredit):
//
//	a start of a function with credit  takes 1 from the function; the coroutine
//	                                   has maxCredit
//	a start of another function        the coroutine has 1, or none if
//	                                   freeStandbys is 0; at a later run, with
//	                                   none left, it may take from the function
//	a run with a standby               takes 1 from the coroutine
//	it is left behind                  gives 1 to both
//	it rejoins within longAwayNs       halves both
//	it rejoins later                   fills both; the function's waits are long
//	                                   while it has more than half of its credit
//
// So code that has blocked once has standbys for some runs, and code that keeps
// blocking has them for good; code whose waits are shorter than the work of a
// handoff soon has none. The first starts of an executor, and the first after
// each handoff, get a standby without credit (freeStandbys): coroutines that
// are started together often block together.
//
// When no coroutine was left behind for creditNs, a resume checks
// Executor.slowResume and no credit. docs/RATIONALE.md says what each part
// gains.
const (
	maxCredit      = 16      // of a coroutine
	maxFnCredit    = 64      // of a function, so that many coroutines may start at once
	standbyAfterNs = 50_000  // about the CPU time of a handoff and the way back
	sureAfterNs    = 5_000   // where waits are long
	standbyForNs   = 100_000 // unless Standby says otherwise
	expectedForNs  = 1_000_000
	longAwayNs     = 100_000 // about the time that a handoff and the way back take, on both sides
	creditNs       = 10_000_000_000

	freeAtFirst      = 16 // starts
	freeAfterHandoff = 8  // starts
)

// fnCredits are the credit of functions, as code pointer<<8 | credit. If two
// functions share an entry, the function that blocked last has it. Updates may
// be lost, which does no harm.
var fnCredits [256]atomic.Uint64

// creditUntil is the time, as a stamp of the status word, until which executors
// check credit.
var creditUntil atomic.Uint64

// fnCredit is the credit of one function.
type fnCredit struct {
	entry *atomic.Uint64
	code  uint64
}

// fnCreditOf returns the credit of fn, which all closures of the same function
// share.
func fnCreditOf(fn func()) fnCredit {
	code := uint64(codeOf(fn)) << 8
	return fnCredit{&fnCredits[code*0x9e3779b97f4a7c15>>56], code}
}

func (c fnCredit) credit() uint8 {
	if word := c.entry.Load(); word&^0xff == c.code {
		return uint8(word)
	}
	return 0
}

// afterNs returns how long a coroutine of the function has to be blocked to be
// left behind by a standby.
func (c fnCredit) afterNs() int64 {
	if c.credit() > maxFnCredit/2 {
		return sureAfterNs
	}
	return standbyAfterNs
}

func (c fnCredit) set(credit uint8) { c.entry.Store(c.code | uint64(credit)) }

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
	renewCredit()
}

// renewCredit makes executors check credit for creditNs.
func renewCredit() { creditUntil.Store(stampOf(clock.Now() + creditNs)) }

// checksCredit reports whether credit is checked in this turn. Owner only.
func (ex *Executor) checksCredit() bool {
	return ex.stamp < creditUntil.Load() && ex.standby.Load() != nil
}

// needsStandby reports whether co, which is about to start, is to have a
// standby. Owner only.
func (ex *Executor) needsStandby(co *Coroutine) bool {
	return ex.freeStandbys > 0 || fnCreditOf(co.fn).credit() > 0
}

// takeCredit gives w, on which a coroutine is about to start, its credit. Owner
// only.
func (w *worker) takeCredit() {
	if w.takeFnCredit(); !w.paid && w.ex.freeStandbys > 0 {
		w.ex.freeStandbys--
		w.credit = 1
	}
}

// takeFnCredit gives w's coroutine credit of its function, if that has any. Of
// many that start at once most get none, but all may block in a later run.
// Owner only.
func (w *worker) takeFnCredit() {
	h := fnCreditOf(w.co.Own().fn)
	if c := h.credit(); c > 0 {
		h.set(c - 1)
		w.credit, w.paid = maxCredit, true
	}
}

// startStandby starts a standby for the current coroutine, which the loop is
// about to resume, if it has credit. Owner only, on the loop.
func (ex *Executor) startStandby(w *worker) {
	if w.credit == 0 && !w.paid {
		w.takeFnCredit()
	}
	if w.credit == 0 {
		return
	}
	w.credit--
	s := ex.standby.Load()
	if s == nil {
		return
	}
	ex.Stats.Standbys.Inc()
	co := ex.current.Own()
	go s.run(blockedRun{w: w, ex: ex}, co, fnCreditOf(co.fn).afterNs(), func() {})
}

// ExpectBlock starts a standby for the calling coroutine, which is about to
// call code that may block. The standby lasts for 1 ms. On a goroutine, and
// where coroutines are not left behind, ExpectBlock does nothing.
func ExpectBlock() {
	w := CurrentWorker()
	if w == nil {
		return
	}
	if s := w.ex.standby.Load(); s != nil {
		w.ex.Stats.Standbys.Inc()
		long := *s
		long.forNs = max(s.forNs, expectedForNs)
		go long.run(blockedRun{w: w, ex: w.ex}, w.co.Own(), standbyAfterNs, func() {})
	}
}

// Rescue starts a standby for the running coroutine if it is blocked outside
// netco. Any thread. onLeft is called just before the loop runs on, if it does.
// Precondition: SetStandby was called.
func (ex *Executor) Rescue(onLeft func()) {
	if l, co := ex.blockedRun(); co != nil {
		go ex.standby.Load().run(l, co, standbyAfterNs, onLeft)
	}
}

// run leaves co behind if it soon blocks for afterNs within one run. If co
// gives up the thread between two waits, they are in different runs.
func (s *Standby) run(l blockedRun, co *Coroutine, afterNs int64, onLeft func()) {
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
			} else if now-since >= afterNs {
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
	renewCredit()
	w.ex.freeStandbys = max(w.ex.freeStandbys, freeAfterHandoff)
	w.giveCredit(1)
}

// giveCredit adds to the credit of the coroutine and its function. Owner only.
func (w *worker) giveCredit(more uint8) {
	w.credit, w.paid = min(w.credit+more, maxCredit), true
	h := fnCreditOf(w.co.Own().fn)
	h.set(min(h.credit()+more, maxFnCredit))
}

// adjustCredit adjusts the credit of a coroutine that has rejoined; longAway
// says whether it was away for longAwayNs. Owner only.
func (w *worker) adjustCredit(longAway bool) {
	if longAway {
		w.giveCredit(maxFnCredit)
		return
	}
	w.credit /= 2
	h := fnCreditOf(w.co.Own().fn)
	h.set(h.credit() / 2)
}
