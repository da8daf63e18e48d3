package socket

import (
	"net"
	"os"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// ServerConn is a connection as a Server's Handle sees it. Its own methods are
// for Handle and Opened only. The Stream's methods may be called anywhere, but
// while the connection is idle a Read elsewhere waits until Handle was called.
type ServerConn struct {
	Stream

	// Value is the user's.
	Value any

	server     *Server
	watch      processor.Watch
	next, prev *ServerConn // under server.mu
	gone       bool        // owner: Detach was called
	timed      bool        // owner: the read deadline is IdleTimeout's
	begun      bool        // owner: it has had its first coroutine
}

// Detach takes the connection from the Server, for good: the caller serves and
// closes it, and neither Shutdown nor Close of the Server reaches it any more.
// The caller may go on in Handle, or Opened.
func (c *ServerConn) Detach() Stream {
	if !c.gone {
		c.gone = true
		c.sock().CloseWhenLost()
		c.server.drop(c)
	}
	return c.Stream
}

func (c *ServerConn) sock() *fd.FD { return &c.base().s }

// kick makes an idle connection check its state again.
func (c *ServerConn) kick() { c.sock().Unblock() }

// begin is the body of the connection's first coroutine.
func (c *ServerConn) begin() {
	s := c.sock()
	locked := s.TryLock(fd.Read)
	err := s.BindWatch(&c.watch, locked)
	if c.server.Opened != nil {
		if locked {
			c.unlock()
		}
		opened := c.handle(c.server.Opened)
		if c.gone {
			return
		}
		if opened != nil {
			c.end(opened)
			return
		}
		locked = false
	}
	if !locked {
		locked = c.lock()
	}
	switch {
	case !locked:
		err = net.ErrClosed
	case err != nil:
		c.unlock()
	default:
		c.run(false)
		return
	}
	c.end(err)
}

// lock takes the read lock to wait for the next request; false means that the
// connection is closed. If the coroutine is cancelled while a Read elsewhere
// has the lock, the connection is closed: no other coroutine serves it.
func (c *ServerConn) lock() bool {
	s := c.sock()
	if s.TryLock(fd.Read) {
		return true
	}
	returned := false
	defer func() {
		if !returned {
			c.end(coroutine.ErrShutdown)
		}
	}()
	open := s.Lock(fd.Read)
	returned = true
	return open
}

func (c *ServerConn) unlock() { c.sock().Unlock(fd.Read) }

// served implements processor.Watcher for a ServerConn.
type served ServerConn

// Readable implements processor.Watcher.
func (s *served) Readable() {
	sc := (*ServerConn)(s)
	coroutine.SetName(sc.server.label, sc.server.site)
	if sc.begun {
		sc.woken()
	} else {
		sc.begun = true
		sc.begin()
	}
}

func (c *ServerConn) woken() {
	if c.timed && c.sock().Err(fd.Read) == nil {
		c.stopTimer()
	}
	c.run(true)
}

// stopTimer removes IdleTimeout's deadline.
func (c *ServerConn) stopTimer() {
	c.timed = false
	c.sock().SetReadDeadlineNs(0)
}

// run handles the connection until it is idle, closed or detached. The caller
// holds the read lock, which an idle connection keeps, so that a Read elsewhere
// waits its turn. woken means that the Watch has just ended: an edge then means
// unread data, unless edges may come twice.
func (c *ServerConn) run(woken bool) {
	for ; ; woken = false {
		idle, err := c.awaitLocked(woken)
		if idle {
			return // from now on c may be run by another coroutine
		}
		if err == nil && !woken && processor.TurnOver() {
			processor.YieldTurn() // the next request was there already
			c.sock().MoveHere()
		}
		if err == nil && c.timed {
			c.stopTimer() // an edge came between setting it and arming the Watch
		}
		c.unlock()
		if err == nil {
			err = c.handle(c.server.Handle)
		}
		if c.gone {
			return
		}
		if err == nil && !c.lock() {
			err = net.ErrClosed
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// awaitLocked arms the Watch, which starts a coroutine when there is something
// to handle, and returns true. It returns false if there is something to handle
// already. An error is the reason to close the connection.
func (c *ServerConn) awaitLocked(woken bool) (idle bool, err error) {
	s := c.sock()
	for {
		switch err := s.Err(fd.Read); {
		case err == os.ErrDeadlineExceeded && !c.timed:
			return false, nil // a deadline of the handler's: its Read returns it
		case err == os.ErrDeadlineExceeded && s.PollReadable():
			c.stopTimer() // it was not idle: this thread is late
			return false, nil
		case err != nil:
			return false, err
		}
		// After a Handle that has read no more than it needs, or during which
		// an edge has come, there may be more to read or not. Asking the kernel
		// is cheaper than a call of Handle in vain, which would wait with its
		// stack and without IdleTimeout.
		if s.PendingLocked(woken) {
			return false, nil
		}
		if c.server.closing.Load() {
			return false, ErrServerClosed
		}
		if processor.Current().Group().Phase() >= processor.Draining {
			return false, coroutine.ErrShutdown
		}
		if d := c.server.IdleTimeout; d > 0 && !c.timed {
			c.timed = true
			s.SetReadDeadlineNs(clock.Now() + int64(d))
		}
		armed, err := s.ArmLocked(&c.watch)
		if armed && c.server.closing.Load() {
			c.kick() // Shutdown may have kicked before the Watch was armed
		}
		if armed || err != nil {
			return armed, err
		}
	}
}

// handle calls one of the user's functions. If that panics or ends its
// coroutine, the connection is closed.
func (c *ServerConn) handle(f func(*ServerConn) error) error {
	returned := false
	defer func() {
		if !returned && !c.gone {
			c.end(nil)
		}
	}()
	err := f(c)
	returned = true
	return err
}

// end closes the connection.
func (c *ServerConn) end(err error) {
	c.Stream.Close()
	defer c.server.drop(c) // after Closed, for which Shutdown waits too
	if c.server.Closed != nil {
		c.server.Closed(c, err)
	}
}
