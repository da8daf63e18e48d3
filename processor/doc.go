// Package processor is one loop that runs coroutines: their run queue, what
// other threads send it, their timers and their I/O. The loop and its
// coroutines run one at a time, on one thread at a time; which thread may
// change, unless the loop is locked to one.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. A curious reader learns here the turn of an event
// loop, and how fds and coroutines change loops.
//
// # The loop
//
// A turn does, in this order: expired timers, coroutines woken or submitted by other threads, I/O that has become
// possible, then the ready coroutines, until none is left or the turn's budget (a count and a time) is used up. Whatever
// is ready then waits for the next turn, so that no stage starves another. When a turn finds nothing to run, the
// Processor steals coroutines that have not started from the busiest of its group, else looks for events for a short
// while if that has been paying lately (spin.go), else blocks in epoll. Asleep it costs nothing: no tick, no timeout.
//
// # Files
//
//	processor.go  what a Processor is
//	loop.go       the turn
//	thread.go     the goroutine that the loop runs on, and its thread if it has one of its own
//	handoff.go    the monitor, by which the loop goes on without a blocked coroutine
//	idle.go       what to do when there is nothing to run; spin.go decides whether to spin
//	balance.go    how many Processors there is work for; migrate.go: how it moves
//	submit.go     work from other threads, placement, stealing
//	park.go       parking with a deadline, Sleep
//	timers.go     Func: a function that is called in a coroutine when its time has come
//	poll_unsafe.go  PollDesc: an fd and who waits for it
//	watch.go      Watch: a wait for an fd that holds no coroutine
//	lookout.go    the epoll of what ordinary goroutines wait for; alone.go: where there can be none
//	withdraw.go   an fd leaves epoll before its last duplicate is closed
//	buffer.go     hot buffers
//	group.go      what the Processors of a scheduler share
//	stats.go      counters
//
// # Sleep and wake between threads
//
// A Processor that is about to block announces it (epoller.Asleep), then looks once more for wakes and submissions;
// whoever sends it one publishes that first and then rings (epoller.Ring), which writes the eventfd only if the
// announcement stands. Whichever of the two comes second sees the other, so nothing is left lying.
//
// # Contract
//
// "owner" in a field's comment is what runs for the Processor: its loop or its
// current coroutine. One that was left behind is not owner until it has come
// back.
package processor
