package cosync

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Cond is a condition variable: a place where those wait who have found, under L, that a condition does not hold, and where those
// wake them who have changed it. It must not be copied after first use.
//
//	c.L.Lock()
//	for !condition() {
//		c.Wait()
//	}
//	... // it holds, and L is locked
//	c.L.Unlock()
//
// They are woken in the order in which they came. A waiter is taken out of the queue by a Signal or gives up by itself, never
// both: so no Signal is lost to one that gives up.
//
// In a coroutine a contended L should park, not block: a [Mutex], or an rwmutex.RWMutex or its RLocker. Its Unlock must not park.
type Cond struct {
	// L is held while the condition is looked at or changed.
	L sync.Locker

	some  atomic.Bool // atomic, written under guard: the queue is not empty
	guard waitq.Guard
	queue waitq.Queue // under guard
}

// NewCond returns a Cond with the given L.
func NewCond(l sync.Locker) *Cond { return &Cond{L: l} }

// Wait unlocks L, waits for a Signal or Broadcast, and locks L again. A coroutine parks, a goroutine blocks. When the scheduler ends
// by force it locks L and ends the coroutine ([coroutine.Unwind]), so that deferred calls find L as they expect it. It does not allocate.
func (c *Cond) Wait() {
	if c.wait(coroutine.Bound{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// WaitTimeout is Wait for no longer than d, not counting the time for which L is held by others. It returns nil if it was signalled;
// else os.ErrDeadlineExceeded, or coroutine.ErrShutdown when the scheduler ends by force. L is locked in any case; with d <= 0 it
// was not unlocked.
func (c *Cond) WaitTimeout(d time.Duration) error {
	if d <= 0 {
		return os.ErrDeadlineExceeded
	}
	b := coroutine.Within(d)
	return b.Err(c.wait(b))
}

// WaitContext is Wait for no longer than ctx lives. It returns nil if it was signalled; else ctx.Err(), or coroutine.ErrShutdown when
// the scheduler ends by force. L is locked in any case; if ctx was over at once it was not unlocked. It allocates.
func (c *Cond) WaitContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := coroutine.During(ctx)
	return b.Err(c.wait(b))
}

// Signal wakes the one that has waited longest, if any. The caller may hold L but need not. Does not park.
func (c *Cond) Signal() {
	if !c.some.Load() {
		return
	}
	var b waitq.Batch
	c.guard.Lock()
	if w := c.queue.Front(); w != nil {
		b.Take(&c.queue, w)
	}
	c.some.Store(!c.queue.Empty())
	c.guard.Unlock()
	b.Wake()
}

// Broadcast wakes all that wait. The caller may hold L but need not. Does not park.
func (c *Cond) Broadcast() {
	if !c.some.Load() {
		return
	}
	var b waitq.Batch
	c.guard.Lock()
	b.TakeAll(&c.queue)
	c.some.Store(false)
	c.guard.Unlock()
	b.Wake()
}
