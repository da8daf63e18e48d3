package rate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	xrate "golang.org/x/time/rate"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rate"
)

// methods are what both Limiters have.
type methods interface {
	AllowN(t time.Time, n int) bool
	ReserveN(t time.Time, n int) *rate.Reservation
	SetLimitAt(t time.Time, r rate.Limit)
	SetBurstAt(t time.Time, b int)
	TokensAt(t time.Time) float64
	Limit() rate.Limit
	Burst() int
}

// TestAsTheirs holds a Limiter against x/time's, over random calls at made-up
// times.
func TestAsTheirs(t *testing.T) {
	for _, r := range []rate.Limit{0, 0.5, 10, 1e9, rate.Inf} {
		for _, burst := range []int{0, 1, 7} {
			play := func(l methods) (trace string) {
				rnd := rand.New(rand.NewPCG(1, 2))
				at := time.Unix(1_000_000_000, 0)
				var last *rate.Reservation
				for range 200 {
					at = at.Add(time.Duration(rnd.IntN(1e9)))
					switch rnd.IntN(8) {
					case 0, 1, 2:
						trace += fmt.Sprint(l.AllowN(at, rnd.IntN(3)))
					case 3, 4:
						last = l.ReserveN(at, rnd.IntN(3))
						trace += fmt.Sprint(last.OK(), last.DelayFrom(at))
					case 5:
						if last != nil {
							last.CancelAt(at)
						}
					case 6:
						l.SetLimitAt(at, r*rate.Limit(1+rnd.IntN(2)))
					default:
						l.SetBurstAt(at, burst+rnd.IntN(2))
					}
					trace += fmt.Sprintf(" %.3f %v %d, ", l.TokensAt(at), l.Limit(), l.Burst())
				}
				return trace
			}
			ours, theirs := play(rate.NewLimiter(r, burst)), play(xrate.NewLimiter(r, burst))
			if ours != theirs {
				t.Errorf("rate %v, burst %d:\n%s\nwant\n%s", r, burst, ours, theirs)
			}
		}
	}
	if new(rate.Limiter).Allow() {
		t.Error("the zero Limiter allows an event")
	}
}

// TestWait: events come no sooner than they may, wherever the callers run.
func TestWait(t *testing.T) {
	testrun.Start(t, 2)
	const interval, each = 2 * time.Millisecond, 5
	l := rate.NewLimiter(rate.Every(interval), 3)
	start := time.Now()
	var tasks []*testrun.Task
	for _, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			for range each {
				if err := l.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
	least := interval * time.Duration(each*len(tasks)-l.Burst())
	if took := time.Since(start); took < least {
		t.Errorf("%d events in %v, want at least %v", each*len(tasks), took, least)
	}
}

// TestErrors: with an error no events are taken.
func TestErrors(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	soon, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		n    int
		want string
	}{
		{"done", done, 1, context.Canceled.Error()},
		{"burst", context.Background(), 3, "rate: Wait(n=3) exceeds limiter's burst 2"},
		{"deadline", soon, 1, "rate: Wait(n=1) would exceed context deadline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			testrun.Each(t, func(t *testing.T, p testrun.Place) {
				testrun.Start(t, 2)
				l := rate.NewLimiter(rate.Every(time.Hour), 2)
				l.AllowN(time.Now(), 2)
				var err error
				p.Do(t, func() { err = l.WaitN(c.ctx, c.n) })
				if err == nil || err.Error() != c.want {
					t.Errorf("%v, want %s", err, c.want)
				}
				if n := l.Tokens(); n < 0 {
					t.Errorf("%v tokens are left", n)
				}
			})
		})
	}
	l := rate.NewLimiter(rate.Inf, 0)
	testrun.With(t, 1, func() { testenv.NoError(t, l.WaitN(context.Background(), 100)) })
}

// TestWaitEnds: what ends a wait gives the events back, and meanwhile other
// coroutines of the Processor run.
func TestWaitEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    func(t *testing.T, cancel func())
		want   error
		parent context.Context
	}{
		{"cancelled", func(_ *testing.T, cancel func()) { cancel() }, context.Canceled,
			context.Background()},
		{"forced", func(t *testing.T, _ func()) { testrun.ShutdownByForce(t) },
			netco.ErrShutdown, context.Background()},
		{"forced, without a context", func(t *testing.T, _ func()) { testrun.ShutdownByForce(t) },
			netco.ErrShutdown, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			testrun.Start(t, 1)
			ctx, cancel := context.Background(), func() {}
			if c.parent != nil {
				ctx, cancel = context.WithCancel(c.parent)
			}
			defer cancel()
			l := rate.NewLimiter(rate.Every(time.Hour), 1)
			l.Allow()
			var err error
			task := testrun.On(0).Go(func() { err = l.Wait(ctx) })
			task.UntilParked(t, coroutine.ReasonSleep)
			testrun.In(t, 0, netco.Yield)
			if n := l.Tokens(); n > -0.9 {
				t.Errorf("while it waits: %v tokens", n)
			}
			c.end(t, cancel)
			task.Wait(t)
			if !errors.Is(err, c.want) {
				t.Errorf("Wait: %v, want %v", err, c.want)
			}
			if n := l.Tokens(); n < 0 {
				t.Errorf("after it: %v tokens", n)
			}
		})
	}
}

// TestParity: the names are x/time's.
func TestParity(t *testing.T) {
	testenv.Parity(t, "golang.org/x/time/rate", "github.com/netco-go/netco/rate", 5, "Limiter")
}

// TestFree: a Wait that need not wait does not allocate but for x/time's
// Reservation.
func TestFree(t *testing.T) {
	testenv.NoRace(t)
	l := rate.NewLimiter(rate.Inf, 1)
	testrun.With(t, 1, func() {
		n := testenv.Allocs(100, func() { testenv.OK(t, l.Wait(context.Background())) })
		if n > 1 {
			t.Errorf("%v allocations", n)
		}
	})
}
