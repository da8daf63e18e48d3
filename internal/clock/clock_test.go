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

// TestNowIsTheKernelsClock: never behind it, and hardly ahead; a timerfd that
// has fired is due by Now.
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

// TestStartedLate: a thread that stands still while the two clocks are read
// does not put Now ahead.
func TestStartedLate(t *testing.T) {
	real := kernelNow
	defer func() { kernelNow = real }()
	for late := range 5 {
		reads := 0
		kernelNow = func() int64 {
			if reads++; reads == 1+late {
				time.Sleep(time.Millisecond)
			}
			return real()
		}
		epoch, base := start()
		if ahead := base + int64(time.Since(epoch)) - real(); ahead > int64(500*time.Microsecond) {
			t.Errorf("late at reading %d of %d: %d ns ahead", late, reads, ahead)
		}
	}
}

// TestDeadline: one with a monotonic reading is exact, also one that has
// passed; one without is as far off as the wall clock says.
func TestDeadline(t *testing.T) {
	const slack = int64(100 * time.Millisecond) // the wall clock may be set right meanwhile
	for _, d := range []time.Duration{-time.Hour, -1, 0, 1, time.Second, 1000 * time.Hour} {
		at := time.Now().Add(d)
		if got := Deadline(at); got != Of(at) {
			t.Errorf("%v ahead: %v from Of", d, time.Duration(got-Of(at)))
		}
		before := Now()
		got, after := Deadline(time.Now().Add(d).Round(0)), Now()
		if d = max(d, 0); got < before+int64(d)-slack || got > after+int64(d)+slack {
			t.Errorf("wall clock, %v ahead: %v too early or %v too late", d,
				time.Duration(before+int64(d)-got), time.Duration(got-after-int64(d)))
		}
	}
	for _, at := range []time.Time{time.Unix(1<<40, 0), time.Now().Add(1<<63 - 1)} {
		if got := Deadline(at); got != math.MaxInt64 {
			t.Errorf("%v: %d", at, got)
		}
	}
	if got := Deadline(time.Time{}); got > Now() {
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
