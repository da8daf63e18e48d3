package coroutine

import (
	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/invariant"
)

// Migration: a coroutine continues on another executor. It moves itself, at a
// point where it is in no queue and has no timer, and where nothing on its
// stack depends on the executor it is leaving:
//
//	its goroutine    MoveTo suspends it
//	the old loop     depart takes it off the old executor's counts, makes the
//	                 new one its home, and sends it there
//	a waker          posts it to either loop meanwhile; the old loop forwards
//	                 it (Arrive), and the wake is for a park that has ended
//	the new loop     Settle counts it there and queues it
//
// Other coroutines of the old executor must not refer to parts of the coroutine
// that only that executor may touch. So a coroutine that has made or resumed
// fibers there, or is pinned (Pin), stays.
//
// So another coroutine's executor may change right after it was read. The
// caller's own executor stays the same until the caller waits for an fd, calls
// a function that calls MoveOn, or is left behind: code that compares the two
// must call CurrentWorker before it reads the other coroutine's executor.
//
// MoveTo is called at the end of a wait for an fd, see package processor, and
// by MoveOn, at the end of other waits that hold nothing of the executor's:
//
//	Yield, Sleep                     but not YieldTurn, which runs amid I/O
//	waits of channel, sync           when they have released their Waiter
//	Join

// Pin keeps the coroutine where it runs, for good. Owner, or before it is
// adopted.
//
//go:norace
func (co *Coroutine) Pin() { co.pinned = true }

// Movable reports whether the coroutine could move now. Owner only.
func (co *Coroutine) Movable() bool {
	return context.Direct() && !co.pinned && co.ex.Own().locks == 0
}

// Moved reports whether this incarnation has moved. Owner only.
//
//go:norace
func (co *Coroutine) Moved() bool { return co.w.Own().moved }

// MoveTo moves the calling coroutine to another executor, and reports whether
// it has moved: not if it must stay, or is cancelled. It gives up the thread in
// between.
//
// Preconditions: co is the calling coroutine, no Waiter of it is queued, and
// Enter of the other executor has returned.
func (co *Coroutine) MoveTo(to *Executor) bool {
	w := CurrentWorker()
	ex := co.ex.Own()
	if goruntime.RaceEnabled {
		defer w.enter()()
	}
	if !co.Movable() || ex == to || to.locks != 0 ||
		co.woken || w.fiber != nil || w.cancelling(co) {
		return false
	}
	was := w.pinning.Own()
	if was&1 == 0 {
		return false // it is in the middle of an operation of the executor
	}
	w.pinning.Pin() // Reserve may block, and the rest touches the executor
	ok := to.host.Reserve(ex.host)
	if ok {
		co.checkLocks(ex, "waits")
		ex.moving, ex.movingTo = co, to
		w.suspend()
	}
	w.pinning.Restore(was)
	return ok
}

// Lend makes coroutines that call MoveOn move: for each, to returns the
// executor that it moves to, or nil if it is to stay. The owner's thread calls
// to. Lend(nil) ends the lending. Owner only.
func (ex *Executor) Lend(to func() *Executor) {
	if to == nil {
		ex.lend.Store(nil)
	} else {
		ex.lend.Store(&to)
	}
}

// MoveOn moves the calling coroutine, if its executor gives coroutines away and
// the coroutine can move. It is called at the end of an operation that waits.
//
// Preconditions: co is the calling coroutine, and no Waiter of it is queued.
func (co *Coroutine) MoveOn() {
	if invariant.Enabled {
		holdsNothing("may move")
	}
	if co.ex.Load().lend.Load() != nil {
		co.moveOn()
	}
}

func (co *Coroutine) moveOn() {
	w := CurrentWorker()
	if to := w.lent(co); to != nil {
		co.MoveTo(to)
	}
}

// lent returns the executor that co, the caller, is to move to, or nil.
func (w *worker) lent(co *Coroutine) *Executor {
	if goruntime.RaceEnabled {
		defer w.enter()()
	}
	lend := w.ex.lend.Load()
	if lend == nil || !co.Movable() {
		return nil
	}
	return (*lend)()
}

// depart is the loop's part of MoveTo.
func (ex *Executor) depart() {
	co, to := ex.moving, ex.movingTo
	ex.moving, ex.movingTo = nil, nil
	w := co.w.Own()
	ex.Stats.Workers.Dec()
	ex.Stats.Live.Dec()
	ex.current.Set(nil)
	w.setExecutor(to)
	if to == ex.shared {
		ex.leaveShared(co)
		return
	}
	co.ex.SetOrdered(to) // from here on wakes are posted there, and co belongs to the new owner
	to.host.Send(co)
}

// Settle is the new loop's part of MoveTo. Owner only.
func (ex *Executor) Settle(co *Coroutine) {
	co.w.Own().raceMoved(ex)
	ex.Stats.Workers.Inc()
	ex.Stats.Live.Inc()
	co.w.Own().moved = true
	co.setState(Ready, ReasonNone, ex.stamp)
	ex.runq.push(co)
}
