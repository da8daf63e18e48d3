package errgroup_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

const crowd = 8

// everywhere runs f on a goroutine and in a coroutine.
func everywhere(t *testing.T, f func(t *testing.T)) {
	testrun.Everywhere(t, netco.Options{Processors: 2}, f)
}

// TestFirstError: Wait returns the first error, after all functions, and it is
// the cause of the context's end.
func TestFirstError(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		g, ctx := errgroup.WithContext(context.Background())
		first, second := errors.New("first"), errors.New("second")
		var ended atomic.Int32
		for range crowd {
			g.Go(func() error {
				for ctx.Err() == nil {
					netco.Yield()
				}
				ended.Add(1)
				return second
			})
		}
		if err := g.WaitTimeout(0); err != os.ErrDeadlineExceeded || ctx.Err() != nil {
			t.Errorf("a timeout of 0: %v, and the context: %v", err, ctx.Err())
		}
		g.Go(func() error { return first })
		if err := g.Wait(); err != first || ended.Load() != crowd || context.Cause(ctx) != first {
			t.Errorf("%v after %d, %v", err, ended.Load(), context.Cause(ctx))
		}
		testenv.Equal(t, g.WaitTimeout(0), first, "again")
	})
}

// TestNoError: Wait ends the context, and a Group without functions has none to
// wait for.
func TestNoError(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		g, ctx := errgroup.WithContext(context.Background())
		g.Go(func() error { return nil })
		if err := g.Wait(); err != nil || ctx.Err() != context.Canceled {
			t.Errorf("%v, %v", err, ctx.Err())
		}
		testenv.NoError(t, new(errgroup.Group).Wait())
	})
}

// TestLimit: never more functions than the limit run, on whatever threads they
// are started; Go waits for that, and TryGo does not pass it.
func TestLimit(t *testing.T) {
	testrun.Start(t, 2)
	var g errgroup.Group
	for _, limit := range []int{1, 3} {
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
		var tasks []*testrun.Task
		for i := range 6 {
			tasks = append(tasks, testrun.Places[i%3].Go(func() {
				for k := range testenv.Rounds(2_000) {
					if k%4 != 0 {
						g.Go(one)
					} else if !g.TryGo(one) {
						continue
					}
					started.Add(1)
				}
			}))
		}
		testrun.WaitAll(t, tasks...)
		if err := g.Wait(); err != nil || ran.Load() != started.Load() {
			t.Errorf("%v; %d ran of %d", err, ran.Load(), started.Load())
		}
	}
	nop := func() error { return nil }
	for _, c := range []struct {
		limit int
		want  bool
	}{{0, false}, {1, true}, {-1, true}} {
		g.SetLimit(c.limit)
		testenv.Equal(t, g.TryGo(nop), c.want, "started with limit", c.limit)
		g.Wait()
	}
}

// TestStartPanics: a start that panics, because of a Local's Inherit, leaves
// nothing that Wait waits for, and no place taken.
func TestStartPanics(t *testing.T) {
	testrun.Start(t, 1)
	l := coroutine.NewLocal(coroutine.LocalOptions[int]{
		Inherit: func(*int) int { panic("no heir") },
	})
	testrun.In(t, 0, func() {
		var g errgroup.Group
		g.SetLimit(1)
		l.Set(1)
		testenv.Panics(t, "no heir", func() {
			g.Go(func() error { t.Error("called"); return nil })
		})
		g.SetLimit(2) // panics if the place is taken
		g.Wait()
	})
}

// TestPlace: what a coroutine starts runs on a coroutine, and what a goroutine
// starts on a goroutine.
func TestPlace(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		caller := coroutine.Current() != nil
		var g errgroup.Group
		check := func() error {
			testenv.Equal(t, coroutine.Current() != nil, caller, "on a coroutine")
			return nil
		}
		g.Go(check)
		g.TryGo(check)
		g.Wait()
	})
}

func TestMain(m *testing.M) { testenv.Main(m) }
