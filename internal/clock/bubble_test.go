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

// TestClockInBubble: in a bubble Now is the bubble's clock, and Real and
// Deadline are the kernel's.
func TestClockInBubble(t *testing.T) {
	before := clock.Now()
	synctest.Test(t, func(t *testing.T) {
		began := clock.Now()
		left := clock.Deadline(time.Now().Add(time.Hour)) - before
		if left < int64(time.Hour) || left > int64(time.Hour+time.Minute) {
			t.Errorf("an hour from now is %v from the time before the bubble", time.Duration(left))
		}
		time.Sleep(time.Hour)
		if now := clock.Now(); now-began != int64(time.Hour) {
			t.Errorf("an hour is %v", time.Duration(now-began))
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
