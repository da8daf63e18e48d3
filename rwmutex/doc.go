// Package rwmutex is a reader/writer lock on which coroutines and ordinary
// goroutines may wait alike, on any number of threads.
//
// Engine: users call it sync.RWMutex, of package netco/sync. It shows a lock
// with a queue whose fast path is one atomic operation.
//
// # Use
//
//	var mu sync.RWMutex // the zero value is unlocked
//
//	mu.RLock() // together with other readers
//	defer mu.RUnlock()
//
// It has the methods of [sync.RWMutex], and bounded ones: LockTimeout,
// LockContext, RLockTimeout, RLockContext. A coroutine that must wait parks,
// and its Processor runs others meanwhile; in a sync.RWMutex it would hold them
// up until the Processor goes on without it. An ordinary goroutine blocks.
//
// # Contract
//
//   - Waiters are served in the order of arrival, all readers before the next
//     writer together. But a running caller may lock a free lock past them, and
//     a running reader one that readers hold.
//   - There is no starvation. Once the waiter in front has waited for about 1
//     ms, no caller passes: the lock is handed from waiter to waiter, until it
//     gets to one that has waited for less. Then nested RLock calls of one
//     coroutine deadlock, as with sync.RWMutex.
//   - A bounded wait returns nil with the lock held, or an error without it:
//     [os.ErrDeadlineExceeded], the context's error, or
//     netco.ErrShutdown. If the bound is over to begin with, it succeeds
//     if that takes no wait.
//   - Unlock synchronizes before the Lock or RLock that follows, RUnlock before
//     the Lock that follows. The race detector knows; as with sync.RWMutex, an
//     RUnlock and another caller's RLock are not ordered.
//   - Misuse panics with this package's name and the state found, and leaves
//     the lock as it was. An RUnlock too many is not noticed while a reader
//     holds the lock or is about to. While one is being noticed, two readers
//     and a writer that come just then may hold the lock together.
//   - A coroutine may park while it holds the lock, and another may unlock it.
//   - At a forced shutdown, coroutines in unbounded waits leave the queue and
//     end ([coroutine.Unwind]), and the waiters behind them continue. One that
//     has got the lock keeps it and returns.
//
// # Cost
//
// Uncontended, each call is one atomic operation, with no allocation and no
// park. A coroutine that waits does not allocate either, except for a context.
//
// A caller that finds the lock taken tries again for some microseconds before
// it queues. That is in vain if the holder is a coroutine parked on the
// caller's own thread, so after 4 vain waits in a row the lock does it in one
// of 1024 waits only.
//
// # How it works
//
// The state word, with its transitions, is in rwmutex.go beside the fast paths;
// slow.go has the slow ones. Package internal/waitq has the queue and the wait
// loop. TestEveryOrder runs the slow paths in every order of their shared
// accesses.
package rwmutex
