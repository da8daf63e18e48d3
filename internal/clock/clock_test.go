package clock

import (
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func kernel(t *testing.T) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// TestNowIsTheKernelsClock: never behind it, and hardly ahead; a timerfd that has fired is due by Now.
func TestNowIsTheKernelsClock(t *testing.T) {
	last := Now()
	for range 10_000 {
		before := kernel(t)
		now := Now()
		after := kernel(t)
		if now < before {
			t.Fatalf("%d ns behind the kernel", before-now)
		}
		if now > after+int64(time.Millisecond) {
			t.Fatalf("%d ns ahead of the kernel", now-after)
		}
		if now < last {
			t.Fatalf("went back by %d ns", last-now)
		}
		last = now
	}
}

func TestUntil(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, -1, 0, 1, time.Second, 1000 * time.Hour} {
		for name, at := range map[string]time.Time{"monotonic": time.Now().Add(d), "wall": time.Now().Add(d).Round(0)} {
			want := Now() + int64(d)
			if got := Until(at); got < want-int64(100*time.Millisecond) || got > want+int64(100*time.Millisecond) {
				t.Errorf("%s, %v ahead: off by %v", name, d, time.Duration(got-want))
			}
		}
	}
	if got := Until(time.Unix(1<<40, 0)); got != math.MaxInt64 {
		t.Errorf("in 30,000 years: %d", got)
	}
	if got := Until(time.Time{}); got > Now() {
		t.Errorf("the zero time is %v ahead", time.Duration(got-Now()))
	}
}

func TestOf(t *testing.T) {
	for range 1000 {
		before := Now()
		got := Of(time.Now())
		if after := Now(); got < before || got > after {
			t.Fatalf("%d, want %d to %d", got, before, after)
		}
	}
}
