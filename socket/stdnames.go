package socket

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/netnames"
)

// Names of package net that this package does not need, for package netco/net.

// MultipathTCP reports whether the connection uses Multipath TCP: false, unless
// another package made the socket, as for FileConn.
func (c *TCPConn) MultipathTCP() (bool, error) {
	used := false
	err := c.s.Control(func(fd int) error {
		proto, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
		if err == nil && proto == unix.IPPROTO_MPTCP {
			// A connection that has fallen back to plain TCP is still a socket
			// of this protocol, and there is no error.
			_, err = unix.GetsockoptInt(fd, unix.SOL_MPTCP, mptcpInfo)
			used = !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOPROTOOPT)
		}
		return nil
	})
	return used, c.setError("get", err)
}

const mptcpInfo = 1 // MPTCP_INFO of linux/mptcp.h

// DialIP makes a raw IP socket of package net, from laddr if that is valid,
// with the settings that apply. The result is not of this package: a coroutine
// that reads from it does not park. Use [Socket], or an ordinary goroutine.
func (d *Dialer) DialIP(ctx context.Context, network string, laddr, raddr netip.Addr) (*net.IPConn,
	error) {
	theirs := d.nets()
	if theirs.LocalAddr = nil; laddr.IsValid() {
		theirs.LocalAddr = ipAddr(laddr)
	}
	var err error
	name, _, _ := strings.Cut(network, ":")
	switch {
	case name != "ip" && name != "ip4" && name != "ip6":
		err = net.UnknownNetworkError(network)
	case !raddr.IsValid():
		err = errMissingAddress
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Source: theirs.LocalAddr,
			Addr: ipAddr(raddr), Err: err}
	}
	c, err := theirs.DialContext(ctx, network, raddr.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.IPConn), nil
}

func ipAddr(a netip.Addr) *net.IPAddr {
	return &net.IPAddr{IP: a.AsSlice(), Zone: a.Zone()}
}

func init() {
	netnames.Of = netnames.Functions[TCPConn, TCPListener, UDPConn, UnixConn, UnixListener,
		Resolver]{
		DialTCP:            netDialTCP,
		DialUDP:            netDialUDP,
		DialUnix:           netDialUnix,
		ListenTCP:          netListenTCP,
		ListenUDP:          netListenUDP,
		ListenUnix:         netListenUnix,
		ListenUnixgram:     netListenUnixgram,
		ListenMulticastUDP: netListenMulticastUDP,
		FileConn:           netFileConn,
		FileListener:       netFileListener,
		FilePacketConn:     netFilePacketConn,
		ResolveIPAddr:      netResolveIPAddr,
		ResolveTCPAddr:     netResolveTCPAddr,
		ResolveUDPAddr:     netResolveUDPAddr,
		DefaultResolver:    func(at **Resolver) { resolverAt = at },
	}
}
