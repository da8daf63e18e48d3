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
//   - A caller checks whether it must block and queues its waiter, in one step
//     under the guard. Then it calls [Wait].
//   - A waker claims waiters under the guard, which moves them to the guard's
//     [Claims]. Unlocking the guard wakes them.
//
// # Contract
//
// A waiter is claimed once, and from then on has what it waited for. If its
// park ends for another reason (an early wake, a timeout, a context, shutdown),
// the waiter takes itself out of its queue under the guard, or finds that it
// was claimed meanwhile. Exactly one of the two happens, so no wake is lost in
// between.
//
// Any thread may wait and wake. A Guard is held for tens of instructions, never
// across a park or a wake. Waiting does not allocate in a coroutine, except
// when a context bounds the wait.
//
// # Tests
//
// All accesses to shared memory go through trace.go, so that package explore
// can run a primitive with the accesses in every order.
package waitq
