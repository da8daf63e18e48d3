package coroutine

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
)

// Handoff: the loop runs on while a coroutine is blocked outside netco, in a Go
// channel, a sync.Mutex, a system call or C.
//
// While a coroutine runs, the loop is parked in its context. When the
// coroutine's goroutine is blocked, a rescuer, any ordinary goroutine that is
// not locked to a thread, switches through that context: the loop runs on in
// the rescuer's place, and the rescuer is parked there. The coroutine is left
// behind: when it wakes it is an ordinary goroutine, until its next operation
// of netco, where it switches through the context in turn. So it is parked
// there like any other ready coroutine, and the rescuer, which runs on, posts
// it to the loop.
//
//	worker.away  means                        becomes
//	attached     the loop drives it           claimed, by a rescuer
//	claimed      the rescuer checks again     attached, if the goroutine was
//	                                          not blocked; leaving
//	leaving      the rescuer is about to      outside, by the loop, first thing
//	             switch                       after its switch
//	outside      left behind; the rescuer is  attached, by the loop, when the
//	             parked in its context        rescuer has posted the coroutine,
//	                                          which is then parked there
//	nested       of a fiber, constant: its    nothing
//	             resumer's word counts
//
// Soundness. The owner's fields of the executor are touched only by code that
// has checked away (CurrentWorker, Park), and the goroutine is not found
// blocked between that check and the last access that it guards. The goroutine
// stores pinning and loads away, with plain instructions; the rescuer stores
// away, has every thread execute a memory barrier (membarrier(2)), and then
// checks whether the goroutine is blocked while pinning is odd. If it is
// blocked, then whatever it does after it has woken comes after the barrier,
// and its next check finds the word claimed. Otherwise the rescuer has changed
// nothing. TestHandoffEveryOrder tests every order of these steps.
//
// The rule for code inside netco that runs on coroutines. Between a check and
// the last access to the owner's fields there is no wait in Go, and no system
// call that enters the Go scheduler: no user's function, no logging, no method
// of a context, no sync.Mutex, no sync.Pool (which has a Mutex inside), no
// unix.Close or the like. Code that makes such a call either checks again after
// it, with Rejoin or CurrentWorker, or is pinned during it, so that pinning is
// even (package inside):
//
//	a wait for netco's locks    executor's table, joiners, children; PollDesc,
//	                            submissions, group, running; epoller's slab and
//	                            life: inside.Mutex, inside.RWMutex
//	short sleeps and spins      waitq.Relax
//	long system calls           sysx.StartConnect, CloseStream, large packets:
//	                            a handoff would gain nothing
//	a coroutine's turn of I/O   processor.YieldTurn: its events must not be
//	                            overwritten by the loop's
//	a coroutine's end           from its last check in worker.end on
//	a switch                    suspend, a fiber's exit to its next resume: a
//	                            goroutine parked in a switch looks blocked
//
// Waking does not check: from a coroutine that was left behind it takes the
// path of other threads (driven). So code may wake under a lock. No other
// operation may check under a lock of package inside: rejoining needs the loop,
// which may be waiting for that lock. Invariants enforce this, see holding.go.
const (
	attached = iota
	claimed
	leaving
	outside
	nested
)

// away is the word of the table above.
type away struct{ atomic.Uint32 }

// attached makes w's coroutine rejoin its executor if it was left behind, and
// returns w. w may be nil, or a fiber's.
func (w *worker) attached() *worker {
	switch {
	case w == nil:
	case w.fiber == nil:
		w.rejoin()
	default:
		if co := w.co.Own(); co != nil {
			co.w.Own().rejoin()
		}
	}
	return w
}

// awayWord returns the away word of w's coroutine; for a fiber, its resumer's.
// Call it on w's goroutine.
func (w *worker) awayWord() uint32 {
	if w.fiber != nil {
		co := w.co.Own()
		if co == nil {
			return attached
		}
		w = co.w.Own()
	}
	return w.away.load()
}

// Rejoin makes the caller, if it is a coroutine that was left behind, rejoin
// its executor. An operation calls it after a call that may have blocked, such
// as a user's function, and before it touches the owner's fields. It may park.
func Rejoin() { CurrentWorker() }

// LeftMark marks a moment in a coroutine's life; the zero value marks no
// moment.
type LeftMark struct {
	w     *worker
	times uint32
}

// MarkLeft returns the present moment of the calling coroutine.
func MarkLeft() LeftMark {
	w := CurrentWorker()
	if w == nil {
		return LeftMark{}
	}
	return LeftMark{w, w.handoffs.Load()}
}

// Left rejoins, and reports whether the calling coroutine was left behind since
// m; false if it has moved to another Processor.
func (m LeftMark) Left() bool {
	now := MarkLeft()
	return now.w == m.w && now.times != m.times
}

// rejoin returns when the coroutine is driven by its executor's loop. w is the
// coroutine's own.
func (w *worker) rejoin() {
	for {
		switch w.away.load() {
		case attached:
			return
		case outside:
			w.co.Own().checkLocks(w.ex, "comes back to netco")
			w.suspend()
			return
		}
		runtime.Gosched()
	}
}

// blockedRun is a run of a coroutine that was found blocked. Two values are
// equal if the coroutine was not suspended in between. It may have woken and
// blocked again: a run with many short waits holds up its Processor as one long
// wait does. A coroutine that gives up the thread between its waits does not,
// since others run then.
type blockedRun struct {
	w   *worker
	ex  *Executor
	run uint64
}

// running returns the current coroutine and its worker, or nil. Any thread.
func (ex *Executor) running() (*Coroutine, *worker) {
	if co := ex.current.Load(); co != nil {
		return co, co.w.Load()
	}
	return nil, nil
}

// blockedRun returns the running coroutine if its goroutine is blocked outside
// netco and it may be left behind; nil otherwise. Any thread; the coroutine may
// have woken by then. Precondition: goruntime.FindStandings has succeeded.
func (ex *Executor) blockedRun() (blockedRun, *Coroutine) {
	co, w := ex.running()
	if w == nil {
		return blockedRun{}, nil
	}
	l := blockedRun{w, ex, w.pinning.Run()}
	if co.ex.Load() != ex || !w.blocked() || w.pinning.Run() != l.run {
		return blockedRun{}, nil
	}
	return l, co
}

// blocked reports whether the goroutine that runs for w was blocked outside
// netco at some moment during the call. The two counts, read again at the end,
// show that it was the same goroutine, and in no operation of netco.
func (w *worker) blocked() bool {
	was, unpinned := w.pinning.Load()
	if !unpinned || w.away.load() > claimed {
		return false
	}
	innermost := w.innermost()
	innerWas, unpinned := innermost.pinning.Load()
	if !unpinned {
		return false // a fiber that is starting has no goroutine yet
	}
	// A goroutine that is parked in a switch while pinning is odd has resumed a
	// coro that is not netco's, such as iter.Pull's.
	g := innermost.ctx.G()
	if goruntime.StandingOf(g) == goruntime.Unblocked || asm.Locked(g) {
		return false // a goroutine that is locked to its thread could not rejoin
	}
	is, _ := w.pinning.Load()
	innerIs, _ := innermost.pinning.Load()
	return is == was && innerIs == innerWas
}

// innermost returns the worker whose goroutine runs for w: w, or the worker of
// the innermost fiber that its coroutine has resumed. Any thread.
func (w *worker) innermost() *worker {
	for t := w.inner.Load(); t != nil; t = w.inner.Load() {
		w = &t.w
	}
	return w
}

// holds reports whether w's coroutine, or a fiber that it has resumed, holds a
// lock with which it must not block. It is always false where invariants are
// not checked. Any thread.
func (w *worker) holds() bool { return w.pinning.Holds() || w.innermost().pinning.Holds() }

// leftBehind reports whether co runs beside its executor's loop. From any
// thread.
func (co *Coroutine) leftBehind() bool {
	w := co.w.Load()
	return w != nil && w.away.load() == outside
}

// Run returns a number that changes with each resume of co, and each resume of
// a fiber by co; 0 for nil, or if co has no goroutine. Any thread.
func (co *Coroutine) Run() uint64 {
	if co == nil {
		return 0
	}
	w := co.w.Load()
	if w == nil {
		return 0
	}
	return w.pinning.Run()
}

// leave leaves the coroutine behind if it is still blocked: the executor's loop
// runs on in place of the calling goroutine, and leave returns true when the
// coroutine has rejoined. Otherwise it returns false at once. The caller is an
// ordinary goroutine that is not locked to its thread. barrier makes every
// thread of the process execute a memory barrier. before is called just before
// the loop runs on, and holds it up.
func (b blockedRun) leave(barrier func(), before func(*LeftBehind)) bool {
	w := b.w
	if !w.away.CompareAndSwap(attached, claimed) {
		return false
	}
	barrier()
	ex := b.ex
	// Whether the coroutine is still ex's is checked last: it may have moved,
	// and be blocked elsewhere.
	co := w.co.Load()
	if co == nil || ex.current.Load() != co || !w.blocked() ||
		w.pinning.Run() != b.run || co.ex.Load() != ex {
		w.away.Store(attached)
		return false
	}
	if w.holds() {
		// The coroutine may have gone on since, and have taken a lock.
		if w.blocked() && w.holds() {
			panic(holding(w, "blocks in Go"))
		}
		w.away.Store(attached)
		return false
	}
	w.away.Store(leaving)
	before(w.noteLeft(co))
	ex.setLeftBehind(w) // the loop is parked, and its coroutine blocked: the caller is the owner
	begin := clock.Now()
	w.ctx.Switch(&w.ctx)
	w.post(clock.Now()-begin >= longAwayNs)
	return true
}

// post sends w, whose coroutine has rejoined, to the executor's loop. longAway
// means that it was away for longAwayNs.
func (w *worker) post(longAway bool) {
	e := new(Coroutine)
	e.fn = func() {
		w.away.Store(attached)
		w.ex.Stats.Outside.Dec()
		w.adjustCredit(longAway)
		w.ex.runq.push(w.co.Own())
	}
	e.node.Value = e // Arrive recognises it by its waiter, which has no coroutine
	w.ex.host.Post(e)
}

// wentOn is the loop's part: it runs on, though the coroutine that it has
// resumed has not suspended itself.
func (ex *Executor) wentOn() {
	w := ex.leftBehind
	ex.leftBehind = nil
	ex.Stats.Handoffs.Inc()
	ex.Stats.Outside.Inc()
	w.handoffs.Add(1)
	w.creditLeft()
	w.away.Store(outside)
}

var errNoHandoff = errors.New(
	"the portable context backend cannot leave a blocked coroutine behind")

// Thread returns the id of the thread that runs the current coroutine; 0 if no
// coroutine runs, or if the thread is not known. Any thread; another coroutine
// may run by then.
func (ex *Executor) Thread() int {
	_, w := ex.running()
	if w == nil {
		return 0
	}
	if _, unpinned := w.pinning.Load(); !unpinned {
		return 0
	}
	w = w.innermost()
	if _, unpinned := w.pinning.Load(); !unpinned { // a fiber that is starting has no goroutine yet
		return 0
	}
	tid, err := goruntime.ThreadOf(w.ctx.G())
	if err != nil {
		return 0
	}
	return tid
}

// CanLeave returns nil if the loop of an executor can leave coroutines behind,
// or an error that says why not.
func CanLeave() error {
	if !context.Direct() {
		return errNoHandoff
	}
	if err := goruntime.FindRace(); err != nil {
		return err
	}
	return goruntime.FindStandings()
}
