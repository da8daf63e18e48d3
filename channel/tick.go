package channel

import (
	"math"
	"os"
	"slices"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// Timed is a channel on which time sends: what netco.Timer and netco.Ticker are made of, which are what to use. Init makes one. Not to be
// copied.
//
// Nothing is ever buffered in it. A value comes into being when a receiver looks and its time has come, so what has been stopped or
// set anew leaves nothing behind, and one that nobody looks at is in no list of timers and needs no Stop. Who waits in it waits until
// the next value is due at the longest; who sets an earlier time sends all of them back to look again.
type Timed struct {
	c Chan[time.Time]
	t ticks[time.Time]
}

// ticks is time as a sender. All of it: under the channel's guard.
//
//	when    means                    becomes
//	0       nothing will be sent     a time, by set
//	a time  a value is due then, in  0, by set or when the value is taken; another time, by set, or when the value is taken and
//	        ns of CLOCK_MONOTONIC    there is a period: the next that is not over, so that a receiver who is late misses some
type ticks[T any] struct {
	when   int64
	period int64                              // 0: one value only
	value  func(when int64) (v T, late int64) // constant: makes the value that was due then, and tells how long ago that was
}

// due reports whether there is a value.
func (t *ticks[T]) due() bool { return t.when != 0 && clock.Now() >= t.when }

// take takes a value, if one is due.
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

// sum is a+b, or what never comes. Neither is negative.
func sum(a, b int64) int64 {
	if b < 0 || a+b < a {
		return math.MaxInt64
	}
	return a + b
}

// Init makes x a channel that gives the time once, after d; with a period, which is then the same as d, for ever again.
func (x *Timed) Init(d, period time.Duration) {
	x.c.owner.Store(shared)
	x.t.when, x.t.period, x.t.value = sum(clock.Now(), int64(max(d, 0))), int64(period), timeOf
	x.c.tick = &x.t
}

// timeOf returns when, a time that has passed, as a time.Time, and how long ago it was. It reads the clock once, so that the two agree.
func timeOf(when int64) (t time.Time, late int64) {
	now := time.Now()
	late = clock.Of(now) - when
	return now.Add(-time.Duration(late)), late
}

// Chan returns the channel.
func (x *Timed) Chan() *Chan[time.Time] { return &x.c }

// Stop keeps it from giving any value from now on, and reports whether it was to: then a value that was due has not been received. Any
// thread. Does not park.
func (x *Timed) Stop() bool { return x.set(0, 0) }

// Reset makes it give one value, after d, and nothing of what it was to give before; it reports whether it was to give any. Any thread.
// Does not park.
func (x *Timed) Reset(d time.Duration) bool { return x.set(sum(clock.Now(), int64(max(d, 0))), 0) }

// Repeat is Reset with a period, which must be positive.
func (x *Timed) Repeat(period time.Duration) { x.set(sum(clock.Now(), int64(period)), int64(period)) }

// set does the work. Whoever waits for a time that is now too late looks again.
func (x *Timed) set(when, period int64) (pending bool) {
	c, t := &x.c, &x.t
	var b batch
	c.lock()
	was := t.when
	t.when, t.period = when, period
	if when != 0 && (was == 0 || when < was) {
		for s := c.recvq.take(); s != nil; s = c.recvq.take() {
			s.ok = false
			b.add(s.w)
		}
	}
	c.unlock()
	b.wake()
	return was != 0
}

// recvTimed is recvSlow where time sends. A wait that ends because a value may be due, or as that of a closed channel does although this
// one is open, which is what set does, begins anew.
func (c *Chan[T]) recvTimed(b coroutine.Bound) (v T, err error) {
	for again := false; ; again = true {
		s := c.newSlot()
		c.lock()
		if v, from, ok, done := c.accept(); done {
			c.drop(s)
			if from != nil {
				wake(from)
			}
			return v, errOfClosed(ok)
		}
		if again {
			if why := b.Over(); why != coroutine.WakeReady {
				c.drop(s)
				return v, b.Err(why)
			}
		}
		c.queue(&c.recvq, s)
		until := bound(b, c.tick.when)
		c.unlock()
		why := c.await(s, &c.recvq, until)
		v, ok := c.finish(s)
		switch {
		case why == coroutine.WakeReady && (ok || c.over()):
			return v, errOfClosed(ok)
		case why == coroutine.WakeCancelled || why == coroutine.WakeShutdown:
			return v, b.Err(why)
		}
	}
}

// over reports whether the channel is closed.
func (c *Chan[T]) over() bool {
	c.lock()
	defer c.unlock()
	return c.closed
}

// nextLocked returns when time sends next; 0 for never.
func (c *Chan[T]) nextLocked() int64 {
	if c.tick == nil {
		return 0
	}
	return c.tick.when
}

// soonest is b that also ends when time sends next on one of the cases' channels. Under their guards.
func soonest(cases []Case, b coroutine.Bound) coroutine.Bound {
	for i := range cases {
		if cases[i].timed {
			b = bound(b, cases[i].on.nextLocked())
		}
	}
	return b
}

// bound is b that also ends at when, unless that is never.
func bound(b coroutine.Bound, when int64) coroutine.Bound {
	if when == 0 || when == math.MaxInt64 {
		return b
	}
	return b.Sooner(when)
}

// ticked reports whether a Select that ended so may have to begin anew: as in recvTimed.
func ticked(cases []Case, index int, err error) bool {
	if index >= 0 {
		return cases[index].timed && !cases[index].on.over()
	}
	return err == os.ErrDeadlineExceeded && slices.ContainsFunc(cases, func(c Case) bool { return c.timed })
}
