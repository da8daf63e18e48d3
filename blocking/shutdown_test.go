package blocking_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestForcedShutdown: whoever waits returns ErrShutdown. A function that runs
// goes on, one in the queue is never started, and neither is one that is called
// for afterwards.
func TestForcedShutdown(t *testing.T) {
	for _, where := range testrun.Coroutines {
		t.Run(where.Name, func(t *testing.T) {
			testrun.Start(t, 2)
			p, free := pool(t, 1), pool(t, 1)
			g := newGate()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			started := false
			starts := func() { started = true }
			first := where.Go(func() {
				n, err := blocking.CallOn(bg, p, func() (int, error) { g.pass(); return 1, errOwn })
				if n != 0 || !errors.Is(err, netco.ErrShutdown) {
					t.Errorf("of the one that runs: %d, %v", n, err)
				}
				if err := free.Do(bg, starts); !errors.Is(err, netco.ErrShutdown) ||
					free.Exact().Workers != 0 {
					t.Errorf("of a later one: %v, %+v", err, free.Exact())
				}
			})
			testenv.Await(t, g.entered, "the function")
			tasks := []*testrun.Task{first}
			for _, c := range []context.Context{bg, ctx} {
				queued := where.Go(func() {
					testenv.Fails(t, p.Do(c, starts), netco.ErrShutdown, "of one in the queue", c)
				})
				queued.UntilParked(t, coroutine.ReasonBlocking)
				tasks = append(tasks, queued)
			}
			testrun.ShutdownByForce(t)
			testrun.WaitAll(t, tasks...)
			exact(t, p, blocking.Stats{Workers: 1, Abandoned: 1}, "after the shutdown")
			close(g.opened)
			testenv.Until(t, "the function's end", func() bool { return p.Exact().Running == 0 })
			if s := p.Exact(); started || s.Done != 1 {
				t.Errorf("started: %v, %+v", started, s)
			}
		})
	}
}

// TestPatientShutdown waits for the functions, and lets coroutines make new
// calls.
func TestPatientShutdown(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g := newGate()
	k := testrun.First.Go(func() {
		testenv.Fails(t, p.Do(bg, g.pass), nil, "Do")
		testenv.Fails(t, p.Do(bg, func() {}), nil, "Do while the scheduler drains")
	})
	testenv.Await(t, g.entered, "the function")
	shut := make(chan error, 1)
	go func() { shut <- netco.Shutdown(context.Background()) }()
	testenv.Until(t, "the shutdown to begin", func() bool {
		_, err := netco.Go(func() {})
		return err != nil
	})
	close(g.opened)
	k.Wait(t)
	testenv.NoError(t, testenv.Await(t, shut, "the shutdown"))
}

// TestGoexitOfLeft: an abandoned function ends by Goexit, and costs its worker
// and nothing else.
func TestGoexitOfLeft(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g := newGate()
	ctx, cancel := context.WithCancel(context.Background())
	k := testrun.First.Go(func() {
		err := p.Do(ctx, func() { g.pass(); runtime.Goexit() })
		testenv.Equal(t, err, context.Canceled, "Do")
	})
	testenv.Await(t, g.entered, "the function")
	cancel()
	k.Wait(t)
	next := testrun.Second.Go(func() { testenv.NoError(t, p.Do(bg, func() {})) })
	next.UntilParked(t, coroutine.ReasonBlocking) // behind the one that was left
	close(g.opened)
	next.Wait(t)
	testenv.Until(t, "the worker to be idle", func() bool { return p.Exact().Idle == 1 })
	exact(t, p, blocking.Stats{Workers: 1, Idle: 1, Done: 2, Abandoned: 1})
}

// TestHammerShutdown: the scheduler ends by force in the middle of calls of all
// kinds, from both Processors. Each returns its result or ErrShutdown, and the
// pool is in order afterwards.
func TestHammerShutdown(t *testing.T) {
	for range testenv.Rounds(30) {
		p := pool(t, 3)
		testenv.OK(t, netco.Start(netco.Options{Processors: 2}))
		ctx, cancel := context.WithCancel(context.Background())
		calls := make(chan struct{}, 1)
		var tasks []*testrun.Task
		for i := range 12 {
			tasks = append(tasks, testrun.Coroutines[i%2].Go(func() {
				for n := 0; ; n++ {
					got, err := 0, error(nil)
					if i%3 == 0 {
						got, err = blocking.CallOn(ctx, p, func() (int, error) { return n, nil })
					} else {
						got, err = blocking.CallOn(bg, p, func() (int, error) { return n, nil })
					}
					if errors.Is(err, netco.ErrShutdown) && got == 0 {
						return
					}
					if err != nil || got != n {
						t.Errorf("call %d: %d, %v", n, got, err)
						return
					}
					if n == 20 {
						select {
						case calls <- struct{}{}:
						default:
						}
					}
				}
			}))
		}
		testenv.Await(t, calls, "calls")
		testrun.ShutdownByForce(t)
		testrun.WaitAll(t, tasks...)
		cancel()
		rest(t, p)
	}
}
