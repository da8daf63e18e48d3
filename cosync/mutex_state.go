package cosync

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// A Mutex has two words. Its state says who may have it:
//
//	state   means                                            becomes
//	free    nobody holds it                                  locked, by whoever comes first
//	locked  it is held                                       free, by Unlock; owed, by a waiter that has waited for too long
//	owed    it is held, and Unlock hands it to the front     by Unlock, on behalf of the front: owed or, if nobody waits behind it,
//	        of the queue, which is not empty                 locked; locked also by one it was handed to who has not waited
//	                                                         for long, or when the last who waits gives up
//
// Its line says who sees to it that those who wait are woken. They are in the queue, but for one who may be on the way: taken out
// and woken, to try for m.
//
//	line     means                                           becomes, always under guard
//	empty    nobody waits, nobody is on the way              calling, by whoever queues
//	calling  some wait, nobody is on the way:                coming or near, by an Unlock that finds m free, which takes the front
//	         whoever unlocks looks after them                out; empty, when the last one gives up or is handed m
//	coming   one is on the way                               empty or calling, by that one: it has locked m, or has queued
//	                                                         again in front of all others
//	near     as coming, but it runs on the thread of who     as coming; besides, by the Unlock that has found it so too often: it
//	         has called it, so not before that one parks     hands m to the one on the way
//
// So while one is on the way from another thread Lock and Unlock cost those who run what they cost without contention.
//
// Why nobody waits for a free mutex: who queues makes the line calling and then looks at the state once more; Unlock makes the state
// free and then looks at the line. One of the two sees the other. While one is on the way, that one is due to look.
//
// Who is woken while the line is coming or near has to try; who is woken otherwise has been handed m. At most one of either kind is
// under way: m is handed over only out of owed, which it becomes by the one who was on the way; and nobody is called while m
// is held.
const (
	free uint32 = iota
	locked
	owed
)

const (
	empty   uint32 = 0
	calling uint32 = 1
	coming  uint32 = 2
	near    uint32 = 3

	lookedAfter uint32 = 1 // the bit of those lines at which Unlock has to do something: calling and near
)

// misuse is what an Unlock too many panics with.
const misuse = "cosync: Unlock of unlocked Mutex"

// maxPasses is how often m is unlocked while one of the same thread is on the way. A variable for tests, as what follows.
var maxPasses uint32 = 128

// starved reports whether one who waits since then (CLOCK_MONOTONIC, ns) has waited for too long.
var starved = func(since int64) bool { return clock.Now()-since > 1_000_000 }

// sameThread reports whether w waits on the caller's thread.
var sameThread = func(w *coroutine.Waiter) bool {
	co := w.Coroutine()
	return co != nil && co.Executor() == coroutine.DrivenBy() // under the guard: not Here
}
