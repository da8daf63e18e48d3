package load

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// errWrongEcho is a byte that is not the one sent, or one that never was.
var errWrongEcho = errors.New("wrong echo")

// conn is one connection. Its worker is the only one to touch it.
//
// Positions are offsets in the stream, below streamPeriod.
type conn struct {
	fd       int
	recvPos  int     // of the next byte to come
	sendPos  int     // of the next byte to write
	begins   int     // of the oldest request in flight
	unsent   int     // bytes queued and not yet written
	left     int     // bytes missing of the oldest request's echo
	inFlight int     // requests queued and not fully answered
	oldest   int     // index in stamps of the oldest request in flight
	stamps   []int64 // ring: when each request in flight was queued or intended
	heard    int64   // when bytes last came
}

// push adds a request to those in flight.
func (c *conn) push(stamp int64) {
	if n := len(c.stamps); c.inFlight == n {
		grown := make([]int64, 2*n)
		copy(grown[copy(grown, c.stamps[c.oldest:]):], c.stamps[:c.oldest])
		c.stamps, c.oldest = grown, 0
	}
	c.stamps[(c.oldest+c.inFlight)%len(c.stamps)] = stamp
	c.inFlight++
}

// event handles what epoll reported for connection i: takes in all the answers
// there are, sends as many new requests, and continues an unfinished write.
func (w *worker) event(i int, events uint32) error {
	c := &w.conns[i]
	if err := w.receive(c); err != nil {
		return &ConnError{w.first + i, "read", err}
	}
	if err := w.flush(c); err != nil {
		return &ConnError{w.first + i, "write", err}
	}
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return nil
	}
	// The end may have come with data in the same edge: read on up to it.
	for {
		n, errno := read(c.fd, w.buf)
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return &ConnError{w.first + i, "read", errno}
		case n == 0:
			return &ConnError{w.first + i, "read", fmt.Errorf("closed by the server: %w", io.EOF)}
		}
	}
}

// receive reads until the socket is drained. A read that does not fill the
// buffer has drained it: what comes later raises a new edge.
func (w *worker) receive(c *conn) error {
	for {
		n, errno := read(c.fd, w.buf)
		switch {
		case errno == unix.EAGAIN:
			return nil
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return errno
		case n == 0:
			return fmt.Errorf("closed by the server: %w", io.EOF)
		}
		if err := w.answered(c, w.buf[:n]); err != nil {
			return err
		}
		if n < len(w.buf) {
			return nil
		}
	}
}

// answered accounts for received bytes. Each request they complete is recorded
// and, while a closed loop is on, replaced by a new one.
func (w *worker) answered(c *conn, b []byte) error {
	now := w.now()
	c.heard = now
	if w.verify {
		if err := c.check(w.stream, b); err != nil {
			return err
		}
	}
	n := len(b)
	for n >= c.left && c.inFlight > 0 {
		n -= c.left
		c.left = w.size
		if stamp := c.stamps[c.oldest]; stamp >= w.recordFrom {
			w.latency.Record(now - stamp)
			if w.classes != nil {
				w.classes[w.load.cfg.Plan.Class(w.stream[c.begins:])].Record(now - stamp)
			}
		}
		c.begins = (c.begins + w.size) % streamPeriod
		w.done++
		if w.open || w.draining {
			c.inFlight--
		} else {
			// The new request takes the old one's place in the ring: it is the
			// youngest, right behind the others.
			c.stamps[c.oldest] = now
			c.unsent += w.size
		}
		if c.oldest++; c.oldest == len(c.stamps) {
			c.oldest = 0
		}
	}
	if c.left -= n; c.inFlight == 0 && n > 0 {
		return fmt.Errorf("%w: %d bytes more than were sent", errWrongEcho, n)
	}
	return nil
}

// check compares b with what was sent.
func (c *conn) check(stream, b []byte) error {
	want := stream[c.recvPos : c.recvPos+len(b)]
	if string(b) != string(want) {
		for i := range b {
			if b[i] != want[i] {
				return fmt.Errorf("%w: byte %d of %d read is %#02x, was sent as %#02x",
					errWrongEcho, i, len(b), b[i], want[i])
			}
		}
	}
	c.recvPos = (c.recvPos + len(b)) % streamPeriod
	return nil
}

// flush writes what is queued, as far as the socket takes it.
func (w *worker) flush(c *conn) error {
	for c.unsent > 0 {
		chunk := min(c.unsent, maxChunk)
		n, errno := write(c.fd, w.stream[c.sendPos:c.sendPos+chunk])
		switch {
		case errno == unix.EAGAIN:
			return nil // EPOLLOUT continues
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return errno
		}
		c.unsent -= n
		c.sendPos = (c.sendPos + n) % streamPeriod
	}
	return nil
}
