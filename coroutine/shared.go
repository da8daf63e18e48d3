package coroutine

import "github.com/netco-go/netco/internal/goruntime"

// Shared waits: a coroutine waits at no executor, and runs on whichever
// executor of its Scheduler wakes it. So an event need not wait for the thread
// on which the coroutine ran before.
//
// A shared wait is a migration (migrate.go) whose destination is known only at
// its end. Each executor has a second one beside it, which no loop runs: the
// home of the coroutines that wait shared.
//
//	co.ex            means                     becomes
//	an executor      it lives there            its shared one, by the loop,
//	                                           when the coroutine has suspended
//	                                           itself in ParkShared
//	a shared one     it waits, in no list,     the executor of the thread that
//	                 and has no owner          takes it, by an exchange
//
// A waker on a thread of the same Scheduler takes the coroutine. Any other
// waker posts it to the executor where it waited last, whose Arrive takes it.
// Every wake takes the coroutine. A wake for an old ticket is then an early
// wake, so Handle.Stop, a late timer and a stack request need no state of their
// own. Callers of ParkShared check their condition again.
//
// Stop does not find coroutines that wait shared. The Host wakes them first:
// MayShare, called when wakers can find the coroutine, refuses a shared wait
// once the Scheduler ends.

// Share lets the coroutines of several executors of one Scheduler wait shared.
// It is called before the first of them is entered.
func Share(executors []*Executor) {
	sharing := new(byte)
	for _, ex := range executors {
		ex.shared = &Executor{host: ex.host, sharing: sharing}
		ex.sharing = sharing
	}
}

// takes reports whether from is the home of coroutines that wait shared and
// that ex may take. Any thread.
func (ex *Executor) takes(from *Executor) bool {
	return ex != nil && from.shared == nil && from.sharing != nil && from.sharing == ex.sharing
}

// CanShare reports whether the calling coroutine, co, may wait shared. Owner
// only.
func (co *Coroutine) CanShare() bool {
	w := co.w.Own()
	if goruntime.RaceEnabled {
		defer w.enter()()
	}
	return w.ex.shared != nil && w.fiber == nil && w.away.load() == attached && co.Movable()
}

// ParkShared is Park for a coroutine for which CanShare is true. It may return
// early, and on another executor.
func (co *Coroutine) ParkShared(reason Reason) Wake {
	w := co.w.Own()
	if w.away.load() != attached {
		w.rejoin()
	}
	if co.parksHere(w) {
		return co.Park(reason)
	}
	if goruntime.RaceEnabled { // as Park
		defer co.raceWoken()
		defer w.enter()()
	}
	ex := co.ex.Own()
	co.checkLocks(ex, "waits")
	co.setState(Waiting, reason, ex.stamp)
	ex.moving, ex.movingTo = co, ex.shared
	w.suspend()
	return co.wake
}

// parksHere reports whether a shared wait of co, which runs on w, would return
// at once, or must not leave its executor. Owner only.
func (co *Coroutine) parksHere(w *worker) bool {
	if goruntime.RaceEnabled {
		defer w.enter()()
	}
	return co.woken || w.cancelling(co) || w.pinning.Own()&1 == 0
}

// leaveShared is the loop's part of ParkShared, after depart's.
func (ex *Executor) leaveShared(co *Coroutine) {
	ex.host.BeginShared()
	co.ex.Publish(ex.shared) // others may take it; before MayShare checks
	if !ex.host.MayShare() && ex.take(co, ex.shared) {
		ex.MakeReady(co, co.ticket, WakeReady)
	}
}

// take moves the home of a coroutine that waits shared, at from, to this
// executor. It returns false if another thread has taken the coroutine. Owner
// only.
func (ex *Executor) take(co *Coroutine, from *Executor) bool {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	if !co.ex.CompareAndSwap(from, ex) {
		return false
	}
	w := co.w.Own()
	w.moved = w.moved || from != ex.shared
	w.setExecutor(ex)
	w.raceMoved(ex)
	ex.Stats.Workers.Inc()
	ex.Stats.Live.Inc()
	ex.host.EndShared(from.host)
	return true
}
