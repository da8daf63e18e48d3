package conformance

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/netco-go/netco"
)

// coConn is a net.Conn whose every call is made by a new coroutine, while the
// caller, a goroutine, waits for it. After Close and Shutdown the caller makes
// it itself: nettest leaves goroutines behind.
type coConn struct {
	net.Conn
	gate *gate
}

type gate struct {
	mu     sync.RWMutex
	closed bool
}

func onCoroutines(c net.Conn) net.Conn { return coConn{c, new(gate)} }

// on runs fn on a new coroutine and waits for it.
func (c coConn) on(fn func()) {
	done := make(chan struct{})
	if !c.start(func() { defer close(done); fn() }) {
		fn()
		return
	}
	<-done
}

func (c coConn) start(fn func()) bool {
	c.gate.mu.RLock()
	defer c.gate.mu.RUnlock()
	if c.gate.closed {
		return false
	}
	_, err := netco.Go(fn)
	if err != nil && !errors.Is(err, netco.ErrShutdown) {
		panic(err)
	}
	return err == nil
}

func (c coConn) Read(p []byte) (n int, err error) {
	c.on(func() { n, err = c.Conn.Read(p) })
	return n, err
}

func (c coConn) Write(p []byte) (n int, err error) {
	c.on(func() { n, err = c.Conn.Write(p) })
	return n, err
}

func (c coConn) Close() (err error) {
	c.on(func() { err = c.Conn.Close() })
	c.gate.mu.Lock()
	c.gate.closed = true
	c.gate.mu.Unlock()
	return err
}

func (c coConn) SetDeadline(t time.Time) (err error) {
	c.on(func() { err = c.Conn.SetDeadline(t) })
	return err
}

func (c coConn) SetReadDeadline(t time.Time) (err error) {
	c.on(func() { err = c.Conn.SetReadDeadline(t) })
	return err
}

func (c coConn) SetWriteDeadline(t time.Time) (err error) {
	c.on(func() { err = c.Conn.SetWriteDeadline(t) })
	return err
}
