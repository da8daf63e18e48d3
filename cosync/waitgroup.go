package cosync

import (
	"context"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// WaitGroup waits for a number of coroutines or goroutines to be done. The zero value is ready for use. It must not be copied after
// first use.
//
// As with [sync.WaitGroup], an Add that starts from zero must happen before Wait, and when a WaitGroup is used again, after all Waits
// of the time before have returned.
//
// The state is the count, in the upper half, and a flag:
//
//	state       becomes
//	0           count, by Add
//	count       count or 0, by Add and Done; count+flag, by the first one that waits, under guard
//	count+flag  count+flag or 0+flag, by Add and Done; count, by the last waiter that gives up, under guard
//	0+flag      0, under guard: by the Done that has brought it there, which takes all waiters out and then wakes them, or by the
//	            last waiter that gives up. An Add panics.
type WaitGroup struct {
	_     noCopy
	state atomic.Int64
	guard waitq.Guard
	queue waitq.Queue // under guard
}

// waitFlag is set while the queue is not empty.
const waitFlag = 1

// noCopy makes go vet find copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Add adds delta, which may be negative, to the count. When that becomes 0 all that wait go on. Does not park. It panics, and changes
// nothing, if the count would become negative, or if it was 0 and those who wait for that have not gone on yet.
func (wg *WaitGroup) Add(delta int) {
	for {
		s := wg.state.Load()
		n := s>>32 + int64(delta)
		if uint64(n) > math.MaxInt32 || s == waitFlag && delta > 0 {
			misused(n)
		}
		if wg.state.CompareAndSwap(s, n<<32|s&waitFlag) {
			if n == 0 && s&waitFlag != 0 {
				wg.release()
			}
			return
		}
	}
}

// misused panics: n is what the count would have become.
func misused(n int64) {
	switch {
	case n < 0:
		panic("cosync: negative WaitGroup counter")
	case n > math.MaxInt32:
		panic("cosync: WaitGroup counter too large")
	}
	panic("cosync: WaitGroup misuse: Add called concurrently with Wait")
}

// Done is Add(-1).
func (wg *WaitGroup) Done() { wg.Add(-1) }

// Go adds 1 to the count and starts f as a coroutine, on the least loaded Processor, at whose end the count goes down again,
// however it ends. If no coroutine can be started it returns the error, coroutine.ErrShutdown for one, and the count is as it was.
//
//go:noinline
func (wg *WaitGroup) Go(f func()) error {
	wg.Add(1)
	_, err := coroutine.Start(func() {
		defer wg.Done()
		f()
	}, "", asm.CallerPC())
	if err != nil {
		wg.Done()
	}
	return err
}

// Wait waits until the count is 0. A coroutine parks, a goroutine blocks. When the scheduler ends by force, it ends the waiting
// coroutine ([coroutine.Unwind]). It does not allocate.
func (wg *WaitGroup) Wait() {
	if wg.state.Load()>>32 != 0 && wg.wait(coroutine.Bound{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// WaitTimeout is Wait for no longer than d. It returns nil if the count was 0; else os.ErrDeadlineExceeded, or coroutine.ErrShutdown
// when the scheduler ends by force.
func (wg *WaitGroup) WaitTimeout(d time.Duration) error {
	if wg.state.Load()>>32 == 0 {
		return nil
	}
	if d <= 0 {
		return os.ErrDeadlineExceeded
	}
	b := coroutine.Within(d)
	return b.Err(wg.wait(b))
}

// WaitContext is Wait for no longer than ctx lives. It returns nil if the count was 0; else ctx.Err(), or coroutine.ErrShutdown when
// the scheduler ends by force. It allocates when it waits.
func (wg *WaitGroup) WaitContext(ctx context.Context) error {
	if wg.state.Load()>>32 == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b := coroutine.During(ctx)
	return b.Err(wg.wait(b))
}
