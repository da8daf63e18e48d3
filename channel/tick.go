package channel

import (
	"math"
	"os"
	"slices"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ticking"
)

func init() {
	ticking.Attach = func(channel any, t *ticking.Ticks[time.Time]) {
		c := channel.(*Chan[time.Time])
		c.owner.Store(shared)
		c.tick = t
	}
	ticking.Set = func(channel any, when, period int64) (pending bool) {
		return channel.(*Chan[time.Time]).setTick(when, period)
	}
}

// setTick sets the next time and the period at which time sends. It wakes the
// waiters that would wait for too long, to check again.
func (c *Chan[T]) setTick(when, period int64) (pending bool) {
	c.lock()
	was := c.tick.When
	c.tick.When, c.tick.Period = when, period
	if when != 0 && (was == 0 || when < was) {
		c.claimAllLocked(&c.recvq)
	}
	c.guard.Unlock()
	return was != 0
}

// recvTimed is recvSlow for a channel on which time sends. It waits again after
// a wait that ended because a value may be due, and after a wait that ended as
// by Close although it is not closed: setTick wakes waiters so.
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
		until := sooner(limit, c.tick.When)
		c.guard.Unlock()
		why := c.await(s, until)
		v, ok := c.finish(s)
		switch {
		case why == coroutine.WakeReady && (ok || c.isClosed()):
			return v, closedError(ok)
		case why == coroutine.WakeCancelled || why == coroutine.WakeShutdown:
			return v, limit.Err(why)
		}
		over = limit.Expired() // not under the guard: a user's context may wait
	}
}

func (c *Chan[T]) isClosed() bool {
	c.lock()
	defer c.guard.Unlock()
	return c.closed
}

// nextTickLocked returns when time sends next; 0 for never.
func (c *Chan[T]) nextTickLocked() int64 {
	if c.tick == nil {
		return 0
	}
	return c.tick.When
}

// untilTick returns the earlier of limit and the next time at which time sends
// on a channel of cases. The channels are locked.
func untilTick(cases []Case, limit coroutine.Limit) coroutine.Limit {
	for i := range cases {
		if cases[i].timed {
			limit = sooner(limit, cases[i].on.nextTickLocked())
		}
	}
	return limit
}

// sooner returns the earlier of limit and when; a when of 0 or of the largest
// time means never.
func sooner(limit coroutine.Limit, when int64) coroutine.Limit {
	if when == 0 || when == math.MaxInt64 {
		return limit
	}
	return limit.Earlier(when)
}

// mayRetry reports whether a Select with this result may have ended although no
// case was ready, and has to wait again as recvTimed does.
func mayRetry(cases []Case, index int, err error) bool {
	if index >= 0 {
		return cases[index].timed && !cases[index].on.isClosed()
	}
	return err == os.ErrDeadlineExceeded &&
		slices.ContainsFunc(cases, func(c Case) bool { return c.timed })
}
