// Package clock reads CLOCK_MONOTONIC, the timerfd's clock, through the vDSO
// and Go's own monotonic time, in about 25 ns and without a system call.
package clock

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	_ "github.com/netco-go/netco/asm" // ends a build for other platforms
)

var epoch, base = start()

// start pairs a Go time with a CLOCK_MONOTONIC reading. The kernel's clock is
// read second, so that Now runs ahead of the kernel by the few nanoseconds
// between the two and never behind: when a timerfd fires for a deadline, Now
// has reached that deadline. All timers are late by as much as Now is ahead, so
// start is the closest of several pairs: the thread may have been preempted in
// the middle of one.
func start() (epoch time.Time, base int64) {
	closest := time.Duration(1<<63 - 1)
	for range 5 {
		before := time.Now()
		now := kernelNow()
		if apart := time.Since(before); apart < closest {
			epoch, base, closest = before, now, apart
		}
	}
	return epoch, base
}

var kernelNow = func() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("netco/clock: CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}

// Now returns CLOCK_MONOTONIC in nanoseconds. In a bubble of testing/synctest
// it is the bubble's clock instead, which stands still while anything there
// runs: about -8e17, since bubbles begin in the year 2000, and only to be
// compared with other times of that bubble.
func Now() int64 { return base + int64(time.Since(epoch)) }

// InBubble reports whether the caller is in a bubble of testing/synctest. It
// takes two readings of the clock.
//
// It relies on package time: in a bubble, and nowhere else on Linux, time.Now
// has no monotonic reading.
func InBubble() bool {
	t := time.Now()
	return t == t.Round(0)
}

// Real returns CLOCK_MONOTONIC in nanoseconds, in a bubble too: for times that
// are passed to the kernel.
func Real() int64 {
	if now := Now(); now > 0 {
		return now
	}
	return kernelNow()
}

// Of converts a time.Time that has a monotonic reading, as time.Now gives it.
func Of(t time.Time) int64 { return base + int64(t.Sub(epoch)) }

// After returns the time d from now by Real, or the largest time if that would
// overflow. A negative d is 0.
func After(d time.Duration) int64 { return sum(Real(), max(d, 0)) }

// Deadline converts t to CLOCK_MONOTONIC, in a bubble too. The result is exact
// if t has a monotonic reading: the deadline has passed when time.Now is past
// t. Otherwise Deadline reads two clocks, and the result is late by any pause
// between the two readings.
func Deadline(t time.Time) int64 {
	if t == t.Round(0) {
		return After(time.Until(t))
	}
	return sum(base, t.Sub(epoch))
}

func sum(at int64, d time.Duration) int64 {
	if d > 0 && at+int64(d) < at { // centuries ahead
		return math.MaxInt64
	}
	return at + int64(d)
}
