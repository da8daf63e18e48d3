package channel

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// isWaiting reports whether nobody has claimed w. Without the guard a true may be over at once; a false stays.
func isWaiting(w *coroutine.Waiter) bool {
	waitq.Step(waitq.OpTag)
	return atomic.LoadUintptr(&w.Tag) == waiting
}

// await parks until s, which is in q, has been claimed (WakeReady) or b is over (the other wakes). Then it is in no queue and no
// waker touches it.
func (c *Chan[T]) await(s *slot[T], q *queue[T], b coroutine.Bound) coroutine.Wake {
	return c.awaitWoken(s, q, b, waitq.Park(s.w, coroutine.ReasonChannel, b))
}

// awaitWoken is await after a park, which ended with why.
func (c *Chan[T]) awaitWoken(s *slot[T], q *queue[T], b coroutine.Bound, why coroutine.Wake) coroutine.Wake {
	w := s.w
	for ; ; why = waitq.Park(w, coroutine.ReasonChannel, b) {
		if isWaiting(w) && c.goOn(s, q, why) {
			if why == coroutine.WakeReady {
				continue
			}
			return why
		}
		if why != coroutine.WakeReady {
			waitq.Drain(w)
		}
		awaitLoose(w)
		return coroutine.WakeReady
	}
}

// goOn deals with a park that ended before s was claimed: early, then it readies w for another; or for good, then it takes s out.
// It reports false if s has been claimed meanwhile.
func (c *Chan[T]) goOn(s *slot[T], q *queue[T], why coroutine.Wake) bool {
	c.lock()
	defer c.unlock()
	if !isWaiting(s.w) {
		return false
	}
	if why == coroutine.WakeReady {
		waitq.Prepare(s.w) // under the guard: who claims s from now on means the next park
	} else {
		q.remove(s)
		s.w.Tag = 0
	}
	return true
}

// awaitLoose waits until the waker has done with w, which is a matter of instructions.
func awaitLoose(w *coroutine.Waiter) {
	for i := 0; ; i++ {
		waitq.Step(waitq.OpLooseLook)
		if atomic.LoadUintptr(&w.Tag) == loose {
			return
		}
		waitq.Relax(i)
	}
}

// forever parks the caller until b is over, or for ever: an operation on a nil channel.
func forever(b coroutine.Bound) error {
	if why := b.Over(); why != coroutine.WakeReady {
		return b.Err(why)
	}
	w := waitq.Acquire()
	for {
		why := waitq.Park(w, coroutine.ReasonChannel, b)
		if why != coroutine.WakeReady {
			waitq.Release(w)
			return b.Err(why)
		}
		waitq.Prepare(w)
	}
}

// queue has s wait in q. Under the guard.
func (c *Chan[T]) queue(q *queue[T], s *slot[T]) {
	s.w.Tag = waiting
	q.push(s)
}

// newSlot returns a slot with the caller's waiter in it. Without the guard.
func (c *Chan[T]) newSlot() *slot[T] {
	w := waitq.Acquire()
	c.lock()
	s := c.spare()
	c.unlock()
	if s == nil {
		s = &slot[T]{c: c}
	}
	s.w = w
	return s
}

// drop gives back a slot that was not needed, and unlocks.
func (c *Chan[T]) drop(s *slot[T]) {
	w := s.w
	c.giveBack(s)
	c.unlock()
	waitq.Release(w)
}

// finish gives back the slot after await, and returns what is in it.
func (c *Chan[T]) finish(s *slot[T]) (v T, ok bool) {
	w := s.w
	v, ok = s.value, s.ok
	c.lock()
	c.giveBack(s)
	c.unlock()
	waitq.Release(w)
	return v, ok
}
