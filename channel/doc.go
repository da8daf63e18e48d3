// Package channel is Go's channels and select for coroutines and ordinary
// goroutines alike, on any number of threads.
//
// # Use
//
//	jobs := channel.Make[Job](0)
//
//	jobs.Send(job)         // ch <- job
//	job, ok := jobs.Recv() // job, ok := <-ch
//	for job := range jobs.All() { ... }
//	jobs.Close()
//
//	var job Job
//	i, err := channel.Select(
//		jobs.RecvCase(&job), // if i is 0; ErrClosed if jobs is closed
//		results.SendCase(r),
//		channel.Default())
//
// A coroutine that must wait parks, and its Processor runs others meanwhile; a
// wait in a Go channel would hold the other coroutines up until the Processor
// goes on without the waiting coroutine. An ordinary goroutine blocks. FromGo
// and ToGo connect these channels with Go's.
//
// # Contract
//
//   - Synchronization, closed and nil channels, and panics are as with Go's
//     channels. Waiters are served in the order of arrival. Select chooses
//     among the ready cases at random, with equal chances.
//   - XxxTimeout and XxxContext end with os.ErrDeadlineExceeded or the
//     context's error. After such an error the operation has not happened; with
//     nil it has. With no time left they still do an operation that need not
//     wait.
//   - At a forced shutdown they return netco's ErrShutdown. Send, Recv and
//     Select unwind the coroutine.
//   - On a closed channel a receive that returns an error returns ErrClosed,
//     and so does a bounded send. Other sends panic.
//   - A channel keeps no value that has been received. An unreferenced channel
//     is garbage, together with its values.
//
// # Cost
//
// These allocate: Make, a wait bounded by a context, a Select of more than
// eight cases, and a wait on a channel that has more waiters than ever before.
//
// Between coroutines of one Processor Send and Recv take no atomic instruction;
// other operations take a guard, some 10 ns. The first operation from elsewhere
// on a channel that is biased to a Processor takes some microseconds.
//
// # How it works
//
// A channel is a ring buffer and two queues of waiters under a guard (chan.go,
// waiter.go). send.go and recv.go have the operations in full, fast.go the
// operations among coroutines of one Processor, for which bias.go makes the
// guard unnecessary. Package internal/waitq has the wait loop. Select
// (select.go) locks all its channels in the order of their addresses, looks for
// a ready case, and queues a waiter in each; case_unsafe.go hides the types of
// the channels from it.
//
// Unsafe is sound because a Case's pointer is used during the Select only, by
// its caller, and a value goes from one stack to another by way of a waiter,
// never directly. docs/RATIONALE.md says why a channel may be biased.
//
// TestEveryOrder runs small programs in every order of their shared accesses;
// TestAsGo compares with Go's channels.
package channel
