package socket

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Listener is a TCP listener, a net.Listener. Several coroutines may accept from it.
type Listener struct {
	s     socket
	local sysx.RawAddr

	backoff time.Duration // under s.mu's read lock: how long the last pause was for want of an fd or of memory
}

var _ net.Listener = (*Listener)(nil)

// Listen announces on a local address, as net.Listen does and with its errors. The network is tcp, tcp4 or tcp6. A name in the
// address is resolved, which parks; an address is not looked up.
func Listen(network, address string) (*Listener, error) {
	return listen(network, address, net.ListenConfig{})
}

// ListenReusePort returns n listeners on one address by SO_REUSEPORT: the kernel spreads connections over them by a hash of the
// peer's address. With one for each Processor, accepted by a coroutine that GoOn started there, no connection changes
// threads. A single Listener and Go spread more evenly. With port 0 all get the port that the first was given.
func ListenReusePort(network, address string, n int) ([]*Listener, error) {
	if n < 1 {
		return nil, &net.OpError{Op: "listen", Net: network, Err: os.NewSyscallError("reuseport", unix.EINVAL)}
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if cerr := c.Control(func(fd uintptr) {
			err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
		}); cerr != nil {
			return cerr
		}
		return err
	}}
	var all []*Listener
	for range n {
		l, err := listen(network, address, lc)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, err
		}
		all = append(all, l)
		address = l.Addr().String()
	}
	return all, nil
}

// listen lets package net make the listening socket, so that addresses, dual stack, backlog and errors are net's, and takes
// its fd over. That happens once in a daemon's life.
func listen(network, address string, lc net.ListenConfig) (*Listener, error) {
	if err := checkNetwork("listen", network); err != nil {
		return nil, err
	}
	lc.SetMultipathTCP(false) // connections of a multipath listener do not inherit its options on every kernel
	return offload(address, func() (*Listener, error) { return takeOver(network, address, lc) })
}

func takeOver(network, address string, lc net.ListenConfig) (*Listener, error) {
	nl, err := lc.Listen(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	defer nl.Close()
	raw, err := nl.(*net.TCPListener).SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if cerr := raw.Control(func(theirs uintptr) {
		fd, err = unix.FcntlInt(theirs, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: nl.Addr(), Err: os.NewSyscallError("fcntl", err)}
	}
	setDefaults(fd) // connections inherit them, which saves four calls for each
	l := new(Listener)
	l.s.init(fd)
	l.s.pd.Listener = true
	l.local.LocalAddr(fd)
	return l, nil
}

// setDefaults sets what net sets on every TCP connection.
func setDefaults(fd int) {
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15)
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15)
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9)
}

func (l *Listener) opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: "tcp", Addr: l.Addr(), Err: err}
}

// Accept waits for the next connection and returns it, a *Conn. When the process has no fd or no memory left for it, Accept
// does not fail: it pauses, from 1 ms up to 100 ms, and tries again, while connections that are open go on. Errors are
// net.ErrClosed after Close, os.ErrDeadlineExceeded, and ErrShutdown once the scheduler is ending. Parks.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptConn()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptConn is Accept with the Conn's own type.
func (l *Listener) AcceptConn() (*Conn, error) {
	if !l.s.mu.lock(reading) {
		return nil, l.opError("accept", net.ErrClosed)
	}
	c, err := l.acceptLocked()
	if l.s.mu.unlock(reading) {
		l.s.destroy()
	}
	return c, l.opError("accept", err)
}

const (
	minBackoff = time.Millisecond
	maxBackoff = 100 * time.Millisecond
)

func (l *Listener) acceptLocked() (*Conn, error) {
	s := &l.s
	for {
		if v := s.pd.Check(processor.Read); v != processor.Ready {
			return nil, verdictError(v)
		}
		s.pd.Clear(processor.Read)
		var from sysx.RawAddr
		fd, errno := sysx.TryAccept(s.fd, &from)
		var until int64
		switch errno {
		case 0:
			l.backoff = 0
			s.pace(&s.readBurst, 0)
			c := newConn(fd)
			c.remote = from
			return c, nil
		case unix.EAGAIN:
			s.readBurst = 0
		case unix.ECONNABORTED, unix.EPROTO, unix.EPERM, unix.ENETDOWN, unix.ENOPROTOOPT, unix.EHOSTDOWN, unix.ENONET,
			unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH:
			// An error of the connection, not of the listener: accept(2). There may be another behind it.
			s.pace(&s.readBurst, 0)
			continue
		case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
			l.backoff = min(max(2*l.backoff, minBackoff), maxBackoff)
			until = clock.Now() + int64(l.backoff)
		default:
			return nil, os.NewSyscallError("accept4", errno)
		}
		v, err := s.pd.Wait(s.fd, processor.Read, coroutine.ReasonAccept, until)
		if v != processor.Ready || err != nil {
			return nil, waitError(v, err)
		}
	}
}

// Close stops listening. Accepts under way end with net.ErrClosed; connections that were accepted go on.
func (l *Listener) Close() error { return l.opError("close", l.s.close()) }

// Addr returns the address listened on, a *net.TCPAddr.
func (l *Listener) Addr() net.Addr { return tcpAddr(&l.local) }

// SetDeadline sets when Accept, present and future, ends with os.ErrDeadlineExceeded. The zero time is never.
func (l *Listener) SetDeadline(t time.Time) error {
	return l.opError("set", l.s.setDeadline(t, processor.Read))
}
