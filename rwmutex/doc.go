// Package rwmutex is a reader/writer lock for coroutines and ordinary goroutines alike, on any number of threads.
//
// # Use
//
//	var mu rwmutex.RWMutex // the zero value is unlocked
//
//	mu.RLock() // beside other readers
//	defer mu.RUnlock()
//
// It has the methods of [sync.RWMutex], and bounded ones: LockTimeout, LockContext, RLockTimeout, RLockContext. A coroutine that must
// wait parks, and its Processor runs others meanwhile; a contended sync.Mutex would block them all. An ordinary goroutine that
// must wait blocks.
//
// # Contract
//
//   - Waiters are served in the order of arrival, all readers in front of the next writer together. But whoever runs may take a free
//     lock past them, and a reader also one that readers hold.
//   - Nobody starves. When the one who has waited longest has for more than about 1 ms, nobody passes any more: the lock is handed from
//     waiter to waiter, until one gets it that has waited for less. Then nested RLock calls of one coroutine deadlock, as with
//     sync.RWMutex.
//   - A bounded wait ends with nil and the lock, or with an error and without it: [os.ErrDeadlineExceeded], the context's error, or
//     [coroutine.ErrShutdown]. If the bound is over to begin with, the lock is had if that takes no wait.
//   - A wake that comes for another reason lets nobody in.
//   - Unlock happens before the Lock or RLock that follows, RUnlock before the Lock that follows. The race detector
//     knows; as with sync.RWMutex, it takes nothing as ordered by one RUnlock and another's RLock.
//   - Misuse panics with this package's name and the state found, and leaves the lock as it is. An RUnlock too many cannot be told from
//     the due one of a reader who holds the lock, or is about to; and while one is being found, two readers and a writer that come just
//     then may get in together.
//   - A coroutine may park while it holds the lock, and another may unlock it.
//   - When the scheduler ends by force, coroutines in unbounded waits leave the queue and are ended, deferred calls included
//     ([coroutine.Unwind]); those behind them go on. One that has been handed the lock keeps it and returns.
//
// # Cost
//
// Uncontended, each call is one atomic operation: no allocation, no park. Coroutines do not allocate when they wait, either, but for a
// context.
//
// Who finds the lock taken tries again for some microseconds before it queues. The holder may be a coroutine parked on the very
// thread that tries, so each lock learns whether that pays: after some vain attempts it is left off, and looked at again every 1024 waits.
// Behind a holder that parks, a wait so costs little more than the park.
//
// # How it works
//
// state.go has the state word, its transitions, and why nobody is forgotten. rwmutex.go is the fast paths; lock.go, rlock.go and unlock.go
// the slow ones: who finds the lock not free joins the queue in the same guarded step, and who leaves it with somebody waiting and
// nobody on the way serves the queue. A writer in front is woken to try for the lock, and is the only one until it has; if it fails it
// goes back to the front. Readers in front are counted in. So a wake across threads, which takes microseconds, never keeps
// others from a free lock, unless the lock is starving. spin.go has what depends on time. Package waitq is the queue and the meeting of
// waiters with their wakers.
//
// TestEveryOrder runs the slow paths in every order of their shared accesses, with time as a matter of choice; trace.go is where it gets
// in.
package rwmutex
