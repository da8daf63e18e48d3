package waitq

import "github.com/netco-go/netco/coroutine"

// What a primitive with a meeting of its own needs instead of Wait: the steps of a wait, as Tracer has them.

// Prepare readies w for another Park of the same caller.
func Prepare(w *coroutine.Waiter) { prepare(w) }

// Park parks until w is woken or b is over.
func Park(w *coroutine.Waiter, reason coroutine.Reason, b coroutine.Bound) coroutine.Wake {
	return park(w, reason, b)
}

// Drain takes back the wake of a park that ended otherwise.
func Drain(w *coroutine.Waiter) { drain(w) }

// Wake wakes w, which the caller has taken out of where it was queued.
func Wake(w *coroutine.Waiter) { wake(w) }
