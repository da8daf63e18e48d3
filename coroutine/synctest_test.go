package coroutine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// sleeper yields the time that it sleeps, by its clock, for each duration that
// it is resumed with; 0 ends it.
func sleeper(y *coroutine.Yielder[time.Duration, time.Duration], d time.Duration) time.Duration {
	for d != 0 {
		began := time.Now()
		time.Sleep(d)
		var err error
		if d, err = y.Yield(time.Since(began)); err != nil {
			return 0
		}
	}
	return 0
}

// TestFiberInBubble: a coroutine driven by hand in a bubble of testing/synctest
// has the bubble's clock, and leaves nothing there that keeps the bubble from
// ending, nor for the next bubble or others to find: no idle goroutine goes
// from one to another.
func TestFiberInBubble(t *testing.T) {
	use := func(t *testing.T, d time.Duration, exact bool) {
		t.Helper()
		for range 2 {
			cancelled := coroutine.New(sleeper)
			cancelled.Resume(d)
			testenv.NoError(t, cancelled.Cancel())
			coroutine.New(sleeper).Cancel() // which never began
			f := coroutine.New(sleeper)
			if slept, err := f.Resume(d); err != nil || slept < d || exact && slept != d {
				t.Errorf("it slept %v of %v, %v", slept, d, err)
			}
			f.Resume(0) // its goroutine is kept, outside bubbles
		}
	}
	for range 2 {
		use(t, time.Microsecond, false)
		synctest.Test(t, func(t *testing.T) { use(t, time.Hour, true) })
	}
	use(t, time.Microsecond, false)
}

// TestWaiterInBubble: a wait takes a waiter of the bubble's own, which is not
// kept for others.
func TestWaiterInBubble(t *testing.T) {
	coroutine.AcquireWaiter().Release()
	var inside *coroutine.Waiter
	synctest.Test(t, func(t *testing.T) {
		inside = coroutine.AcquireWaiter()
		testenv.True(t, inside.InBubble(), "it is not the bubble's")
		go inside.Wake()
		testenv.Equal(t, inside.Park(coroutine.ReasonUser), coroutine.WakeReady)
		inside.Release()
	})
	for range 100 {
		w := coroutine.AcquireWaiter()
		if w == inside || w.InBubble() {
			t.Fatal("one of a bubble's was kept")
		}
		defer w.Release()
	}
}
