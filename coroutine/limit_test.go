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
	"github.com/netco-go/netco/internal/testenv"
)

func TestLimitExpired(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer stop()
	for _, c := range []struct {
		name  string
		limit Limit
		want  Wake
		err   error
	}{
		{"none", Limit{}, WakeReady, nil},
		{"a background context", Context(context.Background()), WakeReady, nil},
		{"0", Timeout(0), WakeTimeout, os.ErrDeadlineExceeded},
		{"negative", Timeout(-1), WakeTimeout, os.ErrDeadlineExceeded},
		{"the most negative", Timeout(math.MinInt64), WakeTimeout, os.ErrDeadlineExceeded},
		{"an hour", Timeout(time.Hour), WakeReady, nil},
		{"for ever", Timeout(math.MaxInt64), WakeReady, nil},
		{"cancelled", Context(cancelled), WakeCancelled, context.Canceled},
		{"a context's deadline", Context(late), WakeCancelled, context.DeadlineExceeded},
		{"the earlier of two", Timeout(time.Hour).Earlier(1), WakeTimeout, os.ErrDeadlineExceeded},
		{"the other one", Timeout(-1).Earlier(math.MaxInt64), WakeTimeout, os.ErrDeadlineExceeded},
		{"of none", Limit{}.Earlier(1), WakeTimeout, os.ErrDeadlineExceeded},
		{"both", Context(cancelled).Earlier(1), WakeCancelled, context.Canceled},
	} {
		why := c.limit.Expired()
		if err := c.limit.Err(why); why != c.want || err != c.err {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, why, err, c.want, c.err)
		}
	}
	testenv.Equal(t, (Limit{}).Err(WakeShutdown), ErrShutdown, "shutdown")
	testenv.True(t, Timeout(math.MaxInt64) == (Limit{}) &&
		Timeout(math.MaxInt64-1).Expired() == WakeReady, "a limit of centuries overflows")
}

// TestParkLimit: how a wait ends, of coroutines and of goroutines.
func TestParkLimit(t *testing.T) {
	wait := func(limit Limit, wake bool) Wake {
		w := AcquireFor(limit)
		if wake {
			w.Wake()
		}
		why := w.ParkLimit(ReasonUser, limit)
		if s := w.sema(); s != nil && s.timer != nil && s.timer.Stop() {
			t.Error("the timer is left to end a later park")
		}
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
			name  string
			limit Limit
			wake  bool
			want  Wake
		}{
			{"woken", Limit{}, true, WakeReady},
			{"woken within an hour", Timeout(time.Hour), true, WakeReady},
			{"woken during a context", Context(context.Background()), true, WakeReady},
			{"woken under both", Context(context.Background()).Earlier(math.MaxInt64), true,
				WakeReady},
			{"time", Timeout(time.Millisecond), false, WakeTimeout},
			{"no time", Timeout(0), false, WakeTimeout},
			{"cancelled before", Context(cancelled), false, WakeCancelled},
			{"cancelled meanwhile", Context(soon()), false, WakeCancelled},
			{"cancelled before the time", Context(soon()).Earlier(clock.Now() + int64(time.Hour)),
				false, WakeCancelled},
			{"the time before the context",
				Context(context.Background()).Earlier(clock.Now() + int64(time.Millisecond)), false,
				WakeTimeout},
		} {
			before := clock.Now()
			testenv.Equal(t, wait(c.limit, c.wake), c.want, c.name)
			if c.want == WakeTimeout && clock.Now() < c.limit.deadline {
				t.Errorf("%s: over after %v", c.name, time.Duration(clock.Now()-before))
			}
		}
	}
	t.Run("goroutine", check)
	t.Run("coroutine", func(t *testing.T) { on(plain, func(*Executor) { check(t) }) })
	t.Run("fiber of a coroutine", func(t *testing.T) {
		on(plain, func(*Executor) {
			New(func(*Yielder[int, int], int) int { check(t); return 0 }).Resume(0)
		})
	})
}

// TestOverBeforePark: a context has ended, and its watch knows, before the
// park. A wake comes first, and what is left of the watch ends no later park.
func TestOverBeforePark(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	on(plain, func(*Executor) {
		limit := Context(ctx)
		for _, want := range []Wake{WakeCancelled, WakeReady} {
			w := AcquireFor(limit)
			watch := CurrentWorker().watch
			testenv.Until(t, "the watch to know", watch.over.Load)
			if want == WakeReady {
				w.Wake()
			}
			testenv.Equal(t, w.ParkLimit(ReasonUser, limit), want)
			watch.end() // may be late
			testenv.True(t, !Current().isWoken(), "a wake is left, after %v", want)
			w.Release()
		}
		live, cancel := context.WithCancel(context.Background())
		defer cancel()
		w := AcquireFor(Context(live))
		watch := CurrentWorker().watch
		w.Release()
		testenv.True(t, !watch.stop(), "the context keeps the watch")
	})
}

//go:norace
func (co *Coroutine) isWoken() bool { return co.woken }

// TestCancelAgainstReady: a context's end and a wake race for a park. One of
// them ends it, and neither ends a later one.
func TestCancelAgainstReady(t *testing.T) {
	rounds := testenv.Rounds(20_000)
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
			w.co.MakeReady(w.ticket, WakeReady)
		}
	})
	errPlanned := errors.New("planned")
	th.spawn(func() {
		co := Current()
		for range rounds {
			ctx, cancel := context.WithCancelCause(context.Background())
			limit := Context(ctx)
			w := AcquireFor(limit)
			cancels <- func() { cancel(errPlanned) }
			wakes <- target{co, co.Ticket()}
			switch why := w.ParkLimit(ReasonUser, limit); {
			case why == WakeReady && limit.Err(why) == nil:
				ready.Add(1)
			case why == WakeCancelled && limit.Err(why) == context.Canceled:
				cancelled.Add(1)
			default:
				wrong.Add(1)
			}
			// The loser must not end the next park.
			w.Prepare()
			mine := co.Ticket()
			th.ex.Spawn(Spawn{Fn: func() { Yield(); co.MakeReady(mine, WakeTimeout) }})
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
	testenv.True(t, wrong.Load() == 0 && ready.Load()+cancelled.Load() == int64(rounds),
		"%d ready, %d cancelled, %d otherwise", ready.Load(), cancelled.Load(), wrong.Load())
	t.Logf("%d ready, %d cancelled", ready.Load(), cancelled.Load())
}

// TestGoroutineCancelAgainstWake: the same for an ordinary goroutine, which
// takes a late wake back.
func TestGoroutineCancelAgainstWake(t *testing.T) {
	var cancelled int
	for range testenv.Rounds(20_000) {
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
		if why := w.ParkLimit(ReasonUser, Context(ctx)); why == WakeCancelled {
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
