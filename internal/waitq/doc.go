// Package waitq is the waiting half of netco's locks, conditions, semaphores
// and channels: first-in-first-out queues of waiters under a guard, and the one
// loop that parks a waiter until a waker has claimed it or its time is up.
//
// It is for the engine. Users have packages sync and channel.
//
// # Model
//
// A primitive has a [Guard], and under it a [Queue] and state of its own.
//
//   - A caller that must block checks that it must and queues its waiter, in
//     one step under the guard. Then it calls [Wait].
//   - A waker claims waiters under the guard, which moves them to the guard's
//     [Claims]. Unlocking the guard wakes them.
//
// # Contract
//
// A waiter is claimed once, and has what it waited for from then on. A park
// that ends for another reason, be it early, by time, by a context or by
// shutdown, lets no waiter in: the waiter takes itself out of its queue under
// the guard, or finds that it was claimed meanwhile. Exactly one of the two
// happens, so no wake is lost in between.
//
// Any thread may wait and wake. A Guard is held for tens of instructions, never
// across a park or a wake. Waiting allocates nothing in a coroutine, but for a
// bound by a context.
//
// # Tests
//
// All accesses to what threads share go through trace.go, so that package
// explore can run a primitive in every order of them.
package waitq
