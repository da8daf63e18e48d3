package coroutine

import (
	"context"
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

func TestBoundOver(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer stop()
	for _, c := range []struct {
		name string
		b    Bound
		want Wake
		err  error
	}{
		{"none", Bound{}, WakeReady, nil},
		{"a background context", During(context.Background()), WakeReady, nil},
		{"0", Within(0), WakeTimeout, os.ErrDeadlineExceeded},
		{"negative", Within(-1), WakeTimeout, os.ErrDeadlineExceeded},
		{"the most negative", Within(math.MinInt64), WakeTimeout, os.ErrDeadlineExceeded},
		{"an hour", Within(time.Hour), WakeReady, nil},
		{"for ever", Within(math.MaxInt64), WakeReady, nil},
		{"cancelled", During(cancelled), WakeCancelled, context.Canceled},
		{"a context's deadline", During(late), WakeCancelled, context.DeadlineExceeded},
		{"the sooner of two", Within(time.Hour).Sooner(1), WakeTimeout, os.ErrDeadlineExceeded},
		{"the other one", Within(-1).Sooner(math.MaxInt64), WakeTimeout, os.ErrDeadlineExceeded},
		{"of none", Bound{}.Sooner(1), WakeTimeout, os.ErrDeadlineExceeded},
		{"both", During(cancelled).Sooner(1), WakeCancelled, context.Canceled},
	} {
		why := c.b.Over()
		if err := c.b.Err(why); why != c.want || err != c.err {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, why, err, c.want, c.err)
		}
	}
	if err := (Bound{}).Err(WakeShutdown); err != ErrShutdown {
		t.Errorf("shutdown: %v", err)
	}
	if Within(math.MaxInt64) != (Bound{}) || Within(math.MaxInt64-1).Over() != WakeReady {
		t.Error("a bound of centuries overflows")
	}
}

// TestParkBound: how a wait ends, of coroutines and of goroutines.
func TestParkBound(t *testing.T) {
	wait := func(b Bound, wake bool) Wake {
		w := AcquireWaiter()
		if wake {
			w.Wake()
		}
		why := w.ParkBound(ReasonUser, b)
		w.Release()
		return why
	}
	check := func(t *testing.T) {
		soon := func() context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Millisecond, cancel)
			return ctx
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		for _, c := range []struct {
			name string
			b    Bound
			wake bool
			want Wake
		}{
			{"woken", Bound{}, true, WakeReady},
			{"woken within an hour", Within(time.Hour), true, WakeReady},
			{"woken during a context", During(context.Background()), true, WakeReady},
			{"woken under both", During(context.Background()).Sooner(math.MaxInt64), true, WakeReady},
			{"time", Within(time.Millisecond), false, WakeTimeout},
			{"no time", Within(0), false, WakeTimeout},
			{"cancelled before", During(cancelled), false, WakeCancelled},
			{"cancelled meanwhile", During(soon()), false, WakeCancelled},
			{"cancelled before the time", During(soon()).Sooner(clock.Now() + int64(time.Hour)), false, WakeCancelled},
			{"the time before the context", During(context.Background()).Sooner(clock.Now() + int64(time.Millisecond)), false, WakeTimeout},
		} {
			before := clock.Now()
			if why := wait(c.b, c.wake); why != c.want {
				t.Errorf("%s: %v, want %v", c.name, why, c.want)
			}
			if c.want == WakeTimeout && clock.Now() < c.b.deadline {
				t.Errorf("%s: over after %v", c.name, time.Duration(clock.Now()-before))
			}
		}
	}
	t.Run("goroutine", check)
	t.Run("coroutine", func(t *testing.T) { on(plain, func(*Executor) { check(t) }) })
	t.Run("fiber of a coroutine", func(t *testing.T) {
		on(plain, func(*Executor) { New(func(*Yielder[int, int], int) int { check(t); return 0 }).Resume(0) })
	})
}

// TestCancelAgainstReady: a context's end and a wake race for a park. One of them ends it, and neither ends a later one.
func TestCancelAgainstReady(t *testing.T) {
	within(t, time.Minute)
	rounds := scaled(20_000)
	var ready, cancelled, wrong atomic.Int64
	th := newThread(plain)
	cancels := make(chan context.CancelFunc, 1)
	type target struct {
		co     *Coroutine
		ticket uint64
	}
	wakes := make(chan target, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for cancel := range cancels {
			cancel()
		}
	})
	wg.Go(func() {
		for w := range wakes {
			w.co.Ready(w.ticket, WakeReady)
		}
	})
	errPlanned := errors.New("planned")
	th.spawn(func() {
		co := Current()
		for range rounds {
			ctx, cancel := context.WithCancelCause(context.Background())
			w := AcquireWaiter()
			cancels <- func() { cancel(errPlanned) }
			wakes <- target{co, co.Ticket()}
			b := During(ctx)
			switch why := w.ParkBound(ReasonUser, b); {
			case why == WakeReady && b.Err(why) == nil:
				ready.Add(1)
			case why == WakeCancelled && b.Err(why) == context.Canceled:
				cancelled.Add(1)
			default:
				wrong.Add(1)
			}
			// The loser must not end the next park.
			w.Prepare()
			mine := co.Ticket()
			th.ex.Spawn(func() { Yield(); co.Ready(mine, WakeTimeout) }, "", 0)
			if why := w.Park(ReasonUser); why != WakeTimeout {
				wrong.Add(1)
			}
			w.Release()
		}
	})
	th.stop()
	close(cancels)
	close(wakes)
	wg.Wait()
	if wrong.Load() != 0 || ready.Load()+cancelled.Load() != int64(rounds) {
		t.Errorf("%d ready, %d cancelled, %d otherwise", ready.Load(), cancelled.Load(), wrong.Load())
	}
	t.Logf("%d ready, %d cancelled", ready.Load(), cancelled.Load())
}

// TestGoroutineCancelAgainstWake: the same for an ordinary goroutine, which takes a late wake back.
func TestGoroutineCancelAgainstWake(t *testing.T) {
	within(t, time.Minute)
	var cancelled int
	for range scaled(20_000) {
		ctx, cancel := context.WithCancel(context.Background())
		w := AcquireWaiter()
		var taken atomic.Bool
		var wg sync.WaitGroup
		wg.Go(cancel)
		wg.Go(func() {
			if taken.CompareAndSwap(false, true) {
				w.Wake()
			}
		})
		if why := w.ParkBound(ReasonUser, During(ctx)); why == WakeCancelled {
			cancelled++
			if !taken.CompareAndSwap(false, true) {
				w.Drain()
			}
		} else if why != WakeReady {
			t.Errorf("ended by %v", why)
		}
		if len(w.sema().c) != 0 {
			t.Fatal("a wake is left")
		}
		w.Release()
		wg.Wait()
	}
	t.Logf("%d cancelled", cancelled)
}

// TestBoundAtShutdown: a bounded wait ends by shutdown.
func TestBoundAtShutdown(t *testing.T) {
	th := newThread(plain)
	parked := make(chan struct{}, 3)
	var got [3]Wake
	for i, b := range []Bound{{}, Within(time.Hour), During(context.Background())} {
		th.spawn(func() {
			w := AcquireWaiter()
			parked <- struct{}{}
			got[i] = w.ParkBound(ReasonUser, b)
			w.Release()
		})
	}
	for range 3 {
		<-parked
	}
	th.stopByForce()
	if got != [3]Wake{WakeShutdown, WakeShutdown, WakeShutdown} {
		t.Errorf("ended by %v", got)
	}
}
