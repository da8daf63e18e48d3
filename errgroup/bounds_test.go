package errgroup_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestContext: the first error ends the context, for which functions wait; so
// does the end of the context it was made with.
func TestContext(t *testing.T) {
	failed := errors.New("failed")
	everywhere(t, func(t *testing.T) {
		g, ctx := errgroup.WithContext(context.Background())
		g.Go(func() error { return sync.Wait(ctx) })
		g.Go(func() error { return failed })
		if err := g.Wait(); err != failed || context.Cause(ctx) != failed ||
			ctx.Err() != context.Canceled {
			t.Errorf("Wait: %v; the context: %v because of %v", err, ctx.Err(), context.Cause(ctx))
		}
		outer, cancel := context.WithCancel(context.Background())
		g, ctx = errgroup.WithContext(outer)
		g.Go(func() error { return sync.Wait(ctx) })
		cancel()
		testenv.Equal(t, g.Wait(), context.Canceled, "Wait")
	})
}

// TestLimitFromEverywhere: never more functions than the limit run, on whatever
// threads they are started.
func TestLimitFromEverywhere(t *testing.T) {
	testrun.Start(t, 2)
	for _, limit := range []int{1, 3} {
		var g errgroup.Group
		g.SetLimit(limit)
		var running, ran, started atomic.Int32
		one := func() error {
			if n := running.Add(1); n > int32(limit) {
				t.Errorf("%d run, the limit is %d", n, limit)
			}
			netco.Yield()
			running.Add(-1)
			ran.Add(1)
			return nil
		}
		start := func() {
			for k := range testenv.Rounds(2_000) {
				if k%4 != 0 {
					g.Go(one)
				} else if !g.TryGo(one) {
					continue
				}
				started.Add(1)
			}
		}
		var tasks []*testrun.Task
		for i := range 6 {
			tasks = append(tasks, testrun.Places[i%3].Go(start))
		}
		testrun.WaitAll(t, tasks...)
		if err := g.Wait(); err != nil || ran.Load() != started.Load() {
			t.Errorf("%v; %d ran of %d", err, ran.Load(), started.Load())
		}
	}
}

// TestStarts: callers that wait in Go are served in order, and TryGo does not
// pass them; SetLimit panics meanwhile.
func TestStarts(t *testing.T) {
	testrun.Start(t, 2)
	var g errgroup.Group
	g.SetLimit(1)
	gates := make([]sync.Future[int], 4)
	order := make(chan int, len(gates))
	f := func(i int) func() error {
		return func() error {
			order <- i
			gates[i].Get()
			return nil
		}
	}
	g.Go(f(0))
	for i := 1; i < len(gates); i++ {
		testrun.Places[i-1].Go(func() { g.Go(f(i)) }).UntilParked(t, coroutine.ReasonSemaphore)
	}
	if g.TryGo(f(0)) {
		t.Error("TryGo overtook waiters")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("SetLimit has not panicked")
			}
		}()
		g.SetLimit(2)
	}()
	for i := range gates {
		if got := <-order; got != i {
			t.Errorf("%d runs, want %d", got, i)
		}
		gates[i].Set(0)
	}
	testenv.NoError(t, g.Wait())
}
