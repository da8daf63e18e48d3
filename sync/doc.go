// Package sync is the standard library's package sync for coroutines. It has
// all of that package's names, so porting code that holds a lock across a wait
// takes one changed import. It adds bounded waits, semaphores and futures.
//
//	import "sync"                              // before
//	import "github.com/netco-go/netco/sync"    // after
//
//	[Mutex], [RWMutex], [Cond], [WaitGroup]  the standard's, also bounded
//	[Once], [OnceFunc], [OnceValue(s)]       the standard's
//	[Locker], [Map], [Pool]                  aliases of the standard's
//	[Semaphore]                              units, acquired several at a time
//	[Future]                                 a value that is set once
//	[Wait]                                   waits for the end of a context
//
// Map and Pool hold their own locks only while they compute, and never while
// they call a function of the program. A Mutex or RWMutex is a [Locker] to any
// library. Package errgroup runs a task in parts, with one error.
//
// # Contract
//
//   - A coroutine that must wait parks, and its Processor runs other coroutines
//     meanwhile; with the standard's types it would hold them up until the
//     Processor goes on without it. An ordinary goroutine blocks. Coroutines of
//     any Processor and goroutines may share a value.
//   - Waiters are served in the order of arrival. Each type says how far a
//     newcomer may pass waiters.
//   - The zero value is ready for use where the standard's is. Values must not
//     be copied after first use.
//   - XxxTimeout and XxxContext bound the wait. They return nil if the
//     operation succeeded, else os.ErrDeadlineExceeded, the context's error, or
//     netco.ErrShutdown at a forced shutdown; with an error nothing was
//     acquired. With a time of 0 or less, or a context that is done, they
//     succeed if the operation need not wait.
//   - The memory model is that of the standard's package: an Unlock
//     synchronizes before the Lock that follows, and so on. The race detector
//     understands these edges.
//
// # What differs from the standard's
//
//   - Misuse, such as the Unlock of a Mutex that is not locked, panics, and
//     changes nothing. With the standard's types it is a fatal error.
//   - At a forced shutdown, a wait that has no error result ends its coroutine:
//     its deferred calls run.
//   - A function that takes the standard's *sync.Mutex, *sync.WaitGroup or
//     *sync.Cond does not take those of this package, and does not compile.
//   - In a bubble of testing/synctest, a goroutine that waits on a lock of this
//     package is durably blocked, also on a Mutex; a goroutine that waits on
//     the standard's Mutex is not.
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
