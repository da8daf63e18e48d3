package socket

import (
	"context"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ListenPacket announces on a local address, as net.ListenPacket does and with
// its errors. The network is udp, udp4, udp6 or unixgram; the result is a
// *UDPConn or a *UnixConn. A name in the address is resolved, which parks; an
// address is not looked up. ctx ends a look-up.
func (lc *ListenConfig) ListenPacket(ctx context.Context, network, address string) (net.PacketConn,
	error) {
	n, err := parseNetwork(network)
	if n == unixgram {
		// It makes a file.
		return openElsewhere(func() (net.PacketConn, error) {
			return lc.borrowUnixgram(ctx, address)
		})
	}
	var at net.Addr
	if err == nil {
		at, err = localAddr(ctx, n, address)
	}
	if err == nil && !n.isUDP() {
		err = &net.AddrError{Err: "unexpected address type", Addr: address}
	}
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: at, Err: err}
	}
	return lc.borrowPacket(ctx, n, at.String())
}

// borrowPacket lets package net make the socket, for the reasons borrowListener
// has. There is no name in the address.
func (lc *ListenConfig) borrowPacket(ctx context.Context, n network,
	address string) (net.PacketConn, error) {
	theirs := net.ListenConfig{Control: lc.Control}
	c, err := theirs.ListenPacket(ctx, n.String(), address)
	if err != nil {
		return nil, err
	}
	return asPacketConn(takeUDP(n, c.(*net.UDPConn), nil))
}

// asPacketConn avoids a net.PacketConn that is not nil and holds nil.
func asPacketConn(c *UDPConn, err error) (net.PacketConn, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// takeUDP takes over what net's function returned.
func takeUDP(n network, theirs *net.UDPConn, err error) (*UDPConn, error) {
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	fd, err := borrow(theirs)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: n.String(), Addr: theirs.LocalAddr(), Err: err}
	}
	return newUDPConn(fd, n, false), nil
}

// netListenUDP is net.ListenUDP. It does not park.
func netListenUDP(network string, laddr *net.UDPAddr) (*UDPConn, error) {
	theirs, err := net.ListenUDP(network, laddr)
	n, _ := parseNetwork(network) // net knows of no more
	return takeUDP(n, theirs, err)
}

// netListenMulticastUDP is net.ListenMulticastUDP. It does not park.
func netListenMulticastUDP(network string, ifi *net.Interface, group *net.UDPAddr) (*UDPConn,
	error) {
	theirs, err := net.ListenMulticastUDP(network, ifi, group)
	n, _ := parseNetwork(network)
	return takeUDP(n, theirs, err)
}

// ListenUDPReusePort returns n sockets on one address by SO_REUSEPORT: the
// kernel spreads datagrams over them by a hash of both addresses, so that those
// of one peer always come to the same. With one for each Processor, read by a
// coroutine that GoOn started there, no datagram changes threads. With port 0
// all get the port that the first was given. The network is udp, udp4 or udp6.
func ListenUDPReusePort(network, address string, n int) ([]*UDPConn, error) {
	if n < 1 {
		return nil, &net.OpError{Op: "listen", Net: network, Err: os.NewSyscallError("reuseport",
			unix.EINVAL)}
	}
	if parsed, err := parseNetwork(network); err == nil && !parsed.isUDP() {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	lc := ListenConfig{Control: reusePort}
	var all []*UDPConn
	for range n {
		c, err := lc.ListenPacket(context.Background(), network, address)
		if err != nil {
			for _, c := range all {
				c.Close()
			}
			return nil, err
		}
		all = append(all, c.(*UDPConn))
		address = c.LocalAddr().String()
	}
	return all, nil
}
