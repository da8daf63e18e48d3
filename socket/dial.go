package socket

import (
	"context"
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// serial tries addresses one after the other. If none can be reached, the first
// one's error is the most specific.
func (d *Dialer) serial(l limits, n network, targets []net.Addr) (net.Conn, error) {
	var first error
	for i, to := range targets {
		if err := l.ctx.Err(); err != nil {
			return nil, d.opError(n, to, contextError(err))
		}
		part, err := l.forAddress(len(targets) - i)
		if err != nil {
			err = d.opError(n, to, err)
		} else {
			var c net.Conn
			if c, err = d.single(part, n, to); err == nil {
				return c, nil
			}
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

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
		c, err = asConn(d.dialUDP(l, n, from, to))
	case *net.UnixAddr:
		from, _ := d.LocalAddr.(*net.UnixAddr)
		c, err = asConn(d.dialUnix(l, n, from, to))
	default:
		from, _ := d.LocalAddr.(*net.TCPAddr)
		c, err = asConn(d.dialTCP(l, n, from, to.(*net.TCPAddr)))
	}
	if err != nil {
		return nil, d.opError(n, to, err)
	}
	return c, nil
}

// asConn avoids a net.Conn that is not nil and holds nil.
func asConn[T net.Conn](c T, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// dialUDP makes a socket with a peer, which takes no time. As net does, it
// checks the limits only then.
func (d *Dialer) dialUDP(l limits, n network, from, to *net.UDPAddr) (*UDPConn, error) {
	var local net.IP
	if from != nil {
		local = from.IP
	}
	v6 := family(n, local, to.IP) == unix.AF_INET6
	c, err := connectUDP(n, from, to, d.hook(l, n, to.String(), v6))
	if err == nil {
		if err = l.err(); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, err
}

// dialUnix connects to a socket of this host, which takes no time either. to
// may be nil, for unixgram.
func (d *Dialer) dialUnix(l limits, n network, from, to *net.UnixAddr) (*UnixConn, error) {
	address := from.String()
	if to != nil && to.Name != "" {
		address = to.Name
	}
	c, err := dialUnix(n, from, to, d.hook(l, n, address, false))
	if err == nil {
		if err = l.err(); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, err
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
	unix.SetsockoptInt(c.s.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if k := keepAlive(d.KeepAlive, d.KeepAliveConfig); k.Enable {
		setKeepAlive(c.s.fd, k)
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
	var local net.IP
	if from != nil {
		local = from.IP
	}
	af := family(n, local, to.IP)
	fd, err := sysx.NewSocket(af, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	c := new(TCPConn)
	c.init(fd, n)
	connected := false
	defer func() { // Control may panic, or unwind the coroutine
		if !connected {
			c.s.close()
		}
	}()
	if err := d.connectTCP(l, c, af, from, to); err != nil {
		return nil, err
	}
	connected = true
	c.local.LocalAddr(fd)
	return c, nil
}

// connectTCP binds and connects the socket, which is not shared yet.
func (d *Dialer) connectTCP(l limits, c *TCPConn, af int, from, to *net.TCPAddr) error {
	fd := c.s.fd
	if af == unix.AF_INET6 && (from != nil || takesIPv4(to.IP)) {
		// Or it could be bound and connected to a mapped IPv4 address.
		only := boolInt(c.network == tcp6)
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if hook := d.hook(l, c.network, to.String(), af == unix.AF_INET6); hook != nil {
		if err := hook(fd); err != nil {
			return err
		}
	}
	if from != nil {
		sa, err := sockaddr(fd, af, from)
		if err != nil {
			return err
		}
		// Without a bind the kernel chooses no worse, and may use one port for
		// connections to several peers.
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
	return c.s.connect(l, sa, &c.remote)
}

// connect connects the socket, which is not shared yet, and fills in its
// peer.
func (s *socket) connect(l limits, to unix.Sockaddr, peer *sysx.RawAddr) (err error) {
	switch err := sysx.StartConnect(s.fd, to); err {
	case unix.EINPROGRESS, unix.EALREADY, unix.EINTR:
	case nil, unix.EISCONN:
		peer.RemoteAddr(s.fd)
		return l.err()
	default:
		return os.NewSyscallError("connect", err)
	}
	if err := l.err(); err != nil {
		return err // the wait might find the connect done first
	}
	s.pd.SetDeadline(processor.Write, realDeadline(l.until))
	if l.ctx.Done() != nil {
		stop := context.AfterFunc(l.ctx, func() { s.pd.SetDeadline(processor.Write, longAgo) })
		defer func() {
			if !stop() && err == nil {
				// It has spoilt the connection, or is about to.
				err = contextError(l.ctx.Err())
			}
		}()
	}
	if err := s.awaitConnected(peer); err == os.ErrDeadlineExceeded {
		if err := l.ctx.Err(); err != nil {
			return contextError(err)
		}
		return errTimeout
	} else if err != nil {
		return err
	}
	s.pd.SetDeadline(processor.Write, 0)
	return nil
}

// longAgo is a deadline that has passed.
const longAgo = 1

// awaitConnected waits until a connect under way has come to something.
func (s *socket) awaitConnected(peer *sysx.RawAddr) error {
	for {
		if v, err := s.pd.Wait(s.fd, processor.Write, coroutine.ReasonConnect,
			0); v != processor.Ready || err != nil {
			return waitError(v, err)
		}
		s.pd.Clear(processor.Write)
		errno, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			return os.NewSyscallError("getsockopt", err)
		}
		switch errno := unix.Errno(errno); errno {
		case unix.EISCONN:
			peer.RemoteAddr(s.fd)
			return nil
		case unix.EINPROGRESS, unix.EALREADY, unix.EINTR:
		case 0:
			// No error and no peer: the wake was early.
			if peer.RemoteAddr(s.fd) == 0 {
				return nil
			}
		default:
			return os.NewSyscallError("connect", errno)
		}
	}
}

func sysError(call string, err error) error { return os.NewSyscallError(call, err) }
