package channel

import (
	"context"
	"iter"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Recv waits for a value. If the channel is closed and empty, ok is false and v
// the zero value. A coroutine parks, a goroutine blocks; on a nil channel for
// ever. At a forced shutdown it does not return.
func (c *Chan[T]) Recv() (v T, ok bool) {
	if c != nil && c.owner.Load() != shared && c.tick == nil {
		if v, ok, done := c.recvOwned(); done {
			return v, ok
		}
	}
	v, err := c.recv(coroutine.Limit{})
	return v, mustRecv(err)
}

// TryRecv receives if it need not wait. done reports whether it received a
// value, with ok true, or the end of a closed channel, with ok false. It does
// not park.
func (c *Chan[T]) TryRecv() (v T, ok, done bool) {
	if c == nil {
		return v, false, false
	}
	return c.tryRecv()
}

// RecvTimeout is Recv for at most d. It returns ErrClosed at the end of a
// closed channel, os.ErrDeadlineExceeded, or netco's ErrShutdown; with an error
// it has received nothing.
func (c *Chan[T]) RecvTimeout(d time.Duration) (T, error) {
	if c != nil {
		if v, ok, done := c.tryRecv(); done {
			return v, closedError(ok)
		}
	}
	return c.recv(coroutine.Timeout(d))
}

// RecvContext is Recv until ctx is done. It returns ErrClosed at the end of a
// closed channel, the context's error, or netco's ErrShutdown; with an error it
// has received nothing. It allocates when it waits.
func (c *Chan[T]) RecvContext(ctx context.Context) (T, error) {
	return c.recv(coroutine.Context(ctx))
}

// All returns an iterator that receives values until the channel is closed and
// empty. The iterator waits as Recv does.
func (c *Chan[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, ok := c.Recv()
			if !ok || !yield(v) {
				return
			}
		}
	}
}

// recv is Recv within limit.
func (c *Chan[T]) recv(limit coroutine.Limit) (v T, err error) {
	if c == nil {
		return v, block(limit)
	}
	if v, ok, done := c.tryRecv(); done {
		return v, closedError(ok)
	}
	if why := limit.Expired(); why != coroutine.WakeReady {
		return v, limit.Err(why)
	}
	if c.tick != nil {
		return c.recvTimed(limit)
	}
	return c.recvSlow(limit)
}

// tryRecv receives if it need not wait.
func (c *Chan[T]) tryRecv() (v T, ok, done bool) {
	c.lock()
	v, ok, done = c.tryRecvLocked()
	c.guard.Unlock()
	return v, ok, done
}

// tryRecvLocked takes the oldest value, from the buffer or from a waiting
// sender, which it claims. If the buffer was full, the value of a waiting
// sender goes into the buffer. done is false if there is nothing to receive,
// and the channel is not closed.
func (c *Chan[T]) tryRecvLocked() (v T, ok, done bool) {
	if c.tick != nil {
		if v, ok := c.tick.Take(); ok {
			return v, true, true
		}
	}
	if c.count > 0 {
		v = c.popLocked()
		if s := c.sendq.claimFront(); s != nil {
			c.pushLocked(s.value)
			s.ok = true
		}
		return v, true, true
	}
	if s := c.sendq.claimFront(); s != nil {
		s.ok = true
		return s.value, true, true
	}
	return v, false, c.closed
}

// recvSlow tries to receive under the guard, and waits if it cannot.
func (c *Chan[T]) recvSlow(limit coroutine.Limit) (v T, err error) {
	s := c.newWaiter(false, limit)
	c.lock()
	if v, ok, done := c.tryRecvLocked(); done {
		c.discardLocked(s)
		return v, closedError(ok)
	}
	c.queueLocked(s)
	c.guard.Unlock()
	return c.received(s, c.await(s, limit), limit)
}

// received finishes the wait of s, which ended with why.
func (c *Chan[T]) received(s *waiter[T], why coroutine.Wake,
	limit coroutine.Limit) (v T, err error) {
	v, ok := c.finish(s)
	if why != coroutine.WakeReady {
		return v, limit.Err(why)
	}
	return v, closedError(ok)
}

// recvFrom continues a Recv that has parked in s; the park ended with why.
func (c *Chan[T]) recvFrom(why coroutine.Wake, s *waiter[T]) (T, bool) {
	v, err := c.received(s, c.awaitFrom(why, s), coroutine.Limit{})
	return v, mustRecv(err)
}

// mustRecv handles the error of a Recv, which returns none.
func mustRecv(err error) (ok bool) {
	if err == coroutine.ErrShutdown {
		waitq.Unwind()
	}
	return err == nil
}

func closedError(ok bool) error {
	if ok {
		return nil
	}
	return ErrClosed
}
