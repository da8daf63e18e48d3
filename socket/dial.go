package socket

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
)

func (d *Dialer) opError(n network, to net.Addr, err error) error {
	return &net.OpError{Op: "dial", Net: n.String(), Source: d.LocalAddr, Addr: to, Err: err}
}

// single connects to one address, traced.
func (d *Dialer) single(l limits, n network, to net.Addr) (c net.Conn, err error) {
	if done := traceConnect(l.ctx, n, to); done != nil {
		defer func() { done(err) }()
	}
	switch to := to.(type) {
	case *net.UDPAddr:
		from, _ := d.LocalAddr.(*net.UDPAddr)
		c, err = as[net.Conn](d.dialUDP(l, n, from, to))
	case *net.UnixAddr:
		from, _ := d.LocalAddr.(*net.UnixAddr)
		c, err = as[net.Conn](d.dialUnix(l, n, from, to))
	default:
		from, _ := d.LocalAddr.(*net.TCPAddr)
		c, err = as[net.Conn](d.dialTCP(l, n, from, to.(*net.TCPAddr)))
	}
	if err != nil {
		return nil, d.opError(n, to, err)
	}
	return c, nil
}

// traceConnect calls httptrace's ConnectStart, as package net does for each
// attempt to connect, and returns what calls ConnectDone, nil for nothing.
func traceConnect(ctx context.Context, n network, to net.Addr) (done func(error)) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return nil
	}
	address := to.String()
	if trace.ConnectStart != nil {
		trace.ConnectStart(n.String(), address)
	}
	if trace.ConnectDone == nil {
		return nil
	}
	return func(err error) { trace.ConnectDone(n.String(), address, err) }
}

// openSocket makes a socket to dial from, of a family. prepare sets it up.
func openSocket(n network, family int, prepare func(fd int) error) (int, error) {
	fd, err := sysx.NewSocket(family, n.socktype(), 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	prepared := false
	defer func() {
		if !prepared { // also where Control panics, or unwinds the coroutine
			sysx.CloseFD(fd)
		}
	}()
	if err := prepare(fd); err != nil {
		return -1, err
	}
	prepared = true
	return fd, nil
}

// bind binds fd. If from says nothing it need not: the kernel chooses no worse,
// and may use one port for connections to several peers.
func bind(fd, family int, from *net.TCPAddr) error {
	if from == nil {
		return nil
	}
	sa, err := sockaddr(fd, family, from)
	if err != nil || from.Port == 0 && wildcard(from.IP) {
		return err
	}
	return os.NewSyscallError("bind", unix.Bind(fd, sa))
}

// dialUDP makes a socket with a peer, which takes no time. As net does, it
// checks the limits only then.
func (d *Dialer) dialUDP(l limits, n network, from, to *net.UDPAddr) (*UDPConn, error) {
	af := family(n, ipOf(from), to.IP)
	hook := d.hook(l, n, to.String(), af == unix.AF_INET6)
	fd, err := openSocket(n, af, func(fd int) error {
		if af == unix.AF_INET6 {
			// Package net ignores a refusal too.
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, boolInt(n == udp6))
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
		if err := hook(fd); err != nil {
			return err
		}
		if err := bind(fd, af, (*net.TCPAddr)(from)); err != nil {
			return err
		}
		sa, err := sockaddr(fd, af, (*net.TCPAddr)(to))
		if err != nil {
			return err
		}
		return os.NewSyscallError("connect", sysx.StartConnect(fd, sa))
	})
	if err != nil {
		return nil, err
	}
	c := newUDPConn(fd, n, true)
	if ap, _ := c.remote.AddrPort(); !ap.IsValid() {
		c.rawFromUDP(&c.remote, to) // the kernel knows of none whose port is 0
	}
	return inTime(l, c)
}

// inTime returns c, which was dialled, unless that has come to its end.
func inTime[C net.Conn](l limits, c C) (none C, err error) {
	if err := l.err(); err != nil {
		c.Close()
		return none, err
	}
	return c, nil
}

// dialUnix connects to a socket of this host, which takes no time either. to
// may be nil, for unixgram.
func (d *Dialer) dialUnix(l limits, n network, from, to *net.UnixAddr) (*UnixConn, error) {
	address := from.String()
	if to != nil && to.Name != "" {
		address = to.Name
	} else {
		to = nil
	}
	if from != nil && from.Name == "" {
		from = nil
	}
	if to == nil && (n != unixgram || from == nil) {
		return nil, errMissingAddress
	}
	hook := d.hook(l, n, address, false)
	fd, err := openSocket(n, unix.AF_UNIX, func(fd int) error {
		err := hook(fd)
		if err == nil && from != nil {
			sa := &syscall.SockaddrUnix{Name: from.Name}
			err = os.NewSyscallError("bind", syscall.Bind(fd, sa))
		}
		if err == nil && to != nil {
			err = os.NewSyscallError("connect", sysx.ConnectUnix(fd, to.Name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	peer := peerName(fd, n)
	if peer == nil {
		peer = to
	}
	c := newUnixConn(fd, n, localName(fd, n), peer)
	c.connected = to != nil
	return inTime(l, c)
}

// dialTCP connects, again if need be: a kernel that is left to choose the local
// port may choose one that is taken, or the one that is dialled, and then
// connects the socket with itself. After that happened three times it is let
// have its way.
func (d *Dialer) dialTCP(l limits, n network, from, to *net.TCPAddr) (*TCPConn, error) {
	c, err := d.attemptTCP(l, n, from, to)
	chosen := from == nil || from.Port == 0
	for i := 0; i < 2 && chosen &&
		(err == nil && c.toItself() || errors.Is(err, unix.EADDRNOTAVAIL)); i++ {
		if err == nil {
			c.Close()
		}
		c, err = d.attemptTCP(l, n, from, to)
	}
	if err != nil {
		return nil, err
	}
	unix.SetsockoptInt(c.s.Sysfd(), unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if k := keepAlive(d.KeepAlive, d.KeepAliveConfig); k.Enable {
		setKeepAlive(c.s.Sysfd(), k)
	}
	return c, nil
}

// toItself reports whether both ends are the same, or the other is not known,
// which is as strange.
func (c *TCPConn) toItself() bool {
	local, _ := c.local.AddrPort()
	remote, _ := c.remote.AddrPort()
	return !remote.IsValid() || local.Port() == remote.Port() &&
		local.Addr().Unmap() == remote.Addr().Unmap()
}

// attemptTCP makes a socket and connects it.
func (d *Dialer) attemptTCP(l limits, n network, from, to *net.TCPAddr) (*TCPConn, error) {
	af := family(n, ipOf(from), to.IP)
	hook := d.hook(l, n, to.String(), af == unix.AF_INET6)
	var sa unix.Sockaddr
	fd, err := openSocket(n, af, func(fd int) (err error) {
		if af == unix.AF_INET6 && (from != nil || takesIPv4(to.IP)) {
			// Or it could be bound and connected to a mapped IPv4 address.
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY,
				boolInt(n == tcp6)); err != nil {
				return os.NewSyscallError("setsockopt", err)
			}
		}
		if err := hook(fd); err != nil {
			return err
		}
		if err := bind(fd, af, from); err != nil {
			return err
		}
		sa, err = sockaddr(fd, af, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := new(TCPConn)
	c.init(fd, n)
	if err := c.connect(l, sa); err != nil {
		c.s.Close()
		return nil, err
	}
	c.local.LocalAddr(fd)
	return c, nil
}

// connect connects the socket, which is not shared yet, and fills in its peer.
func (c *TCPConn) connect(l limits, to unix.Sockaddr) (err error) {
	switch err := sysx.StartConnect(c.s.Sysfd(), to); err {
	case unix.EINPROGRESS, unix.EALREADY, unix.EINTR:
	case nil, unix.EISCONN:
		c.remote.RemoteAddr(c.s.Sysfd())
		return l.err()
	default:
		return os.NewSyscallError("connect", err)
	}
	if err := l.err(); err != nil {
		return err // the wait might find the connect done first
	}
	c.s.SetDeadline(l.until, fd.Write)
	if l.ctx.Done() != nil {
		stop := context.AfterFunc(l.ctx, func() { c.s.SetDeadline(longAgo, fd.Write) })
		defer func() {
			if !stop() && err == nil {
				// It has spoilt the connection, or is about to.
				err = contextError(l.ctx.Err())
			}
		}()
	}
	if err := c.s.AwaitConnected(&c.remote); err == os.ErrDeadlineExceeded {
		if err := l.ctx.Err(); err != nil {
			return contextError(err)
		}
		return errTimeout
	} else if err != nil {
		return err
	}
	return c.s.SetDeadline(time.Time{}, fd.Write)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

func sysError(call string, err error) error { return os.NewSyscallError(call, err) }

// limits end a dial early. The time is kept apart from the context, so that a
// timeout, the common case, takes no context and no timer of Go's.
type limits struct {
	ctx   context.Context // may have a deadline of its own, which is then in until as well
	until time.Time       // zero is never
}

// err is why it has to end, as net says it; nil if it need not.
func (l limits) err() error {
	if err := l.ctx.Err(); err != nil {
		return contextError(err)
	}
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		return errTimeout
	}
	return nil
}

// earliest is the earlier of two times, of which zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// contextError is the error that net returns for that of a context.
func contextError(err error) error {
	switch err {
	case context.Canceled:
		return errCanceled
	case context.DeadlineExceeded:
		return errTimeout
	}
	return err
}

// Net's errors for the end of a context have no names.
var (
	errCanceled error = canceledError{}
	errTimeout  error = timeoutError{}
)

type canceledError struct{}

func (canceledError) Error() string        { return "operation was canceled" }
func (canceledError) Is(target error) bool { return target == context.Canceled }

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// Is: waits of this package end with it, too, other than net's.
func (timeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}
