package socket

import (
	"net"
	"syscall"
	"time"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
)

// listener is what the listeners of all networks have in common. Several
// coroutines may accept from one.
type listener struct {
	s  fd.Listener
	at endpoints // only the local one
}

// init makes a listener of a listening fd, which it owns from then on.
func (l *listener) init(fd int, n network) {
	l.at.network = n
	l.s.Init(newDescriptor(n, roleListener), fd, n.kind())
	l.s.CloseWhenLost()
}

// Close is TCPListener.Close, except for nil.
func (l *listener) Close() error { return l.at.setError("close", l.s.Close()) }

// Addr returns the address listened on: a *net.TCPAddr or *net.UnixAddr.
func (l *listener) Addr() net.Addr { return l.at.LocalAddr() }

// SetDeadline sets when Accept, present and future, ends with
// os.ErrDeadlineExceeded. The zero time is never.
func (l *listener) SetDeadline(t time.Time) error {
	return l.s.SetDeadline(t, fd.Read) // net's error has no OpError here
}

// TCPListener is a TCP listener, a net.Listener. Several coroutines may accept
// from it. Errors are *net.OpError with net's contents.
type TCPListener struct {
	listener
	// Constant: the fd came from elsewhere, so the options that connections
	// inherit are unknown.
	adopted bool
}

func newTCPListener(fd int, n network) *TCPListener {
	l := new(TCPListener)
	l.init(fd, n)
	l.at.local.LocalAddr(fd)
	return l
}

// Close stops listening. Accepts under way end with net.ErrClosed; accepted
// connections stay open. A Close of nil returns EINVAL. It does not park; a
// goroutine may wait for up to 0.1 s for accepts in the middle of a system
// call.
func (l *TCPListener) Close() error {
	if l == nil {
		return syscall.EINVAL
	}
	return l.listener.Close()
}

var _ net.Listener = (*TCPListener)(nil)

// Accept waits for the next connection and returns it, a *TCPConn. When the
// process has no fd or no memory left for it, Accept does not fail: it pauses,
// from 1 ms up to 100 ms, and tries again, while open connections go on. Errors
// are net.ErrClosed after Close, os.ErrDeadlineExceeded, and ErrShutdown once
// the scheduler is ending. Parks.
func (l *TCPListener) Accept() (net.Conn, error) {
	return as[net.Conn](l.AcceptTCP())
}

// AcceptTCP is Accept with the connection's own type.
func (l *TCPListener) AcceptTCP() (*TCPConn, error) {
	c, err := l.acceptKept()
	if err == nil {
		c.s.CloseWhenLost()
	}
	return c, err
}

// acceptKept is AcceptTCP for a Server, see conn.initKept.
func (l *TCPListener) acceptKept() (*TCPConn, error) {
	var from sysx.RawAddr
	fd, in, err := l.s.Accept(&from, l)
	if err != nil {
		return nil, l.at.setError("accept", err)
	}
	if l.adopted {
		setDefaults(fd)
	}
	c := newKeptTCPConn(fd, l.at.network)
	c.s.SetRoom(in)
	c.remote = from
	return c, nil
}
