package main

import (
	"strconv"

	"github.com/netco-go/netco/socket"
)

// client is one connection. Its coroutine owns it.
type client struct {
	db *store
	b  *socket.Buffered

	parser parser
	out    []byte // answers not yet given to b; from AvailableBuffer
	err    error  // of writing
	quit   bool   // close when the answers have gone
}

func newClient(db *store, c socket.Stream) *client {
	b := socket.NewBuffered(c)
	b.SetLimit(maxRequest)
	return &client{db: db, b: b}
}

// serve answers requests until the client leaves. Peek sends the answers before
// it waits; Close sends the last ones.
func (c *client) serve() {
	defer c.b.Close()
	for need := 1; !c.quit && c.err == nil; {
		if _, err := c.b.Peek(need); err != nil {
			return
		}
		p, _ := c.b.Peek(c.b.Buffered()) // as it is there
		c.out = c.b.AvailableBuffer()
		used, more := c.batch(p)
		c.commit()
		c.b.Discard(used)
		left := len(p) - used
		if left == 0 && cap(c.parser.args) > 64 {
			c.parser = parser{}
		}
		need = max(left+1, min(more, 2*left+minStep)) // not to take a claimed length at its word
	}
}

// minStep is how far a request may be ahead of what has come of it, in the
// buffer it is given.
const minStep = 64 << 10

// batch answers all requests in p that are complete. It returns how long they
// are, and how much must be there of the next.
func (c *client) batch(p []byte) (used, need int) {
	for used < len(p) && !c.quit && c.err == nil {
		args, n, more, err := c.parser.next(p[used:])
		if err != nil {
			c.appendLine('-', err.Error())
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
		c.write(c.out)
	}
	c.out = nil
}

func (c *client) write(p []byte) {
	if _, err := c.b.Write(p); err != nil && c.err == nil {
		c.err = err
	}
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

// The answers of RESP2: a line of a kind, + or - for an error; a number, : or *
// for that many answers; a value.

func (c *client) appendLine(kind byte, s string) {
	c.out = append(append(append(c.out, kind), s...), '\r', '\n')
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
		c.out = append(c.out, "$-1\r\n"...)
	case len(v) < large:
		c.room(len(v) + minRoom)
		c.appendNumber('$', int64(len(v)))
		c.out = append(append(c.out, v...), '\r', '\n')
	default:
		c.room(minRoom)
		c.appendNumber('$', int64(len(v)))
		c.commit()
		c.write(v)
		c.out = append(c.b.AvailableBuffer(), '\r', '\n')
	}
}
