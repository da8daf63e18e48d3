package socket

import (
	"net"
	"runtime"
	"sync"

	"github.com/netco-go/netco/internal/fd"
)

// LimitListener returns l, limited: Accept pauses while n connections that it
// returned are open, and goes on when one is closed. New connections wait
// meanwhile in the kernel's backlog. It does what x/net/netutil's LimitListener
// does, for coroutines and goroutines.
//
// A listener of this package is itself limited and returned, so that it keeps
// its type; a second limit may be added to it. A pause ends as a wait for
// a connection does: by Close, by the deadline, with ErrShutdown when the
// scheduler is ending. A connection counts until its fd is closed here;
// duplicates of it (File, a child process) do not count.
//
// Any other listener is wrapped, and so are its connections. Its Accept also
// takes a place while it waits. Only Close of the returned listener ends its
// pauses. To limit a tls listener, limit the listener beneath it.
//
// With n < 1 every Accept fails.
func LimitListener(l net.Listener, n int) net.Listener {
	limit := &fd.Limit{Max: n}
	if own, ok := l.(limitable); ok {
		own.lis().AddLimit(limit)
		return l
	}
	return newLimitedListener(l, limit)
}

// limitable is a listener of this package.
type limitable interface{ lis() *fd.Listener }

func (l *listener) lis() *fd.Listener { return &l.s }

// limitedListener is a listener of another package under a limit.
type limitedListener struct {
	net.Listener
	gate fd.Gate
}

func newLimitedListener(l net.Listener, limit *fd.Limit) *limitedListener {
	return &limitedListener{l, fd.Gate{Room: fd.NewRoom(limit)}}
}

// Accept waits for room, and then for the next connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	if err := l.gate.Enter(l); err != nil {
		addr := l.Addr()
		return nil, &net.OpError{Op: "accept", Net: addr.Network(), Addr: addr, Err: err}
	}
	accepted := false
	defer func() {
		if !accepted { // accepting failed, panicked or was unwound
			l.gate.Room.Release()
		}
	}()
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	accepted = true
	if own, ok := c.(Stream); ok {
		own.base().s.Join(l.gate.Room)
		return c, nil
	}
	return newLimitedConn(c, l.gate.Room), nil
}

// Close ends the Accepts that wait, and closes the limited listener.
func (l *limitedListener) Close() error {
	l.gate.Close()
	return l.Listener.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	place *place
}

// place is a place in a room. A connection that the program has lost without a
// Close gives it back when it is collected.
type place struct {
	room *fd.Room
	once sync.Once
}

func (p *place) release() { p.once.Do(p.room.Release) }

func newLimitedConn(c net.Conn, r *fd.Room) *limitedConn {
	l := &limitedConn{c, &place{room: r}}
	runtime.AddCleanup(l, (*place).release, l.place)
	return l
}

// Close closes the connection.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.place.release()
	return err
}
