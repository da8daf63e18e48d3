package sync_test

import (
	"context"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestWait: it parks the coroutine and not its Processor, and takes no wake but
// the right one.
func TestWait(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	testrun.Start(t, 2)
	testrun.In(t, 0, func() {
		ctx, cancel := context.WithCancel(context.Background())
		var waiter *coroutine.Coroutine
		result := sync.NewFuture[error]()
		h := testenv.Must(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			waiter = coroutine.Current()
			result.Set(sync.Wait(ctx))
		}}))
		for waiter == nil || waiter.Reason() != coroutine.ReasonContext {
			netco.Yield()
		}
		for range 3 { // wakes that mean something else
			waiter.MakeReady(waiter.Ticket(), coroutine.WakeReady)
			netco.Yield()
		}
		if result.Done() {
			t.Error("an early wake ended the wait")
		}
		cancel()
		if err, _ := result.Get(); err != context.Canceled {
			t.Errorf("cancelled: %v", err)
		}
		h.Join()
	})
}

// TestWaitMany has many coroutines wait for one context, which ends while some
// are about to.
func TestWaitMany(t *testing.T) {
	testrun.Start(t, 2)
	for range testenv.Rounds(200) {
		ctx, cancel := context.WithCancel(context.Background())
		crowd(t, 12, func(i int) {
			if i == 7 {
				cancel()
			}
			if err := sync.Wait(ctx); err != context.Canceled {
				t.Error(err)
			}
		})
		cancel()
	}
}
