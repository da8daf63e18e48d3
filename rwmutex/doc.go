// Package rwmutex is a fair reader/writer lock for coroutines and ordinary goroutines alike, on any number of threads.
//
// # Use
//
//	var mu rwmutex.RWMutex // the zero value is unlocked
//
//	mu.RLock() // beside other readers
//	defer mu.RUnlock()
//
// It has the methods of [sync.RWMutex]. A coroutine that must wait parks, and its Processor runs others meanwhile; a
// contended sync.Mutex would block them all. An ordinary goroutine that must wait blocks.
//
// # Contract
//
//   - Fair: who must wait is served in the order of arrival. A waiting writer holds back new readers; when it is a
//     reader's turn, all readers in front of the next writer go together. So nobody starves, and nobody passes the
//     queue. Nested RLock calls of one coroutine can therefore deadlock, as with sync.RWMutex.
//   - Who unlocks hands the lock to those who are next: it is theirs before they are woken. A wake that comes for
//     another reason lets nobody in.
//   - Unlock happens before the Lock or RLock that follows, RUnlock before the Lock that follows. The race detector
//     knows; as with sync.RWMutex, it takes nothing as ordered by one RUnlock and another's RLock.
//   - Misuse panics with this package's name and the state found, and leaves the lock as it is. An RUnlock too many
//     cannot be told from the due one of a reader who holds the lock.
//   - A coroutine may park while it holds the lock, and another may unlock it.
//   - When the scheduler ends by force, waiting coroutines leave the queue and are ended, deferred calls included
//     ([coroutine.Unwind]); those behind them go on. One that has been handed the lock keeps it and returns.
//
// # Cost
//
// Uncontended, each call is one atomic operation, in RUnlock after a load: no allocation, no park. Coroutines do not
// allocate when they wait, either. Fairness has its price under contention: every handover is a wake, where sync.Mutex
// lets whoever runs take the lock once more. Keep critical sections short, or shard.
//
// Nobody spins before parking. The holder may be a coroutine parked on the very thread that would spin: with a spin as
// long as sync.Mutex's, BenchmarkHandover on one executor took 3–5 µs instead of 0.13–0.23, and ordinary goroutines gained
// nothing.
//
// # How it works
//
// state.go has the state word, its transitions, and why nobody is forgotten. rwmutex.go is the fast paths, slow.go the
// slow ones: they decide under the guard, a spin lock around queue.go's list of waiters. Their one rule is that who
// finds the lock not free joins the queue in the same guarded step, and who may leave it without a holder serves the
// queue. wait.go is the meeting of a waiter with its waker, each waiter's Tag saying how far they are; after Lock has
// returned, no waker holds on to the caller's waiter. A waiter can leave from the middle of the queue at any time, which
// is what shutdown does and what deadlines would need; it is then looked for from the front.
//
// TestEveryOrder runs the slow paths in every order of their shared accesses; trace.go is where it gets in.
package rwmutex
