package coroutine

import (
	"context"
	"os"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

// Limit is how long a wait may take. The zero Limit is no limit.
type Limit struct {
	deadline int64           // CLOCK_MONOTONIC, ns; 0 for none
	ctx      context.Context // nil for none
}

// Timeout limits a wait to d from now. With d <= 0 it has expired before the
// wait begins: an operation that need not wait succeeds, others end with
// WakeTimeout. A d of centuries is for ever.
func Timeout(d time.Duration) Limit {
	now := clock.Now()
	deadline := now + int64(max(d, 0))
	if deadline < now {
		return Limit{}
	}
	return Limit{deadline: deadline}
}

// Context limits a wait to the end of ctx. It allocates when the wait parks.
func Context(ctx context.Context) Limit { return Limit{ctx: ctx} }

// Earlier returns the limit that also expires at deadline (CLOCK_MONOTONIC,
// ns), with WakeTimeout.
func (limit Limit) Earlier(deadline int64) Limit {
	if limit.deadline == 0 || deadline < limit.deadline {
		limit.deadline = deadline
	}
	return limit
}

// Expired returns how a wait that began now would end, WakeTimeout or
// WakeCancelled; WakeReady if it may begin.
func (limit Limit) Expired() Wake {
	switch {
	case limit.ctx != nil && limit.ctx.Err() != nil:
		return WakeCancelled
	case limit.deadline != 0 && clock.Now() >= limit.deadline:
		return WakeTimeout
	}
	return WakeReady
}

// Err returns the error for a limited wait that ended with why: nil,
// os.ErrDeadlineExceeded, the context's, or ErrShutdown.
func (limit Limit) Err(why Wake) error {
	switch why {
	case WakeTimeout:
		return os.ErrDeadlineExceeded
	case WakeCancelled:
		return limit.ctx.Err()
	case WakeShutdown:
		return ErrShutdown
	}
	return nil
}

// ParkLimit is Park for no longer than the limit allows.
func (w *Waiter) ParkLimit(reason Reason, limit Limit) Wake {
	switch {
	case limit.ctx != nil:
		return w.parkContext(reason, limit)
	case limit.deadline != 0:
		return w.ParkUntil(reason, limit.deadline)
	}
	return w.Park(reason)
}

func (w *Waiter) parkContext(reason Reason, limit Limit) Wake {
	if w.co == nil {
		return w.blockContext(limit)
	}
	co, ticket := w.co, w.co.ticket
	stop := context.AfterFunc(limit.ctx, func() {
		co.Ready(ticket, WakeCancelled) // a late call finds another ticket
	})
	defer Rejoin() // the context may be a user's, whose stop blocks
	defer stop()
	if limit.deadline != 0 {
		return w.ParkUntil(reason|orContext, limit.deadline)
	}
	return co.Park(reason | orContext)
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
