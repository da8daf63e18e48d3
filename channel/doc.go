// Package channel is Go's channels and select, for coroutines and ordinary goroutines alike, on any number of threads.
//
// # Use
//
//	jobs := channel.Make[Job](0)
//
//	jobs.Send(job)            // ch <- job
//	job, ok := jobs.Recv()    // job, ok := <-ch
//	for job := range jobs.All() { ... }
//	jobs.Close()
//
//	var job Job
//	switch i, err := channel.Select(channel.RecvCase(jobs, &job), channel.SendCase(results, r), channel.Default()); i {
//	case 0: ... // err is ErrClosed if jobs is closed
//	}
//
// A coroutine that must wait parks, and its Processor runs others meanwhile; a Go channel would hold up all of them. An ordinary
// goroutine blocks. FromGo and ToGo connect these channels with Go's.
//
// # Contract
//
//   - All is as with Go's channels: what an unbuffered channel synchronises, what a closed and what a nil one does, what panics. Waiters are
//     served in the order in which they came. Select chooses at random among the cases that are ready, each with the same chance.
//   - XxxTimeout and XxxContext end with os.ErrDeadlineExceeded or the context's error. That and the operation exclude each other:
//     a send that returns an error has not delivered, one that returns nil has. With no time left they still do what needs no wait.
//   - When the scheduler ends by force, these return netco's ErrShutdown; Send, Recv and Select unwind the coroutine.
//   - A receive from a closed channel is ErrClosed where there is an error to return, as is a bounded send; other sends panic.
//   - A channel keeps no value that has been received. One that nobody refers to is garbage, with what is in it.
//
// # Cost
//
// Nothing allocates but Make, a context's wait, a Select of more than eight cases, and a wait in a channel in which more wait than ever
// before.
//
// Between coroutines of one Processor an operation takes no atomic instruction
// (see bias.go); from elsewhere it takes a guard, some 10 ns. The first
// operation from elsewhere, once the channel is a Processor's own, takes some
// microseconds.
//
// # How it works
//
// chan.go has the channel: a ring, and two queues of waiters under a guard. slot.go has what is queued, and how a waiter that is in several
// queues is claimed by one waker. send.go and recv.go are the operations in full, wait.go is their waits, select.go is Select: it takes
// the guards of all its channels in the order of their addresses, looks, and queues in all of them. case_unsafe.go hides a channel's
// type from it.
//
// bias.go lets a Processor's own channels do without the guard, and fast.go is
// Send and Recv among the coroutines of one Processor; with everything that is
// not simple they go to the operations in full. Why unsafe is sound: a Case's
// pointer is used during the Select only, by who calls it (hidden, in
// case_unsafe.go), and no value ever goes from one goroutine's stack to
// another's, but by way of a slot.
//
// TestEveryOrder runs small programs in every order of their shared accesses, TestAsGo compares with Go's channels.
package channel
