package socket

import (
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

var errMissingAddress = errors.New("missing address") // net's own has no name

// target returns the single TCP address to dial. It is nil if package net is to
// dial: for another network, a name to look up, or an error.
func (d *Dialer) target(n network, address string) *net.TCPAddr {
	ap, err := netip.ParseAddrPort(address)
	if !n.isTCP() || err != nil || ap.Addr() == netip.IPv6Unspecified() { // which is 0.0.0.0 too
		return nil
	}
	to := net.TCPAddrFromAddrPort(ap)
	if d.LocalAddr != nil && d.LocalAddr.Network() != to.Network() ||
		!suit(n, ipOf(d.LocalAddr), to.IP) {
		return nil
	}
	return to
}

// suit reports whether two addresses are of one family, which the network
// allows.
func suit(n network, from, to net.IP) bool {
	v4 := to.To4() != nil
	return (wildcard(from) || (from.To4() != nil) == v4) &&
		(n == tcp || n == udp || (n == tcp4 || n == udp4) == v4)
}

func wildcard(ip net.IP) bool { return ip == nil || ip.IsUnspecified() }

// family returns the address family to connect a TCP socket with, as net
// chooses it. A missing IP suits either family.
func family(n network, local, remote net.IP) int {
	switch n {
	case tcp4:
		return unix.AF_INET
	case tcp6:
		return unix.AF_INET6
	}
	if takesIPv4(local) && takesIPv4(remote) {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func takesIPv4(ip net.IP) bool { return len(ip) <= net.IPv4len || ip.To4() != nil }

// sockaddr is the kernel's form of an address for fd, a socket of a given
// family. The kernel takes an unspecified IP for this host.
func sockaddr(fd, family int, a *net.TCPAddr) (unix.Sockaddr, error) {
	ip, err := ofFamily(a.IP, family == unix.AF_INET6)
	switch {
	case err != nil:
		return nil, err
	case family == unix.AF_INET6:
		zone := zoneIndex(fd, a.Zone)
		return &unix.SockaddrInet6{Port: a.Port, Addr: ip.As16(), ZoneId: zone}, nil
	}
	return &unix.SockaddrInet4{Port: a.Port, Addr: ip.As4()}, nil
}

// ofFamily returns an IP for a socket of IPv4 or IPv6, or net's error. An IPv6
// socket takes IPv4 addresses, mapped. A missing IP, and IPv4's 0.0.0.0, mean
// any address.
func ofFamily(ip net.IP, v6 bool) (netip.Addr, error) {
	a, ok := netip.AddrFromSlice(ip)
	switch {
	case len(ip) == 0 && !v6:
		return netip.IPv4Unspecified(), nil
	case len(ip) == 0 || v6 && ip.Equal(net.IPv4zero):
		return netip.IPv6Unspecified(), nil
	case ok && (v6 || a.Unmap().Is4()):
		return a, nil
	case v6:
		return a, &net.AddrError{Err: "non-IPv6 address", Addr: ip.String()}
	}
	return a, &net.AddrError{Err: "non-IPv4 address", Addr: ip.String()}
}
