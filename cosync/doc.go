// Package cosync is package sync for coroutines: locks, conditions and the other ways to wait for one another, for coroutines and
// ordinary goroutines alike, on any number of threads.
//
// # What there is
//
//	[Mutex]      sync.Mutex, also with a bounded wait
//	[Cond]       sync.Cond, also with a bounded wait
//	[WaitGroup]  sync.WaitGroup, also with a bounded wait; Go starts a coroutine
//	[Once]       sync.Once; [OnceFunc], [OnceValue] and [OnceValues] as well
//	[Semaphore]  a number of permits, taken several at a time
//	[Group]      coroutines that work at one task: the first error, a limit, a context
//	[Future]     a value that is not there yet
//	[Wait]       waits for the end of a context
//
// The reader/writer lock is in package rwmutex.
//
// # Contract
//
//   - A coroutine that must wait parks, and its Processor runs others meanwhile; what package sync has would block them all.
//     An ordinary goroutine that must wait blocks. One value may be used by coroutines of any Processors and by goroutines.
//   - Those who wait are served in the order in which they came. How far a newcomer may pass them stands at each type.
//   - The zero value is ready for use where package sync's is. Nothing may be copied after first use.
//   - XxxTimeout and XxxContext bound the wait. They return nil if they got what they waited for, else os.ErrDeadlineExceeded,
//     the context's error, or coroutine.ErrShutdown when the scheduler ends by force. Exactly one of the two happens: nobody
//     is given what he returns an error for. With a time of 0 or less, or a context that has ended, they get what can be had
//     without a wait.
//   - Waits without an error unwind the coroutine when the scheduler ends by force ([coroutine.Unwind]): its deferred calls run.
//   - What package sync says of the memory model holds here: an Unlock happens before the Lock that follows, and so on. The race
//     detector knows.
//   - Misuse panics with this package's name, and leaves things as they are.
//
// # Cost
//
// Without contention each call is one atomic operation: no allocation, no park. A coroutine does not allocate when it waits,
// either, but for XxxContext, which tells the context whom to wake.
package cosync
