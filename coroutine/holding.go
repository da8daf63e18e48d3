package coroutine

import "strconv"

// While a coroutine holds one of netco's locks, or has claimed a waiter that it
// has not woken, other coroutines of its Processor may spin for the lock or the
// wake. So it must not give up its thread, nor call a function that may do so:
// a user's function, or a function that may rejoin. Where invariants are
// checked, package inside counts the locks that each goroutine of an executor
// holds, and these operations panic:
//
//	a switch               Park, suspend, a fiber's enter and exit, the loop's
//	                       resume, the return of a coroutine's function
//	a move                 MoveOn and MoveTo, whether or not it would move
//	a check that may wait  CurrentWorker and what calls it
//	a context              Limit.Expired, Err and AcquireFor
//	a handoff              of a coroutine that is found blocked

// holdsNothing panics if the caller's goroutine holds a lock, or if the caller
// is a fiber and a resumer's goroutine does. doing names the operation that
// follows. It is called where invariants are checked.
//
//go:norace
func holdsNothing(doing string) {
	for w := found(); w != nil; w = w.fiber.by {
		if w.pinning.Holds() {
			panic(holding(w, doing))
		}
		if w.fiber == nil {
			return
		}
	}
}

// holding returns the text of holdsNothing's panic.
func holding(w *worker, doing string) string {
	who := "a loop"
	if co := w.co.Load(); co != nil {
		who = "coroutine " + strconv.FormatUint(co.ID(), 10)
	}
	return "netco/coroutine: " + who + " " + doing +
		" under a lock of netco's, or before it has woken a waiter that it has claimed"
}
