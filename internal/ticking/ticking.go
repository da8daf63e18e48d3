// Package ticking has channels on which time sends, for package netco's timers.
// It knows no channel: package channel has them, and fills in Attach and Set.
package ticking

import (
	"math"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

// Functions of package channel. Channels are *channel.Chan[time.Time].
var (
	// Attach makes time send on a channel that is not in use yet.
	Attach func(channel any, t *Ticks[time.Time])
	// Set sets When and Period of a channel's Ticks. It reports whether a value
	// was pending. Waiters that would wait for too long check again.
	Set func(channel any, when, period int64) (pending bool)
)

// Timed is a channel C on which time sends. Init makes one. It must not be
// copied.
//
// It buffers nothing: a receiver makes a value if it is due. So a stopped or
// reset Timed leaves no value behind, and a Timed without receivers is in no
// list of timers and needs no Stop. A waiter waits until the next value is due
// at most; setting an earlier time wakes all waiters to check again.
type Timed[C any] struct {
	c C
	t Ticks[time.Time]
}

// Init makes ti a channel that sends the time once, after d; or with a period,
// which then equals d, again and again.
func (ti *Timed[C]) Init(d, period time.Duration) {
	ti.t = Ticks[time.Time]{after(d), int64(period), timeOf}
	Attach(&ti.c, &ti.t)
}

// Chan returns the channel.
func (ti *Timed[C]) Chan() *C { return &ti.c }

// Stop cancels all further values, and reports whether one was pending. A value
// that is due and not received is pending. Any thread. It does not park.
func (ti *Timed[C]) Stop() bool { return Set(&ti.c, 0, 0) }

// Reset cancels all further values and sends one after d. It reports whether
// one was pending. Any thread. It does not park.
func (ti *Timed[C]) Reset(d time.Duration) bool { return Set(&ti.c, after(d), 0) }

// Repeat is Reset with a period, which must be positive.
func (ti *Timed[C]) Repeat(period time.Duration) { Set(&ti.c, after(period), int64(period)) }

// after returns the time that is d from now.
func after(d time.Duration) int64 { return sum(clock.Now(), int64(max(d, 0))) }

// timeOf returns when, which is past, as a time.Time, and how long ago it was.
// It reads the clock once, so that the two agree.
func timeOf(when int64) (t time.Time, late int64) {
	now := time.Now()
	late = clock.Of(now) - when
	return now.Add(-time.Duration(late)), late
}

// Ticks is time as a sender. All fields are under the channel's guard.
//
//	When    meaning                   next
//	0       no value will be due      a time, by Set
//	a time  a value is due then, in   0, by Set, or when the value is taken;
//	        CLOCK_MONOTONIC ns        another time, by Set, or with a period
//	                                  when the value is taken: the first that
//	                                  is not past, so that a late receiver
//	                                  misses some
type Ticks[T any] struct {
	When   int64
	Period int64                              // 0 for one value only
	value  func(when int64) (v T, late int64) // constant: the value due at when, and its delay
}

// Due reports whether a value is due.
func (t *Ticks[T]) Due() bool { return t.When != 0 && clock.Now() >= t.When }

// Take takes a value if one is due.
func (t *Ticks[T]) Take() (v T, ok bool) {
	if !t.Due() {
		return v, false
	}
	v, late := t.value(t.When)
	if t.Period == 0 {
		t.When = 0
	} else {
		t.When = sum(t.When, late-late%t.Period+t.Period)
	}
	return v, true
}

// sum returns a+b, or the largest time if that overflows. A negative b is an
// overflow, too.
func sum(a, b int64) int64 {
	if b < 0 || a+b < a {
		return math.MaxInt64
	}
	return a + b
}
