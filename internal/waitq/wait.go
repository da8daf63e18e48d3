package waitq

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// Acquire returns the caller's waiter, to be queued and passed to Wait with the
// same limit. It calls the limit's context, which may be the user's own type
// and may wait. Precondition: the caller holds no guard.
func Acquire(limit coroutine.Limit) *coroutine.Waiter {
	if trace != nil {
		return trace.Acquire()
	}
	return coroutine.AcquireFor(limit)
}

// Release gives back w, the result of Acquire. The caller, if it is a
// coroutine, may move, see coroutine.MoveOn. Preconditions: w is in no queue,
// and the caller holds no guard.
func Release(w *coroutine.Waiter) {
	if trace != nil {
		trace.Release(w)
		trace.Move()
		return
	}
	co := w.Coroutine()
	w.Release()
	if co != nil {
		co.MoveOn()
	}
}

// Renew prepares w for one more wait of the same operation. The caller does not
// move in the middle of the operation.
func Renew(w *coroutine.Waiter) {
	if trace != nil {
		trace.Release(w)
		trace.Acquire()
		return
	}
	w.Renew()
}

// Leave takes w, whose wait ended before w was claimed, out of its queue, and
// claims the waiters that this unblocks. The guard is held.
type Leave func(w *coroutine.Waiter)

// Wait parks until w is claimed, and returns WakeReady, or until limit ends the
// wait, and returns how. Afterwards w is in no queue and no waker accesses it;
// the caller releases w or queues it again.
//
// g is the guard; a channel has one of its own kind. leave takes w out.
//
// Precondition: w is the caller's, and was queued under g.
func Wait(w *coroutine.Waiter, reason coroutine.Reason, limit coroutine.Limit, g sync.Locker,
	leave Leave) coroutine.Wake {
	why := park(w, reason, limit)
	if why == coroutine.WakeReady && !Queued(w) { // the usual case
		awaitReleased(w)
		return why
	}
	return WaitFrom(why, w, reason, limit, g, leave)
}

// Await is Acquire, Wait and Release for a caller that enqueue queues under g.
// If enqueue reports false instead, there is nothing to wait for.
func Await(reason coroutine.Reason, limit coroutine.Limit, g sync.Locker,
	enqueue func(w *coroutine.Waiter) bool, leave Leave) coroutine.Wake {
	w := Acquire(limit)
	why := coroutine.WakeReady
	if enqueue(w) {
		why = Wait(w, reason, limit, g, leave)
	}
	Release(w)
	return why
}

// WaitFrom is Wait for a caller that has parked once already; why is how that
// park ended.
func WaitFrom(why coroutine.Wake, w *coroutine.Waiter, reason coroutine.Reason,
	limit coroutine.Limit, g sync.Locker, leave Leave) coroutine.Wake {
	for Queued(w) && settle(w, why, g, leave) {
		if why != coroutine.WakeReady {
			return why
		}
		why = park(w, reason, limit)
	}
	if why != coroutine.WakeReady {
		drain(w)
	}
	awaitReleased(w)
	return coroutine.WakeReady
}

// settle handles a park that ended before w was claimed. After an early wake it
// prepares w for another park, else it takes w out of its queue. It reports
// false, and does neither, if w has been claimed meanwhile.
//
// After an early wake the preparation happens under the guard, because a waker
// reads the fields that Prepare writes: a waker that claims w later must wake
// the next park.
func settle(w *coroutine.Waiter, why coroutine.Wake, g sync.Locker, leave Leave) bool {
	g.Lock()
	queued := Queued(w)
	Step(OpSettle)
	switch {
	case !queued:
	case why == coroutine.WakeReady:
		prepare(w)
	default:
		leave(w)
	}
	g.Unlock()
	return queued
}

// awaitReleased waits until the waker accesses w no more, a few instructions
// after the claim; w can then be queued anew. If the waker ended the park, the
// release has happened already.
//
// The waker is on another thread, or is a coroutine that was left behind and
// does not rejoin before the release: it wakes w as it unlocks the guard, and
// may not rejoin until then, see package inside.
func awaitReleased(w *coroutine.Waiter) {
	for i := 0; ; i++ {
		Step(OpReleased)
		if atomic.LoadUintptr(&w.Tag) == Released {
			return
		}
		Relax(i)
	}
}

// Block parks the caller until limit ends the wait, and returns how. Nothing
// wakes it: without a bound it waits for shutdown.
func Block(reason coroutine.Reason, limit coroutine.Limit) coroutine.Wake {
	if why := limit.Expired(); why != coroutine.WakeReady {
		return why
	}
	w := Acquire(limit)
	defer Release(w)
	for {
		if why := park(w, reason, limit); why != coroutine.WakeReady {
			return why
		}
	}
}
