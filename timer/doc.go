// Package timer keeps deadlines: Heap is a 4-ary min-heap of Timers, and FD a
// Linux timerfd that wakes an epoll loop at the earliest of them. It knows
// nothing of coroutines.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. It shows how a heap of deadlines and a timerfd
// drive an epoll loop.
//
// # Model
//
// A deadline is a time of CLOCK_MONOTONIC in nanoseconds (what runtime.nanotime
// and unix.ClockGettime(CLOCK_MONOTONIC) read), any int64. There are no ticks
// and no wheel, so no deadline is rounded or too far; math.MaxInt64 means
// never. Setting the wall clock changes nothing. The package never reads a
// clock: callers pass the time in.
//
// A loop uses the two together like this:
//
//	for {
//		now = monotonic()
//		heap.Expire(now, budget)
//		if when, ok := heap.Next(); ok {
//			fd.Arm(when, now) // mostly without a syscall
//		}
//		epollWait() // fd is registered with EPOLLIN|EPOLLET
//	}
//
// # Contract
//
//   - Owner thread only: one thread calls all methods of a Heap, its Timers and
//     an FD. There are no locks and no atomics inside.
//   - A Timer is embedded by value in its object, and must not move while it is
//     queued: the Heap points at it.
//   - Timers run in deadline order, and those with the same deadline in the
//     order they were set. A Timer that was moved while it was queued has no
//     guaranteed place among its equals.
//   - The Timer is off the Heap when its F runs, so F may Set or Cancel any
//     Timer, itself included.
//   - There is no tick: Next is the exact time of the next Timer. FD may cause
//     one spurious wake-up after a Cancel or a move, see Arm.
package timer
