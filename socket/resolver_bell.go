package socket

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// bell is where one coroutine or goroutine at a time waits for something that others bring about. They change what is waited
// for, then ring; any number of rings from any thread, none of which is lost.
type bell struct {
	waiter atomic.Pointer[coroutine.Waiter] // whoever takes it out wakes it
}

func (b *bell) ring() {
	if w := b.waiter.Swap(nil); w != nil {
		w.Wake()
	}
}

// wait parks the caller until ready, which must not park, returns true or until (CLOCK_MONOTONIC ns; 0 is never) has passed. The
// error is ErrShutdown, when the scheduler ends by force.
func (b *bell) wait(reason coroutine.Reason, until int64, ready func() bool) error {
	w := coroutine.AcquireWaiter()
	defer w.Release()
	for !ready() && (until == 0 || clock.Now() < until) {
		w.Prepare()
		b.waiter.Store(w)
		wake := coroutine.WakeTimeout // not parked, not woken
		switch {
		case ready(): // it became so before the waiter was there
		case until == 0:
			wake = w.Park(reason)
		default:
			wake = w.ParkUntil(reason, until)
		}
		if b.waiter.Swap(nil) == nil && wake != coroutine.WakeReady {
			w.Drain()
		}
		if wake == coroutine.WakeShutdown {
			return coroutine.ErrShutdown
		}
	}
	return nil
}
