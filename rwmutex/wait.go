package rwmutex

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// wait parks until w is granted the lock. When the scheduler ends by force before that, it does not return but ends
// the coroutine.
//
// Precondition: w is in m's queue and the caller's.
func (m *RWMutex) wait(w *coroutine.Waiter) {
	for !m.ended(w, park(w)) {
	}
	awaitLoose(w)
}

// ended reports whether w, whose park has ended with why, has been granted the lock; if not, w is ready to park again.
func (m *RWMutex) ended(w *coroutine.Waiter, why coroutine.Wake) bool {
	if !isQueued(w) {
		return true
	}
	if why != coroutine.WakeShutdown {
		return !m.rearm(w)
	}
	if m.giveUp(w) {
		release(w)
		unwind()
	}
	return true
}

// rearm readies w for another park after one that ended early, or reports false if w has been granted the lock meanwhile.
// Under guard, because whoever wakes w reads what this writes: one that has taken w out already means the old park.
func (m *RWMutex) rearm(w *coroutine.Waiter) bool {
	m.guard.lock()
	waiting := isQueued(w)
	if waiting {
		prepare(w)
	}
	m.guard.unlock()
	return waiting
}

// isQueued reports whether w has not been granted the lock. Without the guard a true may be over at once; a false stays.
func isQueued(w *coroutine.Waiter) bool {
	step(opTag)
	return atomic.LoadUintptr(&w.Tag) < tagGranted
}

// wakeAll wakes those who have been granted the lock, in the order in which they came.
func wakeAll(batch *coroutine.Waiter) {
	for w := batch; w != nil; {
		next := w.Link
		wake(w)
		step(opLoose)
		atomic.StoreUintptr(&w.Tag, tagLoose)
		w = next
	}
}

// awaitLoose waits until the waker has done with w, which is a matter of instructions: w's next park, or next life, must
// not meet this waker. By the time a wake has brought w here it has nearly always happened.
func awaitLoose(w *coroutine.Waiter) {
	for i := 0; ; i++ {
		step(opLooseLook)
		if atomic.LoadUintptr(&w.Tag) == tagLoose {
			return
		}
		relax(i)
	}
}
