package channel

import (
	"math"
	"os"
	"slices"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// Timed is a channel on which time sends. It is the base of netco.Timer and
// netco.Ticker, which users should use. Init makes one. It must not be copied.
//
// It buffers nothing: a receiver makes a value if it is due. So a stopped or
// reset Timed leaves no value behind, and one without receivers is in no list
// of timers and needs no Stop. A waiter waits until the next value is due at
// most; setting an earlier time wakes all waiters to look again.
type Timed struct {
	c Chan[time.Time]
	t ticks[time.Time]
}

// ticks is time as a sender. All fields are under the channel's guard.
//
//	when    meaning                   next
//	0       no value will be due      a time, by set
//	a time  a value is due then, in   0, by set, or when the value is taken;
//	        CLOCK_MONOTONIC ns        another time, by set, or with a period
//	                                  when the value is taken: the first that
//	                                  is not past, so that a late receiver
//	                                  misses some
type ticks[T any] struct {
	when   int64
	period int64                              // 0 for one value only
	value  func(when int64) (v T, late int64) // constant: the value due at when, and its delay
}

// due reports whether a value is due.
func (t *ticks[T]) due() bool { return t.when != 0 && clock.Now() >= t.when }

// take takes a value if one is due.
func (t *ticks[T]) take() (v T, ok bool) {
	if !t.due() {
		return v, false
	}
	v, late := t.value(t.when)
	if t.period == 0 {
		t.when = 0
	} else {
		t.when = sum(t.when, late-late%t.period+t.period)
	}
	return v, true
}

// sum returns a+b, or the largest time if that overflows. Neither is negative,
// but for an overflow in b.
func sum(a, b int64) int64 {
	if b < 0 || a+b < a {
		return math.MaxInt64
	}
	return a + b
}

// Init makes x a channel that sends the time once, after d; or with a period,
// which then equals d, again and again.
func (x *Timed) Init(d, period time.Duration) {
	x.c.owner.Store(shared)
	x.t.when, x.t.period, x.t.value = sum(clock.Now(), int64(max(d, 0))), int64(period), timeOf
	x.c.tick = &x.t
}

// timeOf returns when, which is past, as a time.Time, and how long ago it was.
// It reads the clock once, so that the two agree.
func timeOf(when int64) (t time.Time, late int64) {
	now := time.Now()
	late = clock.Of(now) - when
	return now.Add(-time.Duration(late)), late
}

// Chan returns the channel.
func (x *Timed) Chan() *Chan[time.Time] { return &x.c }

// Stop cancels all further values, and reports whether there was to be one:
// then a value that was due has not been received. Any thread. It does not
// park.
func (x *Timed) Stop() bool { return x.set(0, 0) }

// Reset cancels all further values and sends one after d. It reports whether
// there was to be one. Any thread. It does not park.
func (x *Timed) Reset(d time.Duration) bool { return x.set(sum(clock.Now(), int64(max(d, 0))), 0) }

// Repeat is Reset with a period, which must be positive.
func (x *Timed) Repeat(period time.Duration) {
	x.set(sum(clock.Now(), int64(period)), int64(period))
}

// set sets the next time and the period. Waiters whose bound is now too late
// wake to look again.
func (x *Timed) set(when, period int64) (pending bool) {
	c, t := &x.c, &x.t
	c.lock()
	was := t.when
	t.when, t.period = when, period
	if when != 0 && (was == 0 || when < was) {
		c.claimAllLocked(&c.recvq)
	}
	c.unlock()
	return was != 0
}

// recvTimed is recvSlow if time sends. It waits again if the wait has ended
// because a value may be due, or as if by Close but with the channel open,
// which is how set wakes.
func (c *Chan[T]) recvTimed(limit coroutine.Limit) (v T, err error) {
	over := coroutine.WakeReady // the caller has checked limit
	for {
		s := c.newWaiter(false, limit)
		c.lock()
		if v, ok, done := c.tryRecvLocked(); done {
			c.discardLocked(s)
			return v, closedError(ok)
		}
		if over != coroutine.WakeReady {
			c.discardLocked(s)
			return v, limit.Err(over)
		}
		c.queueLocked(s)
		until := sooner(limit, c.tick.when)
		c.unlock()
		why := c.await(s, until)
		v, ok := c.finish(s)
		switch {
		case why == coroutine.WakeReady && (ok || c.isClosed()):
			return v, closedError(ok)
		case why == coroutine.WakeCancelled || why == coroutine.WakeShutdown:
			return v, limit.Err(why)
		}
		over = limit.Expired() // not under the guard: a context may be a user's, and wait
	}
}

func (c *Chan[T]) isClosed() bool {
	c.lock()
	defer c.unlock()
	return c.closed
}

// nextTickLocked returns when time sends next; 0 for never.
func (c *Chan[T]) nextTickLocked() int64 {
	if c.tick == nil {
		return 0
	}
	return c.tick.when
}

// untilTick returns limit, or the next time at which time sends on a channel of
// cases, if that is earlier. The channels are locked.
func untilTick(cases []Case, limit coroutine.Limit) coroutine.Limit {
	for i := range cases {
		if cases[i].timed {
			limit = sooner(limit, cases[i].on.nextTickLocked())
		}
	}
	return limit
}

// sooner returns limit, or when if that is earlier; 0 and the largest time are
// never.
func sooner(limit coroutine.Limit, when int64) coroutine.Limit {
	if when == 0 || when == math.MaxInt64 {
		return limit
	}
	return limit.Earlier(when)
}

// mayRetry reports whether a Select with this result may have ended as a
// recvTimed that waits again.
func mayRetry(cases []Case, index int, err error) bool {
	if index >= 0 {
		return cases[index].timed && !cases[index].on.isClosed()
	}
	return err == os.ErrDeadlineExceeded &&
		slices.ContainsFunc(cases, func(c Case) bool { return c.timed })
}
