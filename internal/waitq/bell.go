package waitq

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// Bell lets callers wait for a condition that other threads bring about: a
// thread makes the condition true, then rings. Any thread may ring any number
// of times, and no ring is lost. The zero value is ready for use.
type Bell struct {
	guard Guard
	queue Queue // under guard
}

// Ring wakes the waiters, to check their condition again. It does not park.
func (b *Bell) Ring() {
	b.guard.Lock()
	b.guard.TakeAll(&b.queue)
	b.guard.Unlock()
}

// Wait parks the caller until ready returns true, or until the time until (ns
// of clock.Now; 0 is never) has passed. ready must not park. The error is
// ErrShutdown, at a forced shutdown.
func (b *Bell) Wait(reason coroutine.Reason, until int64, ready func() bool) error {
	var limit coroutine.Limit
	if until != 0 {
		limit = limit.Earlier(until)
	}
	for !ready() && (until == 0 || clock.Now() < until) {
		if b.waitOnce(reason, limit, ready) == coroutine.WakeShutdown {
			return coroutine.ErrShutdown
		}
	}
	return nil
}

// waitOnce parks until the next ring, unless ready returns true once a ring
// could find the caller.
func (b *Bell) waitOnce(reason coroutine.Reason, limit coroutine.Limit,
	ready func() bool) coroutine.Wake {
	w := Acquire(limit)
	defer Release(w)
	b.guard.Lock()
	b.queue.Push(w, AnyKind)
	b.guard.Unlock()
	if ready() {
		return WaitFrom(coroutine.WakeTimeout, w, reason, limit, &b.guard, b.leaveLocked)
	}
	return Wait(w, reason, limit, &b.guard, b.leaveLocked)
}

func (b *Bell) leaveLocked(w *coroutine.Waiter) { b.queue.Remove(w) }
