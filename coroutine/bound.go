package coroutine

import (
	"context"
	"os"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

// Bound is how long a wait may take. The zero Bound is no bound.
type Bound struct {
	deadline int64           // CLOCK_MONOTONIC, ns; 0 for none
	ctx      context.Context // nil for none
}

// Within bounds a wait to d from now. With d <= 0 it is over before it begins: what can be had without a wait is had, else
// the wait ends with WakeTimeout. A d of centuries is for ever.
func Within(d time.Duration) Bound {
	now := clock.Now()
	deadline := now + int64(max(d, 0))
	if deadline < now {
		return Bound{}
	}
	return Bound{deadline: deadline}
}

// During bounds a wait to the life of ctx. It allocates when the wait parks.
func During(ctx context.Context) Bound { return Bound{ctx: ctx} }

// Sooner returns b that also ends at deadline (CLOCK_MONOTONIC, ns), with WakeTimeout.
func (b Bound) Sooner(deadline int64) Bound {
	if b.deadline == 0 || deadline < b.deadline {
		b.deadline = deadline
	}
	return b
}

// Over returns how a wait that began now would end, WakeTimeout or WakeCancelled; WakeReady if it may begin.
func (b Bound) Over() Wake {
	switch {
	case b.ctx != nil && b.ctx.Err() != nil:
		return WakeCancelled
	case b.deadline != 0 && clock.Now() >= b.deadline:
		return WakeTimeout
	}
	return WakeReady
}

// Err returns the error for a wait under b that ended with why: nil, os.ErrDeadlineExceeded, the context's, or ErrShutdown.
func (b Bound) Err(why Wake) error {
	switch why {
	case WakeTimeout:
		return os.ErrDeadlineExceeded
	case WakeCancelled:
		return b.ctx.Err()
	case WakeShutdown:
		return ErrShutdown
	}
	return nil
}

// ParkBound is Park for no longer than b allows.
func (w *Waiter) ParkBound(reason Reason, b Bound) Wake {
	switch {
	case b.ctx != nil:
		return w.parkDuring(reason, b)
	case b.deadline != 0:
		return w.ParkUntil(reason, b.deadline)
	}
	return w.Park(reason)
}

func (w *Waiter) parkDuring(reason Reason, b Bound) Wake {
	if w.co == nil {
		return w.blockDuring(b)
	}
	co, ticket := w.co, w.co.ticket
	stop := context.AfterFunc(b.ctx, func() { co.Ready(ticket, WakeCancelled) }) // late, it finds another ticket
	defer Rejoin()                                                               // the context may be a user's, and stop its function
	defer stop()
	if b.deadline != 0 {
		return w.ParkUntil(reason, b.deadline)
	}
	return co.Park(reason)
}

// blockDuring is parkDuring for an ordinary goroutine.
func (w *Waiter) blockDuring(b Bound) Wake {
	s := w.sema()
	if b.deadline != 0 {
		s.arm(b.deadline)
	}
	wake := WakeCancelled
	select {
	case wake = <-s.c:
	case <-b.ctx.Done():
	}
	if b.deadline != 0 && wake != WakeTimeout {
		s.disarm()
	}
	return wake
}
