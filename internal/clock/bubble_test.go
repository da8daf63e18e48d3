package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

// TestInBubble: a bubble is known as one whatever its clock says, and a
// goroutine outside never.
func TestInBubble(t *testing.T) {
	check := func(want bool) {
		t.Helper()
		if got := clock.InBubble(); got != want {
			t.Errorf("in a bubble: %v, want %v", got, want)
		}
	}
	check(false)
	synctest.Test(t, func(t *testing.T) {
		check(true)
		inner := make(chan struct{})
		go func() {
			defer close(inner)
			check(true)
		}()
		<-inner
		time.Sleep(40 * 365 * 24 * time.Hour) // beyond the process's own beginning
		check(true)
	})
	check(false)
}

// TestClockInBubble: in a bubble Now and Until are the bubble's clock, and Real
// is the kernel's.
func TestClockInBubble(t *testing.T) {
	before := clock.Now()
	synctest.Test(t, func(t *testing.T) {
		began := clock.Now()
		until := clock.Until(time.Now().Add(time.Hour))
		time.Sleep(time.Hour)
		if now := clock.Now(); now-began != int64(time.Hour) || now != until {
			t.Errorf("an hour is %v; it was to end %v from its end", time.Duration(now-began),
				time.Duration(until-now))
		}
		if late := clock.Of(time.Now()) - clock.Now(); late != 0 {
			t.Errorf("Of(time.Now()) is %v from Now", time.Duration(late))
		}
		if real := clock.Real(); real < before || real > before+int64(time.Minute) {
			t.Errorf("Real is %v from the time before the bubble", time.Duration(real-before))
		}
	})
	if real, now := clock.Real(), clock.Now(); real > now || now-real > int64(time.Minute) {
		t.Errorf("outside, Real is %d and Now is %d", real, now)
	}
}
