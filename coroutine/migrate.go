package coroutine

import "github.com/netco-go/netco/context"

// Migration: a coroutine goes on on another executor. It moves itself, at a
// point where it is in no queue and has no timer, and where nothing on its stack
// stands for the executor it is leaving:
//
//	its goroutine      MoveTo suspends it
//	the old loop       depart takes it off the old executor's lists, makes the
//	                   new one its home, and sends it there
//	a waker meanwhile  posts it to either; the old one sends it on (Arrive), and
//	                   what comes is for a park that is over
//	a question         meanwhile is sent on as well, see stackRequest
//	the new loop       Settle puts it on the new executor's lists and queues it
//
// What other coroutines of the old executor hold of it must not be theirs alone:
// one that is joined there, has made or resumed fibers there, or was given a
// Processor for good (Pin) stays.
//
// So an executor other than the caller's own that is read from a coroutine says
// nothing about the next moment. The caller's own does, until the caller waits
// for an fd, calls MoveOn or what calls it, or is left behind: whatever has
// compared the two must have called CurrentWorker before it read the other.
//
// MoveTo is called at the end of a wait for an fd, see package processor, and by
// MoveOn, which stands where other waits end that hold nothing of the executor's:
//
//	Yield, not YieldTurn; Sleep        processor.YieldTurn, amid I/O
//	waits of channel, cosync, rwmutex  when they have released their Waiter
//	Join

// Traveller is a Host that can take over a coroutine from another.
type Traveller interface {
	// Reserve keeps the Host from ending until Send is called; false means that
	// it has ended. Any thread. It may block for an instant.
	Reserve() bool
	// Send has Settle called for co on the owner's thread. Any thread.
	Send(co *Coroutine)
}

// Pin keeps the coroutine where it runs, for good. Owner, or before it is adopted.
func (co *Coroutine) Pin() { co.pinned = true }

// Movable reports whether the coroutine could move now. Owner only.
func (co *Coroutine) Movable() bool {
	j := co.joins.Load()
	return context.Direct() && !co.pinned && (j == nil || j.here == nil) && co.ex.Own().locks == 0
}

// Moved reports whether the coroutine has moved in this life. Owner only.
func (co *Coroutine) Moved() bool { return co.w.Own().moved }

// MoveTo moves the calling coroutine to another executor, whose Host is a
// Traveller, and reports whether it has: not if it must stay, or is to end by
// force. It gives up the thread in between.
//
// Preconditions: co is the calling coroutine, no Waiter of it is queued, and
// Enter of the other executor has returned.
func (co *Coroutine) MoveTo(to *Executor) bool {
	w := CurrentWorker()
	ex := co.ex.Own()
	if !co.Movable() || ex == to || to.locks != 0 || co.woken || w.fiber != nil || w.cancelling(co) {
		return false
	}
	open := w.open.Own()
	if open&1 == 0 {
		return false // it is pinned, in the middle of what is the executor's
	}
	w.open.Close() // Reserve may block, and what follows it is the executor's
	t, ok := to.host.(Traveller)
	if ok = ok && t.Reserve(); ok {
		co.checkLocks(ex, "waits")
		ex.moving, ex.movingTo = co, to
		w.suspend()
	}
	w.open.Restore(open)
	return ok
}

// Lend has the coroutines that come to MoveOn move: to says each time where to,
// or nil for to stay. It is called on the owner's thread. A nil one ends it.
// Owner only.
func (ex *Executor) Lend(to func() *Executor) {
	if to == nil {
		ex.lend.Store(nil)
	} else {
		ex.lend.Store(&to)
	}
}

// MoveOn moves the calling coroutine, if its executor gives coroutines away and
// it is one that can move. To be called at the end of what has waited.
//
// Preconditions: co is the calling coroutine, and no Waiter of it is queued.
func (co *Coroutine) MoveOn() {
	if co.ex.Load().lend.Load() != nil {
		co.moveOn()
	}
}

func (co *Coroutine) moveOn() {
	ex := CurrentWorker().ex
	lend := ex.lend.Load()
	if lend == nil || !co.Movable() {
		return
	}
	if to := (*lend)(); to != nil {
		co.MoveTo(to)
	}
}

// depart is the loop's part of MoveTo.
func (ex *Executor) depart() {
	co, to := ex.moving, ex.movingTo
	ex.moving, ex.movingTo = nil, nil
	w := co.w.Own()
	ex.unlist(w)
	ex.Stats.Live.Set(ex.Stats.Live.Own() - 1)
	ex.current.Set(nil)
	w.ex = to
	co.ex.SetOrdered(to) // from now on wakes are posted there, and it is the new owner's
	to.host.(Traveller).Send(co)
}

// Settle is the new loop's part of MoveTo. Owner only.
func (ex *Executor) Settle(co *Coroutine) {
	ex.list(co.w.Own())
	ex.Stats.Live.Inc()
	co.w.Own().moved = true
	co.setState(Ready, ReasonNone, ex.stamp)
	ex.runq.push(co)
}
