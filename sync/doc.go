// Package sync is the standard library's package sync for coroutines: it has
// all of that package's names, so that a lock held across a wait is one changed
// import, bounded waits beside them, and semaphores and futures.
//
//	import "sync"                              // before
//	import "github.com/netco-go/netco/sync"    // after
//
//	[Mutex], [RWMutex], [Cond], [WaitGroup]  the standard's, also bounded
//	[Once], [OnceFunc], [OnceValue(s)]       the standard's
//	[Locker], [Map], [Pool]                  the standard's, as they are
//	[Semaphore]                              units, acquired several at a time
//	[Future]                                 a value that is set once
//	[Wait]                                   waits for the end of a context
//
// Map and Pool hold locks of their own only while they compute, and never while
// they call a function of the program's. A Mutex or RWMutex is a [Locker] to
// any library. A task in parts, with one error, is package errgroup's.
//
// # Contract
//
//   - A coroutine that must wait parks, and its Processor runs others
//     meanwhile; in those of the standard's package it would hold them up until
//     the Processor goes on without it. An ordinary goroutine blocks.
//     Coroutines of any Processor and goroutines may share a value.
//   - Waiters are served in the order of arrival. Each type says how far a
//     newcomer may pass them.
//   - The zero value is ready for use where the standard's is. Values must not
//     be copied after first use.
//   - XxxTimeout and XxxContext bound the wait. They return nil if the caller
//     has what it waited for, else os.ErrDeadlineExceeded, the context's error,
//     or netco.ErrShutdown at a forced shutdown, and then it has nothing. With
//     a time of 0 or less, or a context that is done, they succeed if that
//     takes no wait.
//   - The memory model is that of the standard's package: an Unlock
//     synchronizes before the Lock that follows, and so on. The race detector
//     knows.
//
// # What differs from the standard's
//
//   - Misuse, such as the Unlock of a Mutex that is not locked, panics, and
//     changes nothing. The standard's ends the program with a fatal error.
//   - At a forced shutdown, waits without an error end their coroutine: its
//     deferred calls run.
//   - A function that takes the standard's *sync.Mutex, *sync.WaitGroup or
//     *sync.Cond does not take those of this package, and does not compile.
//   - What waits on a lock of this package in a bubble of testing/synctest is
//     durably blocked, also on a Mutex; the standard's Mutex is not.
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
package sync
