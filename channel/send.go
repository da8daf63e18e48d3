package channel

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

const sendOnClosed = "netco/channel: send on closed channel"

// Send sends v: it waits until a receiver has taken it or the buffer has room. It panics if the channel is closed, also while it
// waits. Parks a coroutine, blocks a goroutine; on a nil channel for ever. When the scheduler ends by force it does not return.
func (c *Chan[T]) Send(v T) {
	if c != nil && c.owner.Load() != shared && c.sendOwned(v) {
		return
	}
	mustSend(c.send(v, coroutine.Bound{}, false))
}

// TrySend is Send that does not wait: it reports whether v was sent. Never parks.
func (c *Chan[T]) TrySend(v T) bool {
	if c == nil {
		return false
	}
	sent, closed := c.trySend(v)
	if closed {
		panic(sendOnClosed)
	}
	return sent
}

// SendTimeout is Send for no longer than d. It returns nil when v has been sent; else v has not been, and it returns ErrClosed,
// os.ErrDeadlineExceeded or netco's ErrShutdown.
func (c *Chan[T]) SendTimeout(v T, d time.Duration) error {
	if c != nil {
		if sent, closed := c.trySend(v); sent {
			return nil
		} else if closed {
			return ErrClosed
		}
	}
	return c.send(v, coroutine.Within(d), true)
}

// SendContext is Send for no longer than ctx lives. It returns nil when v has been sent; else v has not been, and it returns ErrClosed,
// the context's error or netco's ErrShutdown. It allocates when it waits.
func (c *Chan[T]) SendContext(ctx context.Context, v T) error {
	return c.send(v, coroutine.During(ctx), true)
}

// send is Send within b. A bounded one looks whether b is over only when it would have to wait.
func (c *Chan[T]) send(v T, b coroutine.Bound, bounded bool) error {
	if c == nil {
		return forever(b)
	}
	if sent, closed := c.trySend(v); sent {
		return nil
	} else if closed {
		return ErrClosed
	}
	if bounded {
		if why := b.Over(); why != coroutine.WakeReady {
			return b.Err(why)
		}
	}
	return c.sendSlow(v, b)
}

// trySend sends v if that needs no wait.
func (c *Chan[T]) trySend(v T) (sent, closed bool) {
	c.lock()
	if c.closed {
		c.unlock()
		return false, true
	}
	to, sent := c.offer(v)
	c.unlock()
	if to != nil {
		wake(to)
	}
	return sent, false
}

// offer gives v to a waiting receiver, who is to be woken, or to the buffer. Under the guard; the channel is open.
func (c *Chan[T]) offer(v T) (to *coroutine.Waiter, sent bool) {
	if s := c.recvq.take(); s != nil {
		s.value, s.ok = v, true
		return s.w, true
	}
	if c.count < len(c.buf) {
		c.push(v)
		return nil, true
	}
	return nil, false
}

// sendSlow looks once more, and waits.
func (c *Chan[T]) sendSlow(v T, b coroutine.Bound) error {
	s := c.newSlot()
	c.lock()
	if c.closed {
		c.drop(s)
		return ErrClosed
	}
	if to, sent := c.offer(v); sent {
		c.drop(s)
		if to != nil {
			wake(to)
		}
		return nil
	}
	s.value = v
	c.queue(&c.sendq, s)
	c.unlock()
	return c.sent(s, c.await(s, &c.sendq, b), b)
}

// sent finishes the wait of s, which ended with why.
func (c *Chan[T]) sent(s *slot[T], why coroutine.Wake, b coroutine.Bound) error {
	_, ok := c.finish(s)
	if why != coroutine.WakeReady {
		return b.Err(why)
	}
	return errOfClosed(ok)
}

// sendWoken is what follows the park of a Send, which ended with why.
func (c *Chan[T]) sendWoken(s *slot[T], why coroutine.Wake) {
	mustSend(c.sent(s, c.awaitWoken(s, &c.sendq, coroutine.Bound{}, why), coroutine.Bound{}))
}

// mustSend is what Send does about an error.
func mustSend(err error) {
	switch err {
	case ErrClosed:
		panic(sendOnClosed)
	case coroutine.ErrShutdown:
		waitq.Unwind()
	}
}
