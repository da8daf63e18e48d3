package main

import (
	"strconv"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/socket"
)

// client is one connection. Its coroutine owns it.
type client struct {
	s    *server
	b    *socket.Buffered
	id   int64
	name []byte

	parser parser
	vals   [][]byte // what MGET has found
	out    []byte   // answers not yet given to b; from AvailableBuffer
	err    error    // of writing
	quit   bool     // close when the answers have gone

	reserved int64 // bytes of server.unfinished
}

func newClient(s *server, c *socket.TCPConn) *client {
	b := socket.NewBuffered(c)
	b.SetLimit(maxRequest)
	return &client{s: s, b: b, id: s.ids.Add(1)}
}

// serve answers requests until the client leaves. Peek sends the answers before
// it waits; Close sends the last ones.
func (c *client) serve() {
	defer c.b.Close()
	defer c.release()
	for need := 1; !c.quit && c.err == nil; {
		if !c.expect(need) {
			return
		}
		if _, err := c.b.Peek(need); err != nil {
			return
		}
		p, _ := c.b.Peek(c.b.Buffered()) // as it is there
		c.out = c.b.AvailableBuffer()
		used, more := c.batch(p)
		c.commit()
		c.b.Discard(used)
		c.forget()
		left := len(p) - used
		if left == 0 {
			c.release()
		}
		need = max(left+1, min(more, 2*left+minStep)) // not to take a claimed length at its word
	}
}

// minStep is how far a request may be ahead of what has come of it, in the
// memory it is given.
const minStep = 64 << 10

// expect reserves the memory of a request of which need bytes are to be there,
// and sets a deadline for them. false means that there is too little: it has
// answered with that.
func (c *client) expect(need int) bool {
	if need <= minStep {
		return true
	}
	// Peek may double the buffer it has, which is smaller than need.
	if n := min(2*int64(need), maxRequest) - c.reserved; n > 0 {
		if !c.s.reserve(n) {
			c.out = c.b.AvailableBuffer()
			c.appendError("ERR " + noMemory.Error())
			c.commit()
			return false
		}
		c.reserved += n
	}
	c.b.SetReadDeadline(time.Now().Add(unfinishedTime))
	return true
}

// release gives back what expect has reserved, once the buffer is empty.
func (c *client) release() {
	if c.reserved > 0 {
		c.s.unfinished.Add(-c.reserved)
		c.reserved = 0
		c.b.SetReadDeadline(time.Time{})
	}
}

// batch answers all requests in p that are complete. It returns how long they
// are, and how much must be there of the next.
func (c *client) batch(p []byte) (used, need int) {
	for used < len(p) && !c.quit && c.err == nil {
		args, n, more, err := c.parser.next(p[used:])
		if err != nil {
			c.appendError("ERR " + err.Error())
			c.quit = true
			break
		}
		if n == 0 {
			return used, more
		}
		used += n
		if len(args) > 0 {
			c.room(minRoom)
			c.do(args)
		}
	}
	return used, 0
}

// commit gives the answers to b.
func (c *client) commit() {
	if len(c.out) > 0 {
		if _, err := c.b.Write(c.out); err != nil && c.err == nil {
			c.err = err
		}
	}
	c.out = nil
}

// minRoom is enough for any answer but values.
const minRoom = 512

// room sees to room for n bytes in out, if a buffer has as much, sending what
// is there if need be. Parks; what was taken from the store before may be gone.
func (c *client) room(n int) {
	if cap(c.out)-len(c.out) >= n {
		return
	}
	c.commit()
	if err := c.b.Flush(); err != nil && c.err == nil {
		c.err = err
	}
	c.out = c.b.AvailableBuffer()
}

// pause lets others run. Parks, so what was appended is given to b before.
func (c *client) pause() {
	c.commit()
	netco.Yield()
	c.out = c.b.AvailableBuffer()
}

// forget lets go of what a large request has left behind.
func (c *client) forget() {
	c.parser.forget()
	const keep = 64
	if cap(c.vals) > keep {
		c.vals = nil
	}
}

// The answers of RESP2.

func (c *client) appendOK()         { c.out = append(c.out, "+OK\r\n"...) }
func (c *client) appendNil()        { c.out = append(c.out, "$-1\r\n"...) }
func (c *client) appendSize(n int)  { c.appendNumber('*', int64(n)) }
func (c *client) appendInt(n int64) { c.appendNumber(':', n) }
func (c *client) appendText(s string) {
	c.appendNumber('$', int64(len(s)))
	c.out = append(append(c.out, s...), '\r', '\n')
}

// appendError answers with an error, which is a line.
func (c *client) appendError(s string) {
	c.out = append(c.out, '-')
	for i := range len(s) {
		if s[i] == '\r' || s[i] == '\n' {
			c.out = append(c.out, ' ')
		} else {
			c.out = append(c.out, s[i])
		}
	}
	c.out = append(c.out, '\r', '\n')
}

func (c *client) appendNumber(kind byte, n int64) {
	if n >= 0 && n < 10 {
		c.out = append(c.out, kind, byte('0'+n), '\r', '\n')
		return
	}
	c.out = append(strconv.AppendInt(append(c.out, kind), n, 10), '\r', '\n')
}

// large is from which size on a value is written by itself, so that b can send
// it from where it is.
const large = 8 << 10

// appendBulk answers with v, which must not change. nil is no value. Parks if
// there is no room.
func (c *client) appendBulk(v []byte) {
	switch {
	case v == nil:
		c.room(minRoom)
		c.appendNil()
	case len(v) < large:
		c.room(len(v) + minRoom)
		c.appendNumber('$', int64(len(v)))
		c.out = append(append(c.out, v...), '\r', '\n')
	default:
		c.room(minRoom)
		c.appendNumber('$', int64(len(v)))
		c.commit()
		if _, err := c.b.Write(v); err != nil && c.err == nil {
			c.err = err
		}
		c.out = append(c.b.AvailableBuffer(), '\r', '\n')
	}
}
