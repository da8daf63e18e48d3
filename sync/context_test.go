package sync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestWait: it returns the context's error, parks the coroutine and not its
// Processor, and takes no wake but the right one.
func TestWait(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	testrun.Start(t, 2)
	over, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("why"))
	check := func() {
		if err := sync.Wait(over); err != context.Canceled {
			t.Errorf("a context that is over: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := sync.Wait(ctx); err != context.DeadlineExceeded {
			t.Errorf("a context that ends: %v", err)
		}
	}
	check()
	testrun.In(t, 0, check)
	testrun.In(t, 0, func() {
		ctx, cancel := context.WithCancel(context.Background())
		var waiter *coroutine.Coroutine
		result := sync.NewFuture[error]()
		h, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			waiter = coroutine.Current()
			result.Set(sync.Wait(ctx))
		}})
		if err != nil {
			t.Error(err)
		}
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

// TestWaitShutdown: a forced shutdown ends the wait, also for a context that is
// never done.
func TestWaitShutdown(t *testing.T) {
	if err := netco.Start(netco.Options{Processors: 2}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 2)
	for i, ctx := range []context.Context{ctx, context.Background()} {
		parked := make(chan *coroutine.Coroutine, 1)
		if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i), Fn: func() {
			parked <- coroutine.Current()
			ended <- sync.Wait(ctx)
		}}); err != nil {
			t.Fatal(err)
		}
		for co := <-parked; co.Reason() != coroutine.ReasonContext; {
			time.Sleep(time.Millisecond)
		}
	}
	testrun.ShutdownByForce(t)
	for range 2 {
		if err := <-ended; err != coroutine.ErrShutdown {
			t.Errorf("ended with %v", err)
		}
	}
}
