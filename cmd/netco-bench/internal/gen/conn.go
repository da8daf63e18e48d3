package gen

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// none stands for no intended time.
const none = -1

// entry is a request in flight. In a closed loop both times are the same.
type entry struct {
	intended, sent int64
}

// conn is one connection, or several one after the other. Its coroutine owns
// it, together with its writer and the worker's sweep.
type conn struct {
	w        *worker
	plan     *plan
	codec    codec
	ws       *wsCodec // codec, if it is that
	pipeline int      // Config.Pipeline
	big      bool     // plan.big
	udp      bool
	d        *dialed // nil between two connections
	inFlight ring[entry]
	pending  []byte // of an answer, to be parsed again with more behind it
	buf      []byte // nil: it borrows one
	large    bool   // the last read has filled buf, or would have
	readAt   int64  // when bytes were last taken
	next     int64  // the intended time this connection has taken, or none
	allowed  int    // requests until Config.Churn is reached
	answers  uint64 // on this connection
	failures int    // connections in a row without an answer
	armed    bool   // the read deadline is set, to next
	expired  bool   // sweep has set the deadlines
	down     bool   // counted in worker.down

	// Only if what goes out at once may fill the socket's buffers.
	queued   int // requests for the writer
	writing  bool
	writeErr error
}

// errDone ends a connection's coroutine, errLast its current connection.
var (
	errDone = errors.New("nothing more to send")
	errLast = errors.New("the last request of the connection")
)

// run is the connection's coroutine.
func (c *conn) run() {
	for {
		err := c.resume()
		for err == nil {
			err = c.step()
		}
		if errors.Is(err, errDone) {
			if c.w.g.cfg.After == nil {
				c.close()
			}
			return
		}
		c.fail(err)
	}
}

// resume connects if need be, and sends again what the server has not seen.
func (c *conn) resume() error {
	if c.d != nil {
		return nil
	}
	if err := c.reconnect(); err != nil {
		return err
	}
	n := c.inFlight.count
	if n == 0 {
		return nil
	}
	now := clock.Now()
	for range n {
		e := c.inFlight.pop()
		if e.sent = now; c.w.schedule == nil {
			e.intended = now
		}
		c.inFlight.push(e)
	}
	c.allowed -= n
	return c.send(n)
}

// dial opens the connection and accounts for it.
func (c *conn) dial() error {
	d, err := c.plan.dial()
	if err != nil {
		return err
	}
	c.w.connect.Record(d.connect)
	if d.tls > 0 {
		c.w.tls.Record(d.tls)
	}
	c.d, c.answers, c.armed, c.expired, c.readAt = d, 0, false, false, 0
	c.allowed = c.w.g.cfg.Churn
	if c.allowed == 0 {
		c.allowed = int(^uint(0) >> 1)
	}
	c.pending = c.pending[:0]
	c.codec.reset()
	return nil
}

// The pauses between attempts to connect.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// reconnect dials until it succeeds, with growing pauses, or until there is
// nothing to send.
func (c *conn) reconnect() error {
	for {
		if c.failures > 0 {
			processor.Sleep(min(firstPause<<min(c.failures-1, 10), maxPause))
		}
		if c.over(clock.Now()) {
			return errDone
		}
		err := c.dial()
		if err == nil {
			c.w.setDown(&c.down, false)
			return nil
		}
		c.failures++
		c.w.setDown(&c.down, true)
		now := clock.Now()
		c.w.failed(entry{now, now}, now, err)
	}
}

// over reports whether a connection that has no socket needs none any more. If
// the time for it is over its requests have failed.
func (c *conn) over(now int64) bool {
	w := c.w
	if w.stopping && c.inFlight.count == 0 && c.next == none || w.quota == 0 &&
		c.inFlight.count == 0 && c.next == none {
		return true
	}
	if now < w.windowEnd {
		return false
	}
	if w.schedule != nil {
		late := !w.stopping && w.quota > 0 // requests may be due that none has taken
		if now-w.windowEnd <= int64(w.g.cfg.Timeout) &&
			(late || c.inFlight.count > 0 || c.next != none) {
			return false
		}
		_, _ = w.nextTime(now) // which fails those
	}
	c.failAll(now, w.lastErr)
	return true
}

// failAll fails the requests in flight, and the one that waits for its time.
func (c *conn) failAll(now int64, err error) {
	for c.inFlight.count > 0 {
		c.w.failed(c.inFlight.pop(), now, err)
	}
	if c.next != none {
		c.w.failed(entry{c.next, c.next}, now, err)
		c.next = none
	}
}

// fail ends the current connection. Requests that the server has not answered
// in time, or at all before it ended the connection, have failed; those that
// were sent behind what it announced to be its last answer are sent again.
func (c *conn) fail(err error) {
	now := clock.Now()
	switch {
	case errors.Is(err, errLast):
		c.failures = 0
	case c.expired:
		for c.inFlight.count > 0 && now-c.inFlight.first().sent > int64(c.w.g.cfg.Timeout) {
			c.w.failed(c.inFlight.pop(), now, c.w.g.errTimeout)
		}
	default:
		if c.inFlight.count == 0 && errors.Is(err, errWrong) {
			c.w.failed(entry{now, now}, now, err)
		}
		for c.inFlight.count > 0 {
			c.w.failed(c.inFlight.pop(), now, err)
		}
	}
	if c.answers > 0 {
		c.failures = 0
	} else if !errors.Is(err, errLast) {
		c.failures++
	}
	c.close()
}

// close closes the connection and waits for its writer.
func (c *conn) close() {
	if c.d == nil {
		return
	}
	c.d.raw.Close()
	for c.writing {
		processor.Sleep(time.Millisecond)
	}
	c.d, c.queued, c.writeErr = nil, 0, nil
}

// step sends what is due, and takes in what has come.
func (c *conn) step() error {
	due, err := c.fill()
	if err != nil {
		return err
	}
	if due > 0 {
		if err := c.send(due); err != nil {
			return err
		}
	}
	if c.inFlight.count == 0 {
		if c.allowed <= 0 {
			return errLast
		}
		return errDone
	}
	return c.receive()
}

// fill puts requests into flight, and returns how many. If none is, it sleeps
// until one is due.
func (c *conn) fill() (due int, err error) {
	w := c.w
	if c.inFlight.count >= c.pipeline || c.allowed <= 0 {
		return 0, nil
	}
	// A closed loop sends when an answer has come, and need not ask again.
	now := c.readAt
	if w.schedule != nil || now == 0 {
		now = clock.Now()
	}
	for c.inFlight.count < c.pipeline && c.allowed > 0 {
		if w.schedule == nil {
			if !w.more(now) {
				break
			}
			c.inFlight.push(entry{now, now})
		} else {
			if c.next == none {
				at, ok := w.nextTime(now)
				if !ok {
					break
				}
				c.next = at
			}
			if c.next > now {
				if c.inFlight.count > 0 {
					break
				}
				sleepUntil(c.next)
				now = clock.Now()
			}
			if c.next >= w.windowStart {
				w.lateness.Record(now - c.next)
			}
			c.inFlight.push(entry{c.next, now})
			c.next = none
		}
		c.allowed--
		due++
	}
	return due, nil
}

// send writes k requests.
func (c *conn) send(k int) error {
	switch {
	case c.big:
		c.queued += k
		if !c.writing {
			c.writing = c.w.fork(c.write)
		}
		return c.writeErr
	case c.udp:
		for range k {
			if err := c.writeOut(c.codec.requests(1)); err != nil {
				return err
			}
		}
		return nil
	}
	return c.writeOut(c.codec.requests(k))
}

func (c *conn) writeOut(b []byte) error {
	n, err := c.d.Write(b)
	c.w.now.bytesOut += uint64(n)
	return err
}

// write is a coroutine that writes what is queued, so that answers are read
// meanwhile: a server may stop reading until its answers are read.
func (c *conn) write() {
	defer func() { c.writing = false }()
	for c.queued > 0 && c.writeErr == nil {
		k := c.queued
		c.queued = 0
		if c.writeErr = c.writeOut(c.codec.requests(k)); c.writeErr != nil {
			_ = c.d.raw.SetReadDeadline(time.Unix(1, 0)) // wakes the reader, if it is not closed
		}
	}
}

// receive waits for bytes of an answer, in an open loop until the next request
// is due, and takes them.
func (c *conn) receive() error {
	if c.w.schedule != nil {
		if err := c.arm(); err != nil {
			return err
		}
	}
	err := c.read()
	switch {
	case err == nil:
		return nil
	case c.writeErr != nil:
		return c.writeErr
	case c.armed && !c.expired && errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err == io.EOF:
		if v := c.codec.end(); v != 0 && c.inFlight.count > 0 {
			c.answers++
			c.w.answered(c.codec, c.inFlight.pop(), clock.Now(), v)
			return errLast
		}
	}
	return err
}

// arm sets the read deadline to when the next request is due.
func (c *conn) arm() error {
	wanted := c.next != none && c.inFlight.count < c.pipeline && c.allowed > 0
	if !wanted && !c.armed || c.expired {
		return nil
	}
	var at time.Time
	if wanted {
		at = time.Now().Add(time.Duration(c.next - clock.Now()))
	}
	c.armed = wanted
	return c.d.raw.SetReadDeadline(at)
}

// A connection has a buffer of its own with TLS, which can be waited for only
// by reading, and where there are few connections: that saves a wait apart from
// the read. Else it borrows one while there is something to read.
const (
	ownBuffer  = 4 << 10
	ownBuffers = 512 // connections of a worker that have one without TLS
)

func (c *conn) read() error {
	if c.buf == nil || c.large && c.d.tls == 0 {
		return c.readBorrowed()
	}
	n, err := c.d.Read(c.buf)
	c.large = n == len(c.buf)
	if n > 0 {
		return c.take(c.buf[:n])
	}
	return err
}

func (c *conn) readBorrowed() error {
	if err := c.d.raw.WaitReadable(); err != nil {
		return err
	}
	b := socket.AcquireBuffer()
	n, err := c.d.raw.Read(b.Bytes())
	c.large = n >= ownBuffer
	if n > 0 {
		err = c.take(b.Bytes()[:n])
	}
	b.Release()
	return err
}

// take parses what has been read.
func (c *conn) take(b []byte) error {
	now := clock.Now()
	c.readAt = now
	w := c.w
	w.now.bytesIn += uint64(len(b))
	if len(c.pending) > 0 {
		c.pending = append(c.pending, b...)
		b = c.pending
	}
	for len(b) > 0 {
		n, v, err := c.codec.answer(b)
		if err != nil {
			return err
		}
		b = b[n:]
		if v == 0 {
			if c.udp {
				return wrongf("a datagram of another length")
			}
			break
		}
		if c.inFlight.count == 0 {
			return wrongf("an answer to no request")
		}
		w.answered(c.codec, c.inFlight.pop(), now, v)
		c.answers++
		if v&last != 0 {
			return errLast
		}
	}
	switch {
	case len(b) > maxUnparsed:
		return wrongf("a head or line of more than %d bytes", maxUnparsed)
	case c.udp && len(b) > 0:
		return wrongf("a datagram of another length")
	}
	c.pending = append(c.pending[:0], b...)
	if c.ws != nil && len(c.ws.pong) > 0 && !c.writing {
		return c.pong()
	}
	return nil
}

// pong answers pings of WebSocket.
func (c *conn) pong() error {
	err := c.writeOut(c.ws.pong)
	c.ws.pong = c.ws.pong[:0]
	return err
}
