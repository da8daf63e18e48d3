package gen

import (
	"fmt"
	"time"

	"github.com/netco-go/netco/internal/clock"
)

// What a connection does otherwise with HTTP/2. Requests in flight may be
// answered in any order; an entry that is, and has older ones in front of it,
// stays in inFlight as one of holes. inFlight and h2Codec.streams go together,
// and the first of them is never a hole.

// live is the number of requests in flight.
func (c *conn) live() int { return c.inFlight.count - c.holes }

// settle takes the request out that the codec has an answer to.
func (c *conn) settle() entry {
	e := *c.inFlight.at(c.h2.answered)
	c.leave(c.h2.answered)
	c.trim()
	return e
}

// leave makes the i-th entry a hole.
func (c *conn) leave(i int) {
	c.h2.streams.at(i).done = true
	c.holes++
}

func (c *conn) trim() {
	h := c.h2
	for h.streams.count > 0 && h.streams.first().done {
		c.inFlight.pop()
		h.streams.pop()
		h.base += 2
		c.holes--
	}
}

// pop takes out the oldest request.
func (c *conn) pop() entry {
	e := *c.inFlight.first()
	if c.h2 == nil {
		c.inFlight.pop()
		return e
	}
	c.leave(0)
	c.trim()
	return e
}

// unseen reports whether the server has said that it will not answer the oldest
// request. Of one that has answered nothing at all that is not accepted: it
// would be asked for ever.
func (c *conn) unseen() bool {
	return c.h2 != nil && c.h2.goAway && c.h2.base > c.h2.lastID && c.answers > 0
}

// compact is for the end of the connection: what is left of inFlight is to be
// sent again.
func (c *conn) compact() {
	for range c.inFlight.count {
		if e := c.inFlight.pop(); !c.h2.streams.pop().done {
			c.inFlight.push(e)
		}
	}
	c.holes = 0
}

// afterFrames does what frames ask for.
func (c *conn) afterFrames() error {
	h := c.h2
	h.sendBodies()
	c.limitStreams()
	if err := c.flush(); err != nil {
		return err
	}
	if !h.goAway {
		return nil
	}
	c.allowed = 0
	if c.live() > 0 && h.base <= h.lastID {
		return nil // the server still answers those
	}
	if c.answers == 0 {
		return fmt.Errorf("%w: GOAWAY with %v", errClosed, h.goCode)
	}
	return errLast
}

// limitStreams keeps to what the server allows, and to one stream if it allows
// none: it may then refuse that.
func (c *conn) limitStreams() {
	c.pipeline = max(1, min(c.w.g.cfg.Pipeline, c.h2.maxStreams))
}

// flush writes what the codec has queued. Where that may fill the socket's
// buffers a coroutine does, so that answers are read meanwhile.
func (c *conn) flush() error {
	h := c.h2
	for !c.writing && len(h.out.b) > 0 {
		if len(h.out.b) > maxTogether {
			c.writing = c.w.fork(c.flushAll)
			break
		}
		if err := c.writeOut(h.takeQueued()); err != nil {
			return err
		}
		h.sendBodies()
	}
	return c.writeErr
}

func (c *conn) flushAll() {
	defer func() { c.writing = false }()
	for h := c.h2; len(h.out.b) > 0; h.sendBodies() {
		if c.writeErr = c.writeOut(h.takeQueued()); c.writeErr != nil {
			_ = c.d.raw.SetReadDeadline(time.Unix(1, 0)) // wakes the reader, if it is not closed
			return
		}
	}
}

// cancelExpired cancels the requests that have timed out. The others go on: the
// server has answered since.
func (c *conn) cancelExpired() error {
	now := clock.Now()
	for i := range c.inFlight.count {
		e := *c.inFlight.at(i)
		if now-e.sent <= int64(c.w.g.cfg.Timeout) {
			break
		}
		if !c.h2.streams.at(i).done {
			c.w.failed(e, now, c.w.g.errTimeout)
			c.h2.cancel(i)
			c.leave(i)
		}
	}
	c.trim()
	c.expired, c.armed = false, false
	if err := c.d.raw.SetDeadline(time.Time{}); err != nil {
		return err
	}
	return c.flush()
}
