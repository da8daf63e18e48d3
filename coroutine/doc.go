// Package coroutine is the coroutine itself: what it is called, what it waits for, and how it parks, is made ready
// and is reused. Which thread it runs on, timers and I/O are its host's (package processor).
//
// # By hand
//
// A program may drive coroutines itself, with a Scheduler or without: [New] makes a [Fiber], [Fiber.Resume] runs it to its next
// [Yielder.Yield], [Fiber.All] ranges over what it yields, [Yielder.Transfer] passes control on to another. [Local] and [Hooks] are for
// these and for a Scheduler's. All else here is for packages that netco is made of.
//
// # Model
//
// An [Executor] runs coroutines on one thread: a run queue, the running coroutine, and the loop, which is the goroutine
// that called [Executor.Run]. A started coroutine runs on a worker: a goroutine with its stack, taken from the
// executor's pool and returned to it at the coroutine's end. With the assembly backend a coroutine that parks, yields
// or ends hands the thread straight to the next ready one; the loop gets it back when none is ready or the turn's budget
// is used up. With the portable backend every switch passes the loop.
//
// # States
//
//	state     means                            entered by                              owner of the transition
//	Ready     in a run queue or an inbox       Spawn, Ready (from Waiting), Yield      the executor
//	Running   has the thread                   the executor's next, which stores       the executor
//	                                           it as Executor.current; the
//	                                           coroutine's own word stays Ready
//	Waiting   parked, with a reason            Park                                    the coroutine
//	Dead      ended; the struct may be reused  its function returned or unwound        its worker
//
// # Park and ready
//
// Every park has a ticket, a number that the coroutine uses once. A waiter publishes itself and the ticket
// ([Waiter.Prepare]), then parks; who wakes it says for which ticket. A wake for an old ticket, a late timer or a second
// waker, does nothing; a wake that comes between publishing and parking makes the park return at once. From the owning
// thread a wake appends to the run queue; from another it goes through the host's inbox, which the host reads only
// between coroutines, so it cannot come in the middle of publishing and parking.
//
// # End by force
//
// [Executor.Stop] ends all coroutines of a thread, [Handle.Stop] ends one: every wait of theirs ends with WakeShutdown, at once. What
// cannot return an error then calls [Unwind]. A wait that must be waited out is done in [Firmly]. A coroutine may have children, which
// end with it: [StartChild].
//
// # Contract
//
// Fields say who owns them. "owner" is the thread of the coroutine's executor.
// A coroutine must not call runtime.LockOSThread and park, yield or end while
// it holds the lock, nor park in a callback from C: the runtime refuses to
// switch (it throws). A line on stderr says first which coroutine it was, but
// for a yield that hands over directly.
package coroutine
