// Package coroutine is the coroutine itself: its name, its states, the reason
// of its wait, and how it parks, is made ready and is reused. Threads, timers
// and I/O are the business of its host (package processor).
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder.
//
// # Model
//
// An [Executor] runs coroutines one at a time: a run queue, the current
// coroutine, and the loop, which is the goroutine that called [Executor.Run]. A
// started coroutine runs on a worker: a goroutine with its stack, taken from
// the executor's pool and returned to it at the coroutine's end. The loop
// resumes a coroutine; when it parks, yields or ends, the loop runs on and
// resumes the next.
//
// # States
//
//	state    means                      entered by                  written by
//	Ready    in a run queue or inbox    Spawn, Yield; MakeReady,    executor
//	                                    from Waiting
//	Running  has the thread             Run, which stores it as     executor
//	                                    Executor.current; its own
//	                                    word stays Ready
//	Outside  left behind, see below:    the loop that runs on       executor
//	         its goroutine is blocked   without it, which stores
//	         outside netco, or runs     this in worker.away; its
//	         beside the loop            own word stays Ready
//	Waiting  parked, with a reason      Park                        coroutine
//	Dead     ended; the struct may be   its function returned or    its worker
//	         reused                     was unwound
//
// # Handoff
//
// While the current coroutine is blocked outside netco, in a Go channel or a
// system call, another goroutine may let the loop run on in its place: the
// coroutine is left behind. It is Outside, and comes back to the run queue at
// its next operation of netco. handoff.go has the states, and why it is sound.
// A handoff needs the assembly backend and a loop that is not locked to its
// thread, see [CanLeave].
//
// # Park and ready
//
// Every park has a ticket, a number that the coroutine uses once. A waiter
// publishes itself and the ticket ([Waiter.Prepare]), then parks; its waker
// names the ticket. A wake for an old ticket, by a late timer or a second
// waker, has no effect; a wake that comes between publishing and parking makes
// the park return at once. From the owner a wake appends to the run queue; from
// another thread it goes through the host's inbox, which the host reads only
// between coroutines, so it does not interrupt publishing and parking.
//
// # End by force
//
// [Executor.Stop] ends all coroutines of an executor, [Handle.Stop] ends one:
// their waits end with WakeShutdown, at once. An operation that cannot return
// an error then calls [Unwind]. A wait that must not be ended is done in
// [Shield]. A coroutine may have children, which end with it: [Spawn].
//
// # Contract
//
// Fields say who owns them. The "owner" is the code that runs for the
// coroutine's executor: the loop or the current coroutine, one at a time.
//
// A coroutine must not park, yield, end or rejoin while it holds
// runtime.LockOSThread, nor in a callback from C: the runtime refuses to switch
// (it throws). A line on stderr names the coroutine first, unless it was about
// to rejoin.
package coroutine
