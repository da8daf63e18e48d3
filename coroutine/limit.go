package coroutine

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/invariant"
)

// Limit is how long a wait may take. The zero Limit is no limit.
type Limit struct {
	deadline int64           // CLOCK_MONOTONIC, ns; 0 for none
	ctx      context.Context // nil for none
}

// Timeout limits a wait to d from now. With d <= 0 it has expired before the
// wait begins: an operation that need not wait succeeds, any other ends with
// WakeTimeout. A d of centuries means no limit.
func Timeout(d time.Duration) Limit {
	now := clock.Now()
	deadline := now + int64(max(d, 0))
	if deadline < now {
		return Limit{}
	}
	return Limit{deadline: deadline}
}

// Context limits a wait to the end of ctx. It allocates when the wait parks,
// unless ctx never ends.
// The methods of ctx may be a user's, and wait: see AcquireFor.
func Context(ctx context.Context) Limit { return Limit{ctx: ctx} }

// Earlier returns a limit that also expires at deadline (CLOCK_MONOTONIC, ns),
// with WakeTimeout.
func (l Limit) Earlier(deadline int64) Limit {
	if l.deadline == 0 || deadline < l.deadline {
		l.deadline = deadline
	}
	return l
}

// Expired returns WakeTimeout or WakeCancelled if the limit has expired, and
// WakeReady if a wait may begin.
func (l Limit) Expired() Wake {
	if invariant.Enabled {
		l.mayCall()
	}
	switch {
	case l.ctx != nil && l.ctx.Err() != nil:
		return WakeCancelled
	case l.deadline != 0 && clock.Now() >= l.deadline:
		return WakeTimeout
	}
	return WakeReady
}

// Err returns the error for a limited wait that ended with why: nil,
// os.ErrDeadlineExceeded, the context's error, or ErrShutdown.
func (l Limit) Err(why Wake) error {
	switch why {
	case WakeTimeout:
		return os.ErrDeadlineExceeded
	case WakeCancelled:
		if invariant.Enabled {
			l.mayCall()
		}
		return l.ctx.Err()
	case WakeShutdown:
		return ErrShutdown
	}
	return nil
}

// mayCall is called before the context's methods, which may be a user's and may
// wait.
func (l Limit) mayCall() {
	if l.ctx != nil {
		holdsNothing("calls a context")
	}
}

// ParkLimit is Park for no longer than the limit allows. Precondition: w is
// from AcquireFor with that limit's context.
func (w *Waiter) ParkLimit(reason Reason, limit Limit) Wake {
	switch {
	case limit.ctx != nil:
		return w.parkContext(reason, limit)
	case limit.deadline != 0:
		return w.ParkUntil(reason, limit.deadline)
	}
	return w.Park(reason)
}

// AcquireFor is AcquireWaiter for waits within limit. It and Release call
// methods of the limit's context, which may be a user's and may use the
// caller's Waiter. They do so while no queue holds the Waiter.
func AcquireFor(limit Limit) *Waiter {
	if limit.ctx == nil {
		return AcquireWaiter()
	}
	co := Current()
	if co == nil {
		return AcquireWaiter()
	}
	if on := co.w.Own(); on.watch != nil { // a context's Err has called the caller
		on.endWatch()
	}
	if invariant.Enabled {
		limit.mayCall()
	}
	if limit.ctx.Done() == nil { // it never ends
		return AcquireWaiter()
	}
	watch := &contextWatch{co: co}
	watch.stop = context.AfterFunc(limit.ctx, watch.end)
	w := AcquireWaiter()
	co.w.Own().watch = watch
	return w
}

// contextWatch ends a coroutine's parks when a context ends.
type contextWatch struct {
	co     *Coroutine
	ticket atomic.Uint64 // of the latest park, plus 1; the coroutine writes
	over   atomic.Bool   // the context has ended
	stop   func() bool
}

// end is called when the context ends, on a goroutine. Either end finds the
// ticket of a park, or the park finds over.
func (c *contextWatch) end() {
	c.over.Store(true)
	if ticket := c.ticket.Load(); ticket != 0 {
		c.co.MakeReady(ticket-1, WakeCancelled) // a late call finds another ticket
	}
}

// begin makes the watch end its coroutine's next park; it returns true if the
// context has ended and the coroutine must not park. Owner only.
//
//go:norace
func (c *contextWatch) begin() (over bool) {
	co := c.co
	c.ticket.Store(co.ticket + 1)
	if !c.over.Load() || co.woken {
		return false
	}
	co.ticket++ // end may be about to use it
	return true
}

// endWatch stops the watch that AcquireFor began.
func (w *worker) endWatch() {
	watch := w.watch
	w.watch = nil
	watch.stop()
	Rejoin() // the context may be a user's, whose stop blocks
}

func (w *Waiter) parkContext(reason Reason, limit Limit) Wake {
	if w.co == nil {
		return w.blockContext(limit)
	}
	if watch := w.co.w.Own().watch; watch != nil {
		if watch.begin() {
			return WakeCancelled
		}
		reason |= orContext
	}
	return w.ParkLimit(reason, Limit{deadline: limit.deadline})
}

// blockContext is parkContext for an ordinary goroutine.
func (w *Waiter) blockContext(limit Limit) Wake {
	s := w.sema()
	if limit.deadline != 0 {
		s.arm(limit.deadline)
	}
	wake := WakeCancelled
	select {
	case wake = <-s.c:
	case <-limit.ctx.Done():
	}
	if limit.deadline != 0 && wake != WakeTimeout {
		s.disarm()
	}
	return wake
}
