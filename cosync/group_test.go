package cosync_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/cosync"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestGroup: all run, in coroutines, and Wait returns the first error, after
// all have ended.
func TestGroup(t *testing.T) {
	testrun.Start(t, 2)
	check := func() {
		var g cosync.Group
		if err := g.Wait(); err != nil {
			t.Errorf("Wait of an empty Group: %v", err)
		}
		errs := []error{errors.New("0"), errors.New("1")}
		var first cosync.Future[int]
		var ran atomic.Int32
		for i := range errs {
			g.Go(func() error {
				defer ran.Add(1)
				if netco.Self() == nil {
					t.Error("not in a coroutine")
				}
				if i == 1 {
					first.Set(0)
					return errs[1]
				}
				first.Get()
				for g.Err() == nil {
					netco.Yield()
				}
				return errs[0]
			})
		}
		for range 10 {
			g.Go(func() error { netco.Yield(); ran.Add(1); return nil })
		}
		if err := g.Wait(); err != errs[1] || ran.Load() != 12 {
			t.Errorf("Wait: %v after %d of 12", err, ran.Load())
		}
		if err := g.WaitTimeout(0); err != errs[1] {
			t.Errorf("Wait again: %v", err)
		}
	}
	check()
	testrun.In(t, 0, check)
}

// TestGroupContext: the first error ends the context, and is its cause; so does
// Wait.
func TestGroupContext(t *testing.T) {
	testrun.Start(t, 2)
	failed := errors.New("failed")
	check := func() {
		g, ctx := cosync.WithContext(context.Background())
		g.Go(func() error { return cosync.Wait(ctx) })
		g.Go(func() error { return failed })
		if err := g.Wait(); err != failed || context.Cause(ctx) != failed ||
			ctx.Err() != context.Canceled {
			t.Errorf("Wait: %v; the context: %v because of %v", err, ctx.Err(), context.Cause(ctx))
		}
		g, ctx = cosync.WithContext(context.Background())
		g.Go(func() error { return ctx.Err() })
		if err := g.Wait(); err != nil || ctx.Err() != context.Canceled {
			t.Errorf("Wait: %v; the context: %v", err, ctx.Err())
		}
		outer, cancel := context.WithCancel(context.Background())
		g, ctx = cosync.WithContext(outer)
		g.Go(func() error { return cosync.Wait(ctx) })
		cancel()
		if err := g.Wait(); err != context.Canceled {
			t.Errorf("Wait: %v", err)
		}
	}
	check()
	testrun.In(t, 0, check)
}

// TestGroupBounds: a bounded Wait ends, the functions go on, and a later Wait
// still has their error.
func TestGroupBounds(t *testing.T) {
	testrun.Start(t, 2)
	failed := errors.New("failed")
	check := func() {
		g, ctx := cosync.WithContext(context.Background())
		var gate cosync.Future[int]
		g.Go(func() error { gate.Get(); return failed })
		if err := g.WaitTimeout(0); err != os.ErrDeadlineExceeded {
			t.Errorf("a timeout of 0: %v", err)
		}
		if err := g.WaitTimeout(time.Millisecond); err != os.ErrDeadlineExceeded {
			t.Errorf("a timeout: %v", err)
		}
		over, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		for range 2 {
			if err := g.WaitContext(over); err != context.DeadlineExceeded {
				t.Errorf("a context that ends: %v", err)
			}
		}
		if ctx.Err() != nil {
			t.Errorf("the Group's context: %v", ctx.Err())
		}
		gate.Set(1)
		if err := g.WaitTimeout(time.Hour); err != failed {
			t.Errorf("at last: %v", err)
		}
		if err := g.WaitContext(over); err != failed {
			t.Errorf("a context that is over, all done: %v", err)
		}
	}
	check()
	testrun.In(t, 0, check)
}

// TestGroupLimit: never more functions than the limit run, on whatever threads
// they are started; TryGo does not wait.
func TestGroupLimit(t *testing.T) {
	testrun.Start(t, 2)
	for _, limit := range []int{1, 3} {
		var g cosync.Group
		g.SetLimit(limit)
		var running, ran atomic.Int32
		one := func() error {
			if n := running.Add(1); n > int32(limit) {
				t.Errorf("%d run, the limit is %d", n, limit)
			}
			netco.Yield()
			running.Add(-1)
			ran.Add(1)
			return nil
		}
		var started atomic.Int32
		crowd(t, 6, func(i int) {
			for k := range testenv.Rounds(2_000) {
				if k%4 == 0 {
					if !g.TryGo(one) {
						continue
					}
				} else {
					g.Go(one)
				}
				started.Add(1)
			}
		})
		if err := g.Wait(); err != nil || ran.Load() != started.Load() {
			t.Errorf("%v; %d ran of %d", err, ran.Load(), started.Load())
		}
	}
}

// TestGroupStarts: callers that wait in Go are served in order, and TryGo does
// not pass them; SetLimit panics meanwhile.
func TestGroupStarts(t *testing.T) {
	testrun.Start(t, 2)
	var g cosync.Group
	g.SetLimit(1)
	gates := make([]cosync.Future[int], 4)
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
		enter := func() { g.Go(f(i)) }
		if i == 2 {
			go enter()
		} else if _, err := netco.GoOn(i%2, enter); err != nil {
			t.Fatal(err)
		}
		g.AwaitStarts(i)
	}
	if g.TryGo(f(0)) {
		t.Error("TryGo overtook waiters")
	}
	func() {
		defer func() {
			if r := recover(); r != "cosync: SetLimit while 1 functions of the Group are running" {
				t.Errorf("SetLimit: %v", r)
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
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestGroupNoStarts: a limit of 0 blocks all starts until another is set.
func TestGroupNoStarts(t *testing.T) {
	testrun.Start(t, 2)
	var g cosync.Group
	g.SetLimit(0)
	if g.TryGo(func() error { return nil }) {
		t.Error("TryGo at a limit of 0")
	}
	ran := make(chan int, 2)
	for i := range 2 {
		go g.Go(func() error { ran <- i; return nil })
	}
	g.AwaitStarts(2)
	g.SetLimit(-1)
	<-ran
	<-ran
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// TestGroupEnds: a panic goes to OnPanic, from where it happened, and counts as
// an error; Goexit as an end without one.
func TestGroupEnds(t *testing.T) {
	panics := make(chan netco.PanicInfo, 10)
	testrun.StartWith(t, netco.Options{
		Processors: 2, OnPanic: func(p netco.PanicInfo) { panics <- p },
	})
	check := func() {
		var limited cosync.Group
		limited.SetLimit(1)
		limited.Go(func() error { runtime.Goexit(); return os.ErrClosed })
		limited.Go(func() error { return nil })
		if err := limited.Wait(); err != nil {
			t.Errorf("Goexit: %v", err)
		}
		g, ctx := cosync.WithContext(context.Background())
		g.Go(func() error { panicsInvalid(); return nil })
		err := g.Wait()
		var p *cosync.PanicError
		if !errors.As(err, &p) || p.Value != os.ErrInvalid ||
			!strings.Contains(string(p.Stack), "cosync_test.panicsInvalid") ||
			context.Cause(ctx) != err {
			t.Errorf("a panic: %v; the context: %v", err, context.Cause(ctx))
		}
	}
	check()
	testrun.In(t, 0, check)
	for range 2 {
		p := <-panics
		if p.Value != any(os.ErrInvalid) ||
			!strings.Contains(string(p.Stack), "cosync_test.panicsInvalid") {
			t.Errorf("OnPanic got %v\n%s", p.Value, p.Stack)
		}
	}
}

// TestStartPanics: a start that panics, because of a Local's Inherit, leaves
// nothing that Wait waits for, and no place taken.
func TestStartPanics(t *testing.T) {
	var wg cosync.WaitGroup
	var g cosync.Group
	g.SetLimit(1)
	none := func() error { return nil }
	for _, c := range []struct {
		name  string
		start func()
		wait  func() error
	}{
		{"WaitGroup", func() { wg.Go(func() {}) }, func() error { return wg.WaitTimeout(0) }},
		{"Go", func() { g.Go(none) }, func() error { return g.WaitTimeout(0) }},
		{"TryGo", func() { g.TryGo(none) }, func() error { return g.WaitTimeout(0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			testrun.Start(t, 1)
			l := coroutine.NewLocal(coroutine.LocalOptions[int]{
				Inherit: func(*int) int { panic(os.ErrInvalid) },
			})
			testrun.In(t, 0, func() {
				l.Set(1)
				defer func() {
					if r := recover(); r != any(os.ErrInvalid) {
						t.Errorf("recovered %v", r)
					}
					if err := c.wait(); err != nil {
						t.Errorf("Wait: %v", err)
					}
				}()
				c.start()
			})
		})
	}
}

func TestGroupGoNil(t *testing.T) {
	defer func() {
		if r := recover(); r != "cosync: a Group's Go of a nil func" {
			t.Errorf("Go(nil): %v", r)
		}
	}()
	new(cosync.Group).Go(nil)
}

// TestGroupSite: the coroutine of a function names the caller of Go as its
// creator.
func TestGroupSite(t *testing.T) {
	testrun.Start(t, 2)
	site := make(chan string, 2)
	where := func() error {
		file, _ := netco.Self().Site()
		site <- file
		return nil
	}
	var created cosync.Group
	created.Go(where)
	created.TryGo(where)
	for range 2 {
		if file := <-site; !strings.HasSuffix(file, "group_test.go") {
			t.Errorf("created in %q", file)
		}
	}
}

// TestGroupShutdown: at a forced shutdown one function keeps its place until a
// caller of Go at the limit, on the other Processor, has ended; Wait in a
// coroutine returns, and Wait outside returns when all have ended.
func TestGroupShutdown(t *testing.T) {
	testrun.Start(t, 2)
	var g cosync.Group
	g.SetLimit(1)
	var entered atomic.Int32
	g.Go(func() error {
		defer func() {
			for g.Starting() == 2 {
				runtime.Gosched()
			}
		}()
		waitAndUnwind()
		return nil
	})
	for i := range 2 {
		if _, err := netco.GoOn(i, func() {
			g.Go(func() error { return nil })
			entered.Add(1)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := netco.Go(func() {
		if err := g.Wait(); err != coroutine.ErrShutdown {
			t.Errorf("Wait: %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	g.AwaitStarts(2)
	outside := make(chan error)
	go func() { outside <- g.Wait() }()
	g.AwaitIdle(2)
	testrun.ShutdownByForce(t)
	if err := <-outside; err != coroutine.ErrShutdown {
		t.Errorf("Wait outside: %v", err)
	}
	if n := entered.Load(); n > 1 {
		t.Errorf("all %d got into Go", n)
	}
}
