package socket

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// limitedListener is a listener of another package under a limit.
type limitedListener struct {
	net.Listener
	room *room

	mu      sync.Mutex // never held across a park or a call
	closed  bool       // under mu
	waiting []*roomBell
}

// roomBell is one Accept that waits for room.
type roomBell struct {
	bell
	closed atomic.Bool
}

func (w *roomBell) roomMade() { w.ring() }

// Accept waits for room, and then for the next connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	if err := l.awaitRoom(); err != nil {
		addr := l.Addr()
		return nil, &net.OpError{Op: "accept", Net: addr.Network(), Addr: addr, Err: err}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		l.room.release()
		return nil, err
	}
	if own, ok := c.(Stream); ok {
		own.base().s.join(l.room)
		return c, nil
	}
	return newLimitedConn(c, l.room), nil
}

// joining guards socket.room of what join is called for.
var joining sync.Mutex // held for a moment

// join gives a connection that another's listener has returned a place in r,
// which is taken: beside those that it has where that listener accepts from a
// limited one. If the connection is closed by now the place is given back.
func (s *socket) join(r *room) {
	if !s.mu.use() {
		r.release()
		return
	}
	joining.Lock()
	if s.room == nil {
		s.room = r
	} else {
		s.room = &room{append(s.room.limits[:len(s.room.limits):len(s.room.limits)], r.limits...)}
	}
	joining.Unlock()
	s.unuse()
}

// awaitRoom takes a place.
func (l *limitedListener) awaitRoom() error {
	if l.room.none() {
		return errNoConns
	}
	w := new(roomBell)
	if l.room.take(w) {
		return nil
	}
	defer l.room.forget(w)
	if !l.enter(w) {
		return net.ErrClosed
	}
	defer l.leave(w)
	paused(l.Addr())
	taken := false
	err := w.wait(coroutine.ReasonAccept, 0, func() bool {
		taken = taken || l.room.take(w)
		return taken || w.closed.Load()
	})
	switch {
	case taken:
		return nil
	case err != nil:
		return err
	}
	return net.ErrClosed
}

func (l *limitedListener) enter(w *roomBell) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.waiting = append(l.waiting, w)
	}
	return !l.closed
}

func (l *limitedListener) leave(w *roomBell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range l.waiting {
		if x == w {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			return
		}
	}
}

// Close ends the Accepts that wait, and closes what is limited.
func (l *limitedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	waiting := append([]*roomBell(nil), l.waiting...)
	l.mu.Unlock()
	for _, w := range waiting {
		w.closed.Store(true)
		w.ring()
	}
	return l.Listener.Close()
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	place *place
}

// place is a place in a room. What the program has lost without a Close gives
// it back when it is collected.
type place struct {
	room *room
	once sync.Once
}

func (p *place) release() { p.once.Do(p.room.release) }

func newLimitedConn(c net.Conn, r *room) *limitedConn {
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
