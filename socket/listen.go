package socket

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ListenConfig has the settings of Listen and ListenPacket. The zero value is what they use. Its fields are those of
// net.ListenConfig and mean the same.
type ListenConfig struct {
	// Control, if it is not nil, is called with the fd before it is bound. It may set options; it must not keep the fd.
	Control func(network, address string, c syscall.RawConn) error

	// KeepAlive is the idle time and the interval of keep-alive probes for accepted connections: 0 is 15 s, negative is
	// none. KeepAliveConfig goes before it if it is enabled.
	KeepAlive       time.Duration
	KeepAliveConfig net.KeepAliveConfig
}

// keepAlive is what connections are to have.
func keepAlive(d time.Duration, config net.KeepAliveConfig) net.KeepAliveConfig {
	if config.Enable {
		return config
	}
	return net.KeepAliveConfig{Enable: d >= 0, Idle: d, Interval: d}
}

// Listen announces on a local address, as net.Listen does and with its errors. The network is tcp, tcp4, tcp6, unix or
// unixpacket; the result is a *TCPListener or a *UnixListener. A name in the address is resolved, which parks; an address is
// not looked up.
func Listen(network, address string) (net.Listener, error) {
	return new(ListenConfig).Listen(context.Background(), network, address)
}

// Listen is the function Listen with these settings. ctx ends a look-up; it does not end the listener.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	n, err := parseNetwork(network)
	if err == nil && !n.isTCP() && n != unixNet && n != unixpacket {
		err = &net.AddrError{Err: "unexpected address type", Addr: address}
	}
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	return offload(address, func() (net.Listener, error) { return lc.borrowListener(ctx, n, address) })
}

// borrowListener lets package net make the listening socket, so that addresses, dual stack, backlog and errors are net's, and
// takes its fd over. That happens once in a daemon's life. It may block for a look-up.
func (lc *ListenConfig) borrowListener(ctx context.Context, n network, address string) (net.Listener, error) {
	theirs := net.ListenConfig{Control: lc.Control}
	theirs.SetMultipathTCP(false) // connections of a multipath listener do not inherit its options on every kernel
	nl, err := theirs.Listen(ctx, n.String(), address)
	if err != nil {
		return nil, err
	}
	defer nl.Close()
	fd, err := borrow(nl.(syscall.Conn))
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: n.String(), Addr: nl.Addr(), Err: err}
	}
	// Connections inherit options, which saves calls for each.
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	setKeepAlive(fd, keepAlive(lc.KeepAlive, lc.KeepAliveConfig))
	l := new(TCPListener)
	l.init(fd, n)
	l.at.local.LocalAddr(fd)
	return l, nil
}

// borrow returns an fd of ours for a socket of net's, which may then be closed.
func borrow(c syscall.Conn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	if cerr := raw.Control(func(theirs uintptr) {
		fd, err = unix.FcntlInt(theirs, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		return -1, cerr
	}
	return fd, os.NewSyscallError("fcntl", err)
}

// ListenReusePort returns n listeners on one address by SO_REUSEPORT: the kernel spreads connections over them by a hash of the
// peer's address. With one for each Processor, accepted by a coroutine that GoOn started there, no connection changes
// threads. A single TCPListener and Go spread more evenly. With port 0 all get the port that the first was given. The network is
// tcp, tcp4 or tcp6.
func ListenReusePort(network, address string, n int) ([]*TCPListener, error) {
	if n < 1 {
		return nil, &net.OpError{Op: "listen", Net: network, Err: os.NewSyscallError("reuseport", unix.EINVAL)}
	}
	if parsed, err := parseNetwork(network); err == nil && !parsed.isTCP() {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	lc := ListenConfig{Control: reusePort}
	var all []*TCPListener
	for range n {
		l, err := lc.Listen(context.Background(), network, address)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, err
		}
		all = append(all, l.(*TCPListener))
		address = l.Addr().String()
	}
	return all, nil
}

// reusePort is a ListenConfig.Control.
func reusePort(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) {
		err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	}); cerr != nil {
		return cerr
	}
	return err
}

// ListenTCP is Listen for an address of package net; nil is any address and a free port.
func ListenTCP(network string, laddr *net.TCPAddr) (*TCPListener, error) {
	if n, err := parseNetwork(network); err != nil || !n.isTCP() {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: opAddr(laddr), Err: net.UnknownNetworkError(network)}
	}
	if laddr == nil {
		laddr = new(net.TCPAddr)
	}
	l, err := Listen(network, laddr.String())
	if err != nil {
		return nil, err
	}
	return l.(*TCPListener), nil
}

// opAddr is a for an OpError: no interface that holds a nil pointer.
func opAddr(a *net.TCPAddr) net.Addr {
	if a == nil {
		return nil
	}
	return a
}
