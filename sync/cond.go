package sync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Cond is a condition variable, as the standard's. It must not be copied after
// first use.
//
//	c.L.Lock()
//	for !condition() {
//		c.Wait()
//	}
//	... // the condition holds, and L is locked
//	c.L.Unlock()
//
// Waiters are woken in the order of arrival. A waiter is taken out of the queue
// by one Signal or it gives up, never both, so no Signal is lost to a waiter
// that gives up.
//
// L should be a lock that parks: a [Mutex], or an [RWMutex] or its RLocker.
// L.Unlock must not park, and L.Lock must return with L locked in a coroutine
// that has called [coroutine.Shield].
type Cond struct {
	// L is held while the condition is read or changed.
	L Locker

	hasWaiters atomic.Bool // atomic, written under guard: the queue is not empty
	guard      waitq.Guard
	queue      waitq.Queue // under guard
}

// NewCond returns a Cond with the given L.
func NewCond(l Locker) *Cond { return &Cond{L: l} }

// Wait unlocks L, waits for a Signal or Broadcast, and locks L again. A
// coroutine parks, a goroutine blocks. At a forced shutdown it locks L and then
// ends the coroutine ([coroutine.Unwind]), so that deferred calls find L as
// they expect it. It does not allocate.
func (c *Cond) Wait() {
	if c.wait(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// WaitTimeout is Wait for at most d, not counting the wait for L. It returns
// nil after a Signal or Broadcast, else os.ErrDeadlineExceeded, or
// netco.ErrShutdown at a forced shutdown. L is locked in any case; with d <= 0
// WaitTimeout does not unlock it.
func (c *Cond) WaitTimeout(d time.Duration) error {
	return within(coroutine.Timeout(d), c.wait)
}

// WaitContext is Wait until ctx is done. It returns nil after a Signal or
// Broadcast, else ctx.Err(), or netco.ErrShutdown at a forced shutdown. L is
// locked in any case; if ctx is done already, WaitContext does not unlock it.
// It allocates.
func (c *Cond) WaitContext(ctx context.Context) error {
	return within(coroutine.Context(ctx), c.wait)
}

// Signal wakes the waiter that has waited longest, if there is one. The caller
// may hold L but need not. It does not park.
func (c *Cond) Signal() {
	if !c.hasWaiters.Load() {
		return
	}
	c.guard.Lock()
	if w := c.queue.Front(); w != nil {
		c.guard.Take(&c.queue, w)
	}
	c.hasWaiters.Store(!c.queue.Empty())
	c.guard.Unlock()
}

// Broadcast wakes all waiters. The caller may hold L but need not. It does not
// park.
func (c *Cond) Broadcast() {
	if !c.hasWaiters.Load() {
		return
	}
	c.guard.Lock()
	c.guard.TakeAll(&c.queue)
	c.hasWaiters.Store(false)
	c.guard.Unlock()
}

// wait is Wait within limit. It returns with L locked.
func (c *Cond) wait(limit coroutine.Limit) coroutine.Wake {
	w := waitq.Acquire(limit)
	c.guard.Lock()
	c.queue.Push(w, waitq.AnyKind)
	c.hasWaiters.Store(true)
	c.guard.Unlock()
	c.unlock(w)
	why := waitq.Wait(w, coroutine.ReasonCond, limit, &c.guard, c.leaveLocked)
	waitq.Release(w)
	if why == coroutine.WakeReady { // two branches, which tests distinguish by their call stacks
		c.relock()
		return coroutine.WakeReady
	}
	c.relock()
	return why
}

// unlock unlocks L. If L.Unlock panics, unlock takes w out of the queue and
// passes on a Signal that w has got.
func (c *Cond) unlock(w *coroutine.Waiter) {
	done := false
	defer func() {
		if done {
			return
		}
		why := waitq.Wait(w, coroutine.ReasonCond, coroutine.Timeout(0), &c.guard, c.leaveLocked)
		waitq.Release(w)
		if why == coroutine.WakeReady {
			c.Signal()
		}
	}()
	c.L.Unlock()
	done = true
}

// leaveLocked implements waitq.Leave.
func (c *Cond) leaveLocked(w *coroutine.Waiter) {
	c.queue.Remove(w)
	c.hasWaiters.Store(!c.queue.Empty())
}

// relock locks L in any case, because deferred calls unlock it. During a forced
// shutdown L.Lock would end the coroutine instead of waiting, so relock shields
// the wait; the holder of L unlocks it sooner or later.
func (c *Cond) relock() {
	if l, ok := c.L.(interface{ TryLock() bool }); !ok || !l.TryLock() {
		waitq.Shield(c.L.Lock)
	}
}
