// Package processor is one event loop that runs coroutines: their run queue,
// wakes and starts from other threads, timers and I/O. The loop and its
// coroutines run one at a time, on one thread at a time; the thread may change,
// unless the loop is locked to it.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. It shows the turn of an event loop, and how fds
// and coroutines change loops.
//
// # The loop
//
// A turn runs, in this order: expired timers, coroutines woken or submitted by
// other threads, I/O events, then the ready coroutines, until none is left or
// the turn's budget (a count and a time) is used up. Coroutines that are still
// ready wait for the next turn, so no source of work starves the others. A turn
// that finds nothing to run steals coroutines that have not started from the
// busiest Processor of the group; else it polls for events for a short while,
// if polling has lately found some; else it blocks in epoll. A Processor that
// sleeps costs nothing: no tick, no timeout.
//
// # Files
//
//	processor.go  the type Processor
//	loop.go       the turn; turn.go: how other threads see it
//	thread.go     the goroutine that the loop runs on, and its thread if it has
//	              one of its own
//	handoff.go    the monitor, by which the loop goes on without a blocked
//	              coroutine; pause.go: how it sleeps while the group does
//	idle.go       a Processor with nothing to run; spin.go decides
//	              whether to spin
//	spawn.go      how a coroutine is started
//	submit.go     work from other threads, stealing; place.go: where new work
//	              goes
//	limit.go      how many coroutines may live
//	policy.go     how many Processors there is work for, and whether they share
//	              fds: decisions from measurements; balance.go measures, and
//	              carries the decisions out
//	migrate.go    how work moves; share.go: how Processors share fds
//	park.go       parking with a deadline, Sleep
//	timers.go     Func: a function that is called in a coroutine at a given time
//	poll.go       PollDesc: an fd and its waiters
//	watch.go      Watch: a wait for an fd that holds no coroutine
//	goroutinepoller.go
//	              the epoll of fds that ordinary goroutines wait for;
//	              pollwait.go: waits where there can be no such epoll
//	buffer.go     hot buffers; bufferwait.go: the queue for them at the limit
//	group.go      what the Processors of a Scheduler share
//	stats.go      counters; iostats.go: those of system calls; history.go: the
//	              past minutes
//
// # Sleep and wake between threads
//
// A Processor that is about to block announces it (epoller.Asleep), then checks
// once more for wakes and submissions. A sender publishes its wake or
// submission first and then rings (epoller.Ring), which writes the eventfd only
// if the announcement stands. Whichever of the two acts second sees the other's
// write, so no wake is lost.
//
// # Contract
//
// The "owner" in a field's comment is the code that runs for the Processor: its
// loop or its current coroutine. A coroutine that was left behind is not the
// owner until it has rejoined.
package processor
