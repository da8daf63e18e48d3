package coroutine

import (
	"context"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// TestGoroutineDeadlineNoAllocation: a goroutine's wait under a deadline
// allocates nothing: its timer is reused.
func TestGoroutineDeadlineNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	far := clock.Now() + int64(time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, park := range map[string]func(w *Waiter) Wake{
		"ParkUntil": func(w *Waiter) Wake { return w.ParkUntil(ReasonUser, far) },
		"ParkLimit": func(w *Waiter) Wake { return w.ParkLimit(ReasonUser, Timeout(time.Hour)) },
		"ParkLimit, context": func(w *Waiter) Wake {
			return w.ParkLimit(ReasonUser, Context(ctx).Earlier(far))
		},
	} {
		n := testenv.Allocs(100, func() {
			w := AcquireWaiter()
			w.Wake()
			if why := park(w); why != WakeReady {
				t.Errorf("%s ended by %v", name, why)
			}
			w.Release()
		})
		testenv.True(t, n == 0, "%s: %v allocations", name, n)
	}
}

// TestSemaphoreReused: in whatever order a deadline and a wake come, disarm
// leaves the wake and nothing else, so that no later park ends by an old
// deadline.
func TestSemaphoreReused(t *testing.T) {
	s := newSemaphore()
	full := func(n int) {
		t.Helper()
		testenv.Until(t, "the timer to send", func() bool { return len(s.c) == n })
	}
	const past = 1
	for name, c := range map[string]struct {
		before func()
		wakes  int
	}{
		"neither": {func() { s.arm(clock.Now() + int64(time.Hour)) }, 0},
		"wake": {func() {
			s.arm(clock.Now() + int64(time.Hour))
			s.c <- WakeReady
		}, 1},
		"deadline":          {func() { s.arm(past) }, 0},
		"deadline, seen":    {func() { s.arm(past); full(1) }, 0},
		"deadline and wake": {func() { s.arm(past); full(1); s.c <- WakeReady }, 1},
		"wake and deadline": {func() { s.c <- WakeReady; s.arm(past); full(2) }, 1},
		"both at once":      {func() { s.arm(past); s.c <- WakeReady }, 1},
	} {
		for range 100 {
			c.before()
			s.disarm()
			if len(s.c) != c.wakes {
				t.Fatalf("%s: %d left, want %d", name, len(s.c), c.wakes)
			}
			if c.wakes > 0 {
				if why := <-s.c; why != WakeReady {
					t.Fatalf("%s: %v left", name, why)
				}
			}
		}
	}
	w := &Waiter{hook: s}
	for range 100 {
		if why := w.ParkUntil(ReasonUser, past); why != WakeTimeout {
			t.Fatalf("the deadline has passed, but the park ended by %v", why)
		}
		w.Wake()
		if why := w.ParkUntil(ReasonUser, clock.Now()+int64(time.Hour)); why != WakeReady {
			t.Fatalf("a wake ended the park by %v", why)
		}
		if len(s.c) != 0 {
			t.Fatal("something is left")
		}
	}
}
