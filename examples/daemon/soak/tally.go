package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// tally is what all clients together have done. The bytes of connections that
// ran to their end are exact: the daemon must have counted the same. Those of
// connections that a client broke off, or the daemon for bad input, are bounds:
// of what was sent the daemon may have read any part, and it may have sent more
// than arrived.
type tally struct {
	sent, received           atomic.Int64 // exact
	looseSent, looseReceived atomic.Int64
	// What would have arrived, had those connections not ended.
	looseExpected atomic.Int64

	opened, refusedDials atomic.Int64
	calls                [8]atomic.Int64 // by command, with an answer; of exact connections
	looseCalls           atomic.Int64    // sent, on the others
	kinds                sync.Map        // name → *atomic.Int64, rounds of each kind of load
	errors               failures
}

// failures are what must not be. A few of them are kept.
type failures struct {
	mu    sync.Mutex
	count int
	first []error
}

const failuresKept = 20

func (f *failures) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; len(f.first) < failuresKept {
		f.first = append(f.first, fmt.Errorf(format, args...))
	}
}

func (f *failures) all() (count int, first []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, append([]error(nil), f.first...)
}

func (t *tally) round(kind string) {
	n, ok := t.kinds.Load(kind)
	if !ok {
		n, _ = t.kinds.LoadOrStore(kind, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// target is where the daemon listens.
type target struct{ network, address string }

// patience is how long any one read or write may take before the daemon counts
// as hanging. Slow machines and forced stalls are far below that.
const patience = 60 * time.Second

// conn is a client's connection.
type conn struct {
	net.Conn
	*rand.Rand
	t        *tally
	loose    bool
	seq      uint32
	throttle func(n int) // called after each read of n bytes, if set
}

func dial(t *tally, to target, r *rand.Rand) (*conn, error) {
	c, err := net.DialTimeout(to.network, to.address, patience)
	if err != nil {
		t.refusedDials.Add(1)
		return nil, err
	}
	t.opened.Add(1)
	c.SetDeadline(time.Now().Add(patience))
	return &conn{Conn: c, Rand: r, t: t}, nil
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.loose {
		c.t.looseReceived.Add(int64(n))
	} else {
		c.t.received.Add(int64(n))
	}
	if c.throttle != nil {
		c.throttle(n)
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.loose {
		c.t.looseSent.Add(int64(n))
	} else {
		c.t.sent.Add(int64(n))
	}
	return n, err
}

// number is the next request's.
func (c *conn) number() uint32 {
	c.seq++
	return c.seq
}

// do makes the calls, all of them sent before the first answer is read. There
// must be room for them in the sockets' buffers.
func (c *conn) do(calls ...*call) error {
	if err := c.send(calls...); err != nil {
		return err
	}
	return c.receive(calls...)
}

func (c *conn) send(calls ...*call) error {
	c.SetDeadline(time.Now().Add(patience))
	var p []byte
	for _, one := range calls {
		p = append(p, one.frame...)
		if c.loose {
			c.t.looseExpected.Add(int64(max(one.size, 0)))
			c.t.looseCalls.Add(1)
		}
	}
	_, err := c.Write(p)
	return err
}

func (c *conn) receive(calls ...*call) error {
	for _, one := range calls {
		c.SetDeadline(time.Now().Add(patience))
		if err := one.read(c); err != nil {
			return err
		}
		if !c.loose {
			if one.status == done {
				c.t.calls[one.frame[4]].Add(1)
			}
		}
	}
	return nil
}

// wantEnd wants the stream to end here.
func (c *conn) wantEnd() error {
	c.SetDeadline(time.Now().Add(patience))
	n, err := c.Read(make([]byte, 1))
	if n != 0 || err != io.EOF {
		return wrong("after the last answer: %d bytes, %v, want the end", n, err)
	}
	return nil
}
