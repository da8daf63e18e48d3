package http

import (
	"errors"
	"net"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/sync"
)

// missing is a Read beside a handler, which finds out that the peer has gone.
// It runs only for handlers that want to know: it begins when the request's
// context is asked for its Done or Err, and nothing is left of the body.
type missing struct {
	c    *conn // constant
	mu   sync.Mutex
	over *sync.Cond

	reading bool // under mu
	aborted bool // under mu: the end of the Read is stop's doing
	b       [1]byte
	n       int // under mu: how much of b has come, of the next request
}

// startRead begins the Read, unless there is one.
func (c *conn) startRead() {
	m := c.missing
	if m == nil {
		m = &missing{c: c}
		m.over = sync.NewCond(&m.mu)
		c.missing = m
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading {
		return
	}
	m.reading = true
	c.nc.SetReadDeadline(time.Time{})
	if coroutine.Current() != nil {
		if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: m.read}); err == nil {
			return
		}
	}
	go m.read()
}

func (m *missing) read() {
	n, err := m.c.nc.Read(m.b[:])
	m.mu.Lock()
	m.n = n
	var timeout net.Error
	gone := err != nil && !(m.aborted && errors.As(err, &timeout) && timeout.Timeout())
	w := m.c.current.Load()
	m.aborted, m.reading = false, false
	m.mu.Unlock()
	if gone && w != nil {
		w.peerGone()
	}
	m.over.Broadcast()
}

// stopRead ends the Read, if there is one. What it has read precedes what the
// connection reads next.
func (c *conn) stopRead() {
	m := c.missing
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading {
		m.aborted = true
		c.nc.SetReadDeadline(longAgo)
		for m.reading {
			m.over.Wait()
		}
		c.nc.SetReadDeadline(time.Time{})
	}
	if m.n > 0 {
		from := &c.work.from
		from.early, m.n = append(from.early, m.b[:m.n]...), 0
	}
}
