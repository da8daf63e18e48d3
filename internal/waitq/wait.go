package waitq

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// Place is where a waiter waits.
type Place interface {
	// Leave takes w, which has waited long enough, out of its queue, and lets go in b whoever may go because of that. Under the
	// guard, which the caller holds.
	Leave(w *coroutine.Waiter, b *Batch)
}

// Acquire returns the caller's waiter, to be pushed and given to Wait. Release gives it back.
func Acquire() *coroutine.Waiter {
	if trace != nil {
		return trace.Acquire()
	}
	return coroutine.AcquireWaiter()
}

// Release gives back what Acquire returned. Precondition: it is in no queue.
func Release(w *coroutine.Waiter) {
	if trace != nil {
		trace.Release(w)
		return
	}
	w.Release()
}

// Wait parks until w is granted what it waits for (WakeReady) or b is over (the other wakes); then w is out of its queue.
// It does not release w.
//
// Precondition: w is the caller's and was pushed, under g, to a queue of at.
func Wait(w *coroutine.Waiter, reason coroutine.Reason, b coroutine.Bound, g *Guard, at Place) coroutine.Wake {
	for {
		why := park(w, reason, b)
		if !Queued(w) {
			if why != coroutine.WakeReady {
				drain(w)
			}
			break
		}
		if why == coroutine.WakeReady { // early
			if rearm(w, g) {
				continue
			}
			break
		}
		if giveUp(w, g, at) {
			return why
		}
		drain(w)
		break
	}
	awaitLoose(w)
	return coroutine.WakeReady
}

// rearm readies w for another park after one that ended early, or reports false if w has been granted meanwhile. Under guard,
// because whoever wakes w reads what this writes: one that has taken w out already means the old park.
func rearm(w *coroutine.Waiter, g *Guard) bool {
	g.Lock()
	waiting := Queued(w)
	if waiting {
		prepare(w)
	}
	g.Unlock()
	return waiting
}

// giveUp takes w out of its queue. It reports false if w has been granted meanwhile.
func giveUp(w *coroutine.Waiter, g *Guard, at Place) bool {
	b := batches.Get().(*Batch)
	g.Lock()
	out := Queued(w)
	if out {
		at.Leave(w, b)
	}
	g.Unlock()
	b.Wake()
	batches.Put(b)
	return out
}

// batches are empty ones for giveUp: through an interface call they go to the heap.
var batches = sync.Pool{New: func() any { return new(Batch) }}

// awaitLoose waits until the waker has done with w, which is a matter of instructions: w's next park, or next life, must
// not meet this waker. By the time a wake has brought w here it has nearly always happened.
func awaitLoose(w *coroutine.Waiter) {
	for i := 0; ; i++ {
		Step(OpLooseLook)
		if atomic.LoadUintptr(&w.Tag) == loose {
			return
		}
		Relax(i)
	}
}
