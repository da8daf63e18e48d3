// Package cosync is package sync for coroutines: locks, conditions, semaphores,
// groups and futures, on which coroutines and ordinary goroutines may wait
// alike, on any number of threads.
//
//	[Mutex]      sync.Mutex, also with a bounded wait
//	[Cond]       sync.Cond, also with a bounded wait
//	[WaitGroup]  sync.WaitGroup, also bounded; Go starts a coroutine
//	[Once]       sync.Once; also [OnceFunc], [OnceValue] and [OnceValues]
//	[Semaphore]  a number of units, acquired several at a time
//	[Group]      x/sync's errgroup.Group
//	[Future]     a value that is set once
//	[Wait]       waits for the end of a context
//
// The reader/writer lock is in package rwmutex.
//
// # Use
//
//	var mu cosync.Mutex
//	mu.Lock()
//	defer mu.Unlock()
//
// # Contract
//
//   - A coroutine that must wait parks, and its Processor runs others
//     meanwhile; in those of package sync it would hold them up until the
//     Processor goes on without it. An ordinary goroutine blocks. Coroutines of
//     any Processor and goroutines may share a value.
//   - Waiters are served in the order of arrival. Each type says how far a
//     newcomer may pass them.
//   - The zero value is ready for use where package sync's is. Values must not
//     be copied after first use.
//   - XxxTimeout and XxxContext bound the wait. They return nil if the caller
//     has what it waited for, else os.ErrDeadlineExceeded, the context's error,
//     or coroutine.ErrShutdown at a forced shutdown, and then it has nothing.
//     With a time of 0 or less, or a context that is done, they succeed if that
//     takes no wait.
//   - At a forced shutdown, waits without an error unwind the coroutine
//     ([coroutine.Unwind]): its deferred calls run.
//   - The memory model is that of package sync: an Unlock synchronizes before
//     the Lock that follows, and so on. The race detector knows.
//   - Misuse panics with the name of this package and changes nothing.
//
// # Cost
//
// Uncontended, each call is one atomic operation, with no allocation and no
// park. A coroutine that waits does not allocate either, except in XxxContext,
// which registers with the context.
//
// # How it works
//
// Package internal/waitq has the queues and the wait loop. Each type's file has
// its state table, and TestXxxEveryOrder runs its slow paths in every order of
// their shared accesses.
package cosync
