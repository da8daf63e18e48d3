package sync

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/internal/waitq"
)

// WaitGroup waits for a number of coroutines or goroutines to end. The zero
// value is ready for use. It must not be copied after first use.
//
// As with the standard's, an Add from zero must happen before Wait, and, if
// the WaitGroup is used again, after all earlier Waits have returned.
type WaitGroup struct {
	_     noCopy
	state atomic.Int64 // atomic: the count in the upper half, and waitFlag
	guard waitq.Guard
	queue waitq.Queue // under guard
}

// waitFlag of a WaitGroup's state is set while the queue is not empty:
//
//	state       next
//	0           count, by Add
//	count       count or 0, by Add and Done; count+flag, by the first waiter,
//	            under the guard
//	count+flag  count+flag or 0+flag, by Add and Done; count, by the last
//	            waiter to give up, under the guard
//	0+flag      0, under the guard: by the Done that led here, which then
//	            wakes the whole queue, or by the last waiter to give up; Add
//	            panics
const waitFlag = 1

// Add adds delta, which may be negative, to the count. At 0 all waiters
// continue. It does not park. It panics, and changes nothing, if the count
// would be negative, or if the count was 0 and there still are waiters.
func (wg *WaitGroup) Add(delta int) {
	for {
		s := wg.state.Load()
		n := s>>32 + int64(delta)
		if uint64(n) > math.MaxInt32 || s == waitFlag && delta > 0 {
			panic(misuse(n))
		}
		if wg.state.CompareAndSwap(s, n<<32|s&waitFlag) {
			if n == 0 && s&waitFlag != 0 {
				wg.release()
			}
			return
		}
	}
}

// misuse returns the message for an Add that would have made the count n.
func misuse(n int64) string {
	switch {
	case n < 0:
		return "sync: negative WaitGroup counter"
	case n > math.MaxInt32:
		return "sync: WaitGroup counter too large"
	}
	return "sync: WaitGroup misuse: Add called concurrently with Wait"
}

// Done is Add(-1).
func (wg *WaitGroup) Done() { wg.Add(-1) }

// Go adds 1 to the count and calls f on a coroutine, as netco.Go does, if a
// coroutine calls it, and else on a goroutine. When f ends, in whatever way,
// the count falls again. It does not park.
//
// f runs in any case, as the standard's does: on a goroutine, if the coroutine
// is refused because of Options.MaxCoroutines or a shutdown.
//
//go:noinline
func (wg *WaitGroup) Go(f func()) {
	site := asm.CallerPC()
	wg.Add(1)
	beside.Go(f, wg.Done, site)
}

// Wait waits until the count is 0. A coroutine parks, a goroutine blocks. A
// forced shutdown ends the waiting coroutine ([coroutine.Unwind]). It does not
// allocate.
func (wg *WaitGroup) Wait() {
	if wg.state.Load()>>32 != 0 && wg.wait(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// WaitTimeout is Wait for at most d. It returns nil if the count was 0, else
// os.ErrDeadlineExceeded, or netco.ErrShutdown at a forced shutdown.
func (wg *WaitGroup) WaitTimeout(d time.Duration) error {
	if wg.state.Load()>>32 == 0 {
		return nil
	}
	return within(coroutine.Timeout(d), wg.wait)
}

// WaitContext is Wait until ctx is done. It returns nil if the count was 0,
// else ctx.Err(), or netco.ErrShutdown at a forced shutdown. It allocates
// when it waits.
func (wg *WaitGroup) WaitContext(ctx context.Context) error {
	if wg.state.Load()>>32 == 0 {
		return nil
	}
	return within(coroutine.Context(ctx), wg.wait)
}

// opCount is an access to a WaitGroup's state, for waitq.Step.
const opCount waitq.Op = "count"

// wait waits within limit until the count is 0. It returns WakeReady if it was.
func (wg *WaitGroup) wait(limit coroutine.Limit) coroutine.Wake {
	return waitq.Await(coroutine.ReasonGroup, limit, &wg.guard, wg.enqueue, wg.leaveLocked)
}

// enqueue queues w and reports true, unless the count is 0 by now.
func (wg *WaitGroup) enqueue(w *coroutine.Waiter) bool {
	wg.guard.Lock()
	defer wg.guard.Unlock()
	for {
		waitq.Step(opCount)
		s := wg.state.Load()
		if s>>32 == 0 {
			return false
		}
		if s&waitFlag != 0 || wg.state.CompareAndSwap(s, s|waitFlag) {
			wg.queue.Push(w, waitq.AnyKind)
			return true
		}
	}
}

// release wakes all waiters, unless the count has risen again: the last of the
// old waiters gave up, and new waiters may have queued since.
func (wg *WaitGroup) release() {
	wg.guard.Lock()
	waitq.Step(opCount)
	if wg.state.CompareAndSwap(waitFlag, 0) {
		wg.guard.TakeAll(&wg.queue)
	}
	wg.guard.Unlock()
}

// leaveLocked implements waitq.Leave.
func (wg *WaitGroup) leaveLocked(w *coroutine.Waiter) {
	wg.queue.Remove(w)
	if wg.queue.Empty() {
		waitq.Step(opCount)
		wg.state.And(^waitFlag)
	}
}
