package channel

import (
	"context"
	"iter"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Recv waits for a value. ok is false, and v the zero value, if the channel is closed and nothing is left in it. Parks a coroutine,
// blocks a goroutine; on a nil channel for ever. When the scheduler ends by force it does not return.
func (c *Chan[T]) Recv() (v T, ok bool) {
	if c != nil && c.owner.Load() != shared && c.tick == nil {
		if v, ok, done := c.recvOwned(); done {
			return v, ok
		}
	}
	v, err := c.recv(coroutine.Bound{}, false)
	return v, mustRecv(err)
}

// TryRecv is Recv that does not wait. done reports whether there was anything to receive: a value, then ok is true, or the end of a
// closed channel, then ok is false. Never parks.
func (c *Chan[T]) TryRecv() (v T, ok, done bool) {
	if c == nil {
		return v, false, false
	}
	return c.tryRecv()
}

// RecvTimeout is Recv for no longer than d. It returns ErrClosed for the end of a closed channel, os.ErrDeadlineExceeded, or netco's
// ErrShutdown; then it has taken nothing.
func (c *Chan[T]) RecvTimeout(d time.Duration) (T, error) {
	if c != nil {
		if v, ok, done := c.tryRecv(); done {
			return v, errOfClosed(ok)
		}
	}
	return c.recv(coroutine.Within(d), true)
}

// RecvContext is Recv for no longer than ctx lives. It returns ErrClosed for the end of a closed channel, the context's error, or netco's
// ErrShutdown; then it has taken nothing. It allocates when it waits.
func (c *Chan[T]) RecvContext(ctx context.Context) (T, error) {
	return c.recv(coroutine.During(ctx), true)
}

// All returns an iterator over what is received until the channel is closed and empty. Parks as Recv does.
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

// recv is Recv within b. A bounded one looks whether b is over only when it would have to wait.
func (c *Chan[T]) recv(b coroutine.Bound, bounded bool) (v T, err error) {
	if c == nil {
		return v, forever(b)
	}
	if v, ok, done := c.tryRecv(); done {
		return v, errOfClosed(ok)
	}
	if bounded {
		if why := b.Over(); why != coroutine.WakeReady {
			return v, b.Err(why)
		}
	}
	if c.tick != nil {
		return c.recvTimed(b)
	}
	return c.recvSlow(b)
}

// tryRecv receives if that needs no wait.
func (c *Chan[T]) tryRecv() (v T, ok, done bool) {
	c.lock()
	v, from, ok, done := c.accept()
	c.unlock()
	if from != nil {
		wake(from)
	}
	return v, ok, done
}

// accept takes the oldest value, from the buffer or from a waiting sender, who is to be woken. A waiting sender's value goes into
// the room that is made. done is false if there is nothing to receive, not even the end. Under the guard.
func (c *Chan[T]) accept() (v T, from *coroutine.Waiter, ok, done bool) {
	if c.tick != nil {
		if v, ok := c.tick.take(); ok {
			return v, nil, true, true
		}
	}
	if c.count > 0 {
		v = c.pop()
		if s := c.sendq.take(); s != nil {
			c.push(s.value)
			s.ok = true
			from = s.w
		}
		return v, from, true, true
	}
	if s := c.sendq.take(); s != nil {
		s.ok = true
		return s.value, s.w, true, true
	}
	return v, nil, false, c.closed
}

// recvSlow looks once more, and waits.
func (c *Chan[T]) recvSlow(b coroutine.Bound) (v T, err error) {
	s := c.newSlot()
	c.lock()
	if v, from, ok, done := c.accept(); done {
		c.drop(s)
		if from != nil {
			wake(from)
		}
		return v, errOfClosed(ok)
	}
	c.queue(&c.recvq, s)
	c.unlock()
	return c.received(s, c.await(s, &c.recvq, b), b)
}

// received finishes the wait of s, which ended with why.
func (c *Chan[T]) received(s *slot[T], why coroutine.Wake, b coroutine.Bound) (v T, err error) {
	v, ok := c.finish(s)
	if why != coroutine.WakeReady {
		return v, b.Err(why)
	}
	return v, errOfClosed(ok)
}

// recvWoken is what follows the park of a Recv, which ended with why.
func (c *Chan[T]) recvWoken(s *slot[T], why coroutine.Wake) (T, bool) {
	v, err := c.received(s, c.awaitWoken(s, &c.recvq, coroutine.Bound{}, why), coroutine.Bound{})
	return v, mustRecv(err)
}

// mustRecv is what Recv does about an error.
func mustRecv(err error) (ok bool) {
	if err == coroutine.ErrShutdown {
		waitq.Unwind()
	}
	return err == nil
}

func errOfClosed(ok bool) error {
	if ok {
		return nil
	}
	return ErrClosed
}
