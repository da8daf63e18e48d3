package channel

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

const sendOnClosed = "netco/channel: send on closed channel"

// Send sends v: it waits until a receiver takes v or the buffer has space. It
// panics if the channel is closed, also if that happens during the wait. A
// coroutine parks, a goroutine blocks; on a nil channel for ever. At a forced
// shutdown it does not return.
func (c *Chan[T]) Send(v T) {
	if c != nil && c.owner.Load() != shared && c.sendOwned(v) {
		return
	}
	mustSend(c.send(v, coroutine.Limit{}))
}

// TrySend sends v if it need not wait, and reports whether it sent v. It does
// not park.
func (c *Chan[T]) TrySend(v T) bool {
	if c == nil {
		return false
	}
	ok, done := c.trySend(v)
	if done && !ok {
		panic(sendOnClosed)
	}
	return done
}

// SendTimeout is Send for at most d. It returns nil if it has sent v, else
// ErrClosed, os.ErrDeadlineExceeded or netco's ErrShutdown.
func (c *Chan[T]) SendTimeout(v T, d time.Duration) error {
	if c != nil {
		if ok, done := c.trySend(v); done {
			return closedError(ok)
		}
	}
	return c.send(v, coroutine.Timeout(d))
}

// SendContext is Send until ctx is done. It returns nil if it has sent v, else
// ErrClosed, the context's error or netco's ErrShutdown. It allocates when it
// waits.
func (c *Chan[T]) SendContext(ctx context.Context, v T) error {
	return c.send(v, coroutine.Context(ctx))
}

// send is Send within limit.
func (c *Chan[T]) send(v T, limit coroutine.Limit) error {
	if c == nil {
		return block(limit)
	}
	if ok, done := c.trySend(v); done {
		return closedError(ok)
	}
	if why := limit.Expired(); why != coroutine.WakeReady {
		return limit.Err(why)
	}
	return c.sendSlow(v, limit)
}

// trySend sends v if it need not wait.
func (c *Chan[T]) trySend(v T) (ok, done bool) {
	c.lock()
	ok, done = c.trySendLocked(v)
	c.guard.Unlock()
	return ok, done
}

// trySendLocked gives v to a waiting receiver, which it claims, or adds v to
// the buffer. ok is false if the channel is closed; done is false if it is not
// and v would have to wait.
func (c *Chan[T]) trySendLocked(v T) (ok, done bool) {
	if c.closed {
		return false, true
	}
	if s := c.recvq.claimFront(); s != nil {
		s.value, s.ok = v, true
		return true, true
	}
	if c.count < len(c.buf) {
		c.pushLocked(v)
		return true, true
	}
	return true, false
}

// sendSlow tries to send under the guard, and waits if it cannot.
func (c *Chan[T]) sendSlow(v T, limit coroutine.Limit) error {
	s := c.newWaiter(true, limit)
	c.lock()
	if ok, done := c.trySendLocked(v); done {
		c.discardLocked(s)
		return closedError(ok)
	}
	s.value = v
	c.queueLocked(s)
	c.guard.Unlock()
	return c.sent(s, c.await(s, limit), limit)
}

// sent finishes the wait of s, which ended with why.
func (c *Chan[T]) sent(s *waiter[T], why coroutine.Wake, limit coroutine.Limit) error {
	_, ok := c.finish(s)
	if why != coroutine.WakeReady {
		return limit.Err(why)
	}
	return closedError(ok)
}

// sendFrom continues a Send that has parked in s; the park ended with why.
func (c *Chan[T]) sendFrom(why coroutine.Wake, s *waiter[T]) {
	mustSend(c.sent(s, c.awaitFrom(why, s), coroutine.Limit{}))
}

// mustSend handles the error of a Send, which returns none.
func mustSend(err error) {
	switch err {
	case ErrClosed:
		panic(sendOnClosed)
	case coroutine.ErrShutdown:
		waitq.Unwind()
	}
}
