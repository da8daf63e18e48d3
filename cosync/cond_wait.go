package cosync

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// wait is all kinds of Wait. It returns with L locked.
func (c *Cond) wait(b coroutine.Bound) coroutine.Wake {
	w := waitq.Acquire()
	c.guard.Lock()
	c.queue.Push(w, kind)
	c.some.Store(true)
	c.guard.Unlock()
	c.unlock(w)
	why := waitq.Wait(w, coroutine.ReasonCond, b, &c.guard, c)
	waitq.Release(w)
	if why == coroutine.WakeReady { // two branches, so that a test can tell where it stands
		c.relock()
		return coroutine.WakeReady
	}
	c.relock()
	return why
}

// unlock unlocks L. If that panics w does not stay behind in the queue, nor a Signal that was for it.
func (c *Cond) unlock(w *coroutine.Waiter) {
	done := false
	defer func() {
		if done {
			return
		}
		why := waitq.Wait(w, coroutine.ReasonCond, coroutine.Within(0), &c.guard, c)
		waitq.Release(w)
		if why == coroutine.WakeReady {
			c.Signal()
		}
	}()
	c.L.Unlock()
	done = true
}

// Leave implements waitq.Place.
func (c *Cond) Leave(w *coroutine.Waiter, _ *waitq.Batch) {
	c.queue.Remove(w)
	c.some.Store(!c.queue.Empty())
}
