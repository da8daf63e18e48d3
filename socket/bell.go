package socket

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// bell is where callers wait for a condition that others bring about. These
// change what the condition depends on, then ring; any number of rings from any
// thread, none of which is lost. The zero value is ready for use.
type bell struct {
	guard waitq.Guard
	queue waitq.Queue // under guard
}

// ring wakes the waiters, to check their condition again. It does not park.
func (b *bell) ring() {
	b.guard.Lock()
	b.guard.TakeAll(&b.queue)
	b.guard.Unlock()
}

// wait parks the caller until ready, which must not park, returns true, or
// until (ns of clock.Now; 0 is never) has passed. The error is ErrShutdown,
// at a forced shutdown.
func (b *bell) wait(reason coroutine.Reason, until int64, ready func() bool) error {
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
func (b *bell) waitOnce(reason coroutine.Reason, limit coroutine.Limit,
	ready func() bool) coroutine.Wake {
	w := waitq.Acquire(limit)
	defer waitq.Release(w)
	b.guard.Lock()
	b.queue.Push(w, waitq.AnyKind)
	b.guard.Unlock()
	if ready() {
		return waitq.WaitFrom(coroutine.WakeTimeout, w, reason, limit, &b.guard, b.leaveLocked)
	}
	return waitq.Wait(w, reason, limit, &b.guard, b.leaveLocked)
}

func (b *bell) leaveLocked(w *coroutine.Waiter) { b.queue.Remove(w) }
