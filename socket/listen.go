package socket

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ListenConfig makes listeners and packet connections, with these settings. The
// zero value has the defaults. Its fields are those of net.ListenConfig and
// mean the same. Errors are *net.OpError with net's contents.
type ListenConfig struct {
	// Control, if it is not nil, is called with the fd before it is bound. It
	// may set options; it must not keep the fd.
	Control func(network, address string, c syscall.RawConn) error

	// KeepAlive is the idle time before the first keep-alive probe of an
	// accepted connection: 0 is 15 s, negative is no probes. An enabled
	// KeepAliveConfig takes precedence.
	KeepAlive       time.Duration
	KeepAliveConfig net.KeepAliveConfig
}

// MultipathTCP reports whether Multipath TCP is used: false.
func (lc *ListenConfig) MultipathTCP() bool { return false }

// SetMultipathTCP exists for code that sets it on a net.ListenConfig, and has
// no effect: connections are plain TCP, which every multipath peer can fall
// back to. Connections of a multipath listener do not inherit its options on
// every kernel.
func (lc *ListenConfig) SetMultipathTCP(use bool) {}

// keepAlive returns the settings for a listener's connections. If they are not
// enabled, connections keep the kernel's settings.
func keepAlive(d time.Duration, config net.KeepAliveConfig) net.KeepAliveConfig {
	if config.Enable {
		return config
	}
	return net.KeepAliveConfig{Enable: d >= 0, Idle: d}
}

// Listen announces on a local address, as net.Listen does and with its errors.
// The network is tcp, tcp4, tcp6, unix or unixpacket; the result is a
// *TCPListener or a *UnixListener. A name in the address is resolved, which
// parks; an address is not looked up. ctx ends a look-up; it does not end the
// listener.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return announce(ctx, network, address, tcp, lc.borrowListener)
}

// announce makes a socket by borrow, at a local address whose names it
// resolves. The network must be like the given one, or a Unix network of the
// same kind; otherwise the error is net's or this package's.
func announce[S io.Closer](ctx context.Context, name, address string, like network,
	borrow func(ctx context.Context, n network, address string) (S, error)) (none S, err error) {
	n, err := parseNetwork(name)
	streams := n == unixNet || n == unixpacket
	switch {
	case err != nil:
	case n.isUnix() && streams == like.isTCP():
		return openElsewhere(&files, func() (S, error) { // it makes a file
			return borrow(ctx, n, address)
		})
	case n.isUnix():
		err = &net.AddrError{Err: "unexpected address type", Addr: address}
	case n.like(like):
		address, err = (*Resolver)(nil).literalAddress(ctx, name, address)
	}
	if err != nil {
		return none, &net.OpError{Op: "listen", Net: name, Err: err}
	}
	return borrow(ctx, n, address)
}

// borrowListener lets package net make the listening socket, so that dual
// stack, backlog and errors are net's, and takes its fd over. That happens once
// in a daemon's life. Precondition: the address has no name.
func (lc *ListenConfig) borrowListener(ctx context.Context, n network,
	address string) (net.Listener, error) {
	theirs := net.ListenConfig{Control: lc.Control}
	theirs.SetMultipathTCP(false) // which is not the default
	nl, err := theirs.Listen(ctx, n.String(), address)
	if err != nil {
		return nil, err
	}
	if u, ok := nl.(*net.UnixListener); ok {
		return as[net.Listener](takeUnixListener(u))
	}
	return as[net.Listener](lc.takeTCPListener(n, nl.(*net.TCPListener)))
}

// takeTCPListener takes the fd of a listener over.
func (lc *ListenConfig) takeTCPListener(n network, l *net.TCPListener) (*TCPListener, error) {
	return take("listen", n, l, l.Addr(), func(fd int) *TCPListener {
		// Connections inherit options, which saves calls for each.
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if k := keepAlive(lc.KeepAlive, lc.KeepAliveConfig); k.Enable {
			setKeepAlive(fd, k)
		}
		return newTCPListener(fd, n)
	})
}

// ListenReusePort returns n listeners on one address by SO_REUSEPORT: the
// kernel spreads connections over them by a hash of the peer's address. With
// one for each Processor, accepted by a coroutine that stays there (Spawn.On),
// no connection changes threads. A single TCPListener and Go spread more
// evenly. Closing one of them resets the connections that it has not accepted,
// unless the sysctl net.ipv4.tcp_migrate_req is 1: then the others get them.
// With port 0 all get the port of the first. The network is tcp, tcp4 or tcp6.
func ListenReusePort(network, address string, n int) ([]*TCPListener, error) {
	lc := ListenConfig{Control: reusePort}
	return listenMany(network, address, n, tcp, func(at string) (*TCPListener, net.Addr, error) {
		l, err := lc.Listen(context.Background(), network, at)
		if err != nil {
			return nil, nil, err
		}
		return l.(*TCPListener), l.Addr(), nil
	})
}

// listenMany makes n sockets at one address, all with the port of the first.
// The network must be like the given one.
func listenMany[S io.Closer](name, address string, n int, other network,
	listen func(address string) (S, net.Addr, error)) (all []S, err error) {
	if n < 1 {
		return nil, &net.OpError{Op: "listen", Net: name, Err: os.NewSyscallError("reuseport",
			unix.EINVAL)}
	}
	if parsed, err := parseNetwork(name); err == nil && !parsed.like(other) {
		return nil, &net.OpError{Op: "listen", Net: name, Err: net.UnknownNetworkError(name)}
	}
	for range n {
		s, at, err := listen(address)
		if err != nil {
			for _, s := range all {
				s.Close()
			}
			return nil, err
		}
		all, address = append(all, s), at.String()
	}
	return all, nil
}

// reusePort is a ListenConfig.Control.
func reusePort(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) {
		err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET,
			unix.SO_REUSEPORT, 1))
	}); cerr != nil {
		return cerr
	}
	return err
}

// netListenTCP is net.ListenTCP. It does not park.
func netListenTCP(network string, laddr *net.TCPAddr) (*TCPListener, error) {
	l, err := net.ListenTCP(network, laddr)
	if err != nil {
		return nil, err
	}
	n, _ := parseNetwork(network)
	return new(ListenConfig).takeTCPListener(n, l)
}

// ListenPacket announces on a local address, as net.ListenPacket does and with
// its errors. The network is udp, udp4, udp6 or unixgram; the result is a
// *UDPConn or a *UnixConn. A name in the address is resolved, which parks; an
// address is not looked up. ctx ends a look-up.
func (lc *ListenConfig) ListenPacket(ctx context.Context, network, address string) (net.PacketConn,
	error) {
	return announce(ctx, network, address, udp, lc.borrowPacket)
}

// borrowPacket lets package net make the socket, for borrowListener's reasons.
// Precondition: the address has no name.
func (lc *ListenConfig) borrowPacket(ctx context.Context, n network,
	address string) (net.PacketConn, error) {
	theirs := net.ListenConfig{Control: lc.Control}
	c, err := theirs.ListenPacket(ctx, n.String(), address)
	if err != nil {
		return nil, err
	}
	return as[net.PacketConn](takeConn("listen", n, false, c.(net.Conn)))
}

// netListenUDP is net.ListenUDP. It does not park.
func netListenUDP(network string, laddr *net.UDPAddr) (*UDPConn, error) {
	theirs, err := net.ListenUDP(network, laddr)
	return taken[*UDPConn]("listen", network, false, theirs, err)
}

// netListenMulticastUDP is net.ListenMulticastUDP. It does not park.
func netListenMulticastUDP(network string, ifi *net.Interface, group *net.UDPAddr) (*UDPConn,
	error) {
	theirs, err := net.ListenMulticastUDP(network, ifi, group)
	return taken[*UDPConn]("listen", network, false, theirs, err)
}

// ListenUDPReusePort returns n sockets on one address by SO_REUSEPORT: the
// kernel spreads datagrams over them by a hash of both addresses, so that
// datagrams of one peer always come to the same socket. With one socket for
// each Processor, read by a coroutine that stays there (Spawn.On), no datagram
// changes threads. With port 0 all get the port of the first. The network is
// udp, udp4 or udp6.
func ListenUDPReusePort(network, address string, n int) ([]*UDPConn, error) {
	lc := ListenConfig{Control: reusePort}
	return listenMany(network, address, n, udp, func(at string) (*UDPConn, net.Addr, error) {
		c, err := lc.ListenPacket(context.Background(), network, at)
		if err != nil {
			return nil, nil, err
		}
		return c.(*UDPConn), c.LocalAddr(), nil
	})
}
