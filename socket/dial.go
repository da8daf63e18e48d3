package socket

import (
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
)

func (d *Dialer) opError(n network, to net.Addr, err error) error {
	return &net.OpError{Op: "dial", Net: n.String(), Source: d.LocalAddr, Addr: to, Err: err}
}

// single connects to one address of TCP, traced.
func (d *Dialer) single(l limits, n network, to *net.TCPAddr) (c *TCPConn, err error) {
	if done := traceConnect(l.ctx, n, to); done != nil {
		defer func() { done(err) }()
	}
	from, _ := d.LocalAddr.(*net.TCPAddr)
	if c, err = d.dialTCP(l, n, from, to); err != nil {
		return nil, d.opError(n, to, err)
	}
	return c, nil
}

// traceConnect calls httptrace's ConnectStart, as package net does for each
// attempt to connect, and returns a function that calls ConnectDone, or nil.
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

// dialTCP connects, again if need be: a kernel that chooses the local port may
// choose one that is taken, or the dialled port, which connects the socket with
// itself. dialTCP accepts the third such result.
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

// toItself reports whether both ends are the same, or the peer is unknown: in
// both cases dialTCP tries again.
func (c *TCPConn) toItself() bool {
	local, _ := c.local.AddrPort()
	remote, _ := c.remote.AddrPort()
	return !remote.IsValid() || local.Port() == remote.Port() &&
		local.Addr().Unmap() == remote.Addr().Unmap()
}

// attemptTCP makes a socket and connects it.
func (d *Dialer) attemptTCP(l limits, n network, from, to *net.TCPAddr) (*TCPConn, error) {
	af := family(n, ipOf(from), to.IP)
	fd, err := sysx.NewSocket(af, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	c := new(TCPConn)
	c.init(fd, n)
	connected := false
	defer func() {
		if !connected { // also where Control panics, or unwinds the coroutine
			c.s.Close()
		}
	}()
	if err := d.connect(l, c, af, from, to); err != nil {
		return nil, err
	}
	connected = true
	c.local.LocalAddr(fd)
	return c, nil
}

// connect binds and connects the socket of c, which is not shared yet.
func (d *Dialer) connect(l limits, c *TCPConn, af int, from, to *net.TCPAddr) error {
	fd := c.s.Sysfd()
	if af == unix.AF_INET6 && (from != nil || takesIPv4(to.IP)) {
		// Otherwise it could be bound and connected to a mapped IPv4 address.
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY,
			boolInt(c.network == tcp6)); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if err := d.hook(l, c, to.String(), af == unix.AF_INET6); err != nil {
		return err
	}
	if from != nil {
		sa, err := sockaddr(fd, af, from)
		if err != nil {
			return err
		}
		// If from is unspecified, the kernel chooses in connect just as well,
		// and may use one port for connections to several peers.
		if from.Port != 0 || !wildcard(from.IP) {
			if err := unix.Bind(fd, sa); err != nil {
				return os.NewSyscallError("bind", err)
			}
		}
	}
	sa, err := sockaddr(fd, af, to)
	if err != nil {
		return err
	}
	return c.connect(l, sa)
}

// hook calls Control or ControlContext, if there is one, for the new socket of
// c. v6 says whether its family is IPv6.
func (d *Dialer) hook(l limits, c *TCPConn, address string, v6 bool) error {
	if d.Control == nil && d.ControlContext == nil {
		return nil
	}
	name := c.network.String()
	wrap := func(op string, err error) error {
		if err == nil {
			return nil
		}
		return &net.OpError{Op: op, Net: name, Err: err}
	}
	raw := rawConn{&c.s, wrap, wrap}
	family := name
	if c.network == tcp {
		family += map[bool]string{false: "4", true: "6"}[v6]
	}
	if d.ControlContext == nil {
		return d.Control(family, address, raw)
	}
	ctx := l.ctx
	if !l.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, l.until)
		defer cancel()
	}
	return d.ControlContext(ctx, family, address, raw)
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
				// The context's end has spoilt the connection, or is about to.
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
	ctx   context.Context // may have a deadline of its own, which until then includes
	until time.Time       // zero is never
}

// err is why the dial has to end, in net's words; nil if it need not.
func (l limits) err() error {
	if err := l.ctx.Err(); err != nil {
		return contextError(err)
	}
	if !l.until.IsZero() && !time.Now().Before(l.until) {
		return errTimeout
	}
	return nil
}

// earliest is the earlier of two times; a zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// contextError is the error that net returns for a context's error.
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

// Is matches os.ErrDeadlineExceeded too: this package's waits end with it.
func (timeoutError) Is(target error) bool {
	return target == context.DeadlineExceeded || target == os.ErrDeadlineExceeded
}
