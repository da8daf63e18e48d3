package socket

import (
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

var errMissingAddress = errors.New("missing address") // net's own has no name

// target returns the one address that is meant. It is nil if that takes
// a look-up, or an error of package net's: the socket cannot be of that address
// or not come from d's.
func (d *Dialer) target(n network, address string) (net.Addr, error) {
	local := d.LocalAddr
	switch {
	case address == "":
		return nil, errMissingAddress
	case n.isUnix():
		a, err := net.ResolveUnixAddr(n.String(), address)
		if err == nil && local != nil && local.Network() != a.Network() {
			err = &net.AddrError{Err: "mismatched local address type", Addr: local.String()}
		}
		return as[net.Addr](a, err)
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil || ap.Addr() == netip.IPv6Unspecified() { // which is 0.0.0.0 too
		return nil, nil
	}
	to := makeAddr(n.String(), net.IPAddr{IP: ap.Addr().AsSlice(), Zone: ap.Addr().Zone()},
		int(ap.Port()))
	v4 := isIPv4(to)
	if v4 && (n == tcp6 || n == udp6) || !v4 && (n == tcp4 || n == udp4) {
		return nil, nil
	}
	if from := ipOf(local); local != nil && (local.Network() != to.Network() ||
		!wildcard(from) && (from.To4() != nil) != v4) {
		return nil, nil
	}
	return to, nil
}

func wildcard(ip net.IP) bool { return ip == nil || ip.IsUnspecified() }

// family returns the address family to connect with, as net chooses it. No IP
// is one of either.
func family(n network, local, remote net.IP) int {
	switch n {
	case tcp4, udp4:
		return unix.AF_INET
	case tcp6, udp6:
		return unix.AF_INET6
	}
	if takesIPv4(local) && takesIPv4(remote) {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func takesIPv4(ip net.IP) bool { return len(ip) <= net.IPv4len || ip.To4() != nil }

// sockaddr is the kernel's form of an address for fd, which is of a family. The
// kernel takes an unspecified IP for this host.
func sockaddr(fd, family int, a *net.TCPAddr) (unix.Sockaddr, error) {
	ip := a.IP
	if family == unix.AF_INET {
		sa := &unix.SockaddrInet4{Port: a.Port}
		if len(ip) == 0 {
			return sa, nil
		}
		ip4 := ip.To4()
		if ip4 == nil {
			return nil, &net.AddrError{Err: "non-IPv4 address", Addr: ip.String()}
		}
		copy(sa.Addr[:], ip4)
		return sa, nil
	}
	sa := &unix.SockaddrInet6{Port: a.Port, ZoneId: zoneIndex(fd, a.Zone)}
	if len(ip) == 0 || ip.Equal(net.IPv4zero) {
		return sa, nil
	}
	ip6 := ip.To16()
	if ip6 == nil {
		return nil, &net.AddrError{Err: "non-IPv6 address", Addr: ip.String()}
	}
	copy(sa.Addr[:], ip6)
	return sa, nil
}
