package socket

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// listener is what the listeners of all networks have in common. Several
// coroutines may accept from one.
type listener struct {
	s  socket
	at endpoints // only the local one

	pause processor.AcceptPause // under s.mu's read lock
	// Under s.mu's read lock: it waits for room, or did when the last Accept
	// ended.
	pausing bool
	room    atomic.Pointer[room] // that connections need, nil for no limit, see limit.go
}

// init makes a listener of an fd that listens, which it owns from then on.
func (l *listener) init(fd int, n network) {
	l.at.network = n
	l.s.init(new(descriptor), fd, n.kind(), n, roleListener)
	l.s.pd.SetListener()
}

// accept waits for the next connection. It leaves the peer's address in from,
// as far as that has room for it. The connection's socket is to have in, where
// it has taken a place.
func (l *listener) accept(from *sysx.RawAddr) (fd int, in *room, err error) {
	if !l.s.mu.lock(reading) {
		return -1, nil, l.at.setError("accept", net.ErrClosed)
	}
	fd, in, err = l.acceptLocked(from)
	if l.s.mu.unlock(reading) {
		l.s.destroy()
	}
	return fd, in, l.at.setError("accept", err)
}

func (l *listener) acceptLocked(from *sysx.RawAddr) (fd int, in *room, err error) {
	s := &l.s
	for {
		if v := s.check(processor.Read); v != processor.Ready {
			return -1, nil, verdictError(v)
		}
		s.pd.Clear(processor.Read)
		in := l.room.Load()
		if in != nil && !in.take(l) {
			err := l.awaitRoomLocked(in)
			in.forget(l) // whatever ended the wait: it may have been an edge
			if err != nil {
				return -1, nil, err
			}
			continue
		}
		fd, errno := s.tryAccept(from)
		if errno != 0 && in != nil {
			in.release()
		}
		if errno == 0 {
			if l.pause != 0 {
				l.pause.End(l.Addr())
			}
			l.pausing = false
			s.spendRead(0)
			return fd, in, nil
		}
		var until int64
		if errno == unix.EAGAIN {
			s.readBudget = 0
		} else {
			switch processor.AcceptErrorOf(errno) {
			// Not of the listener; there may be another connection behind it.
			case processor.AcceptConnection:
				s.spendRead(0)
				continue
			case processor.AcceptFiles, processor.AcceptMemory:
				until = clock.Real() + int64(l.pause.Next(l.Addr(), errno))
			default:
				return -1, nil, os.NewSyscallError("accept4", errno)
			}
		}
		v, err := s.pd.Wait(s.fd, processor.Read, coroutine.ReasonAccept, until)
		if v != processor.Ready || err != nil {
			return -1, nil, waitError(v, err)
		}
	}
}

// Close stops listening. Accepts under way end with net.ErrClosed; connections
// that were accepted go on. It does not park; a goroutine may wait for up to
// 0.1 s for accepts in the middle of a system call.
func (l *listener) Close() error { return l.at.setError("close", l.s.close()) }

// Addr returns the address listened on: a *net.TCPAddr or *net.UnixAddr.
func (l *listener) Addr() net.Addr { return l.at.LocalAddr() }

// SetDeadline sets when Accept, present and future, ends with
// os.ErrDeadlineExceeded. The zero time is never.
func (l *listener) SetDeadline(t time.Time) error {
	return l.at.setError("set", l.s.setDeadline(t, processor.Read))
}

// TCPListener is a TCP listener, a net.Listener. Several coroutines may accept
// from it. Errors are *net.OpError with net's contents.
type TCPListener struct {
	listener
	// Constant: the fd came from elsewhere, so what connections inherit from it
	// is not known.
	adopted bool
}

// Close stops listening. Accepts under way end with net.ErrClosed; connections
// that were accepted go on. A Close of nil returns EINVAL. It does not park; a
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
// from 1 ms up to 100 ms, and tries again, while connections that are open go
// on. Errors are net.ErrClosed after Close, os.ErrDeadlineExceeded, and
// ErrShutdown once the scheduler is ending. Parks.
func (l *TCPListener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptTCP is Accept with the connection's own type.
func (l *TCPListener) AcceptTCP() (*TCPConn, error) {
	c, err := l.acceptKept()
	if err == nil {
		c.s.closeWhenLost()
	}
	return c, err
}

// acceptKept is AcceptTCP for a Server, see socket.initKept.
func (l *TCPListener) acceptKept() (*TCPConn, error) {
	var from sysx.RawAddr
	fd, in, err := l.accept(&from)
	if err != nil {
		return nil, err
	}
	if l.adopted {
		setDefaults(fd)
	}
	c := newKeptTCPConn(fd, l.at.network)
	c.s.room = in
	c.remote = from
	return c, nil
}
