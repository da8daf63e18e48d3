package socket

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

var errMissingAddress = errors.New("missing address") // net's own has no name

// targets are the addresses to try, in order.
func (d *Dialer) targets(l limits, n network, address string) ([]net.Addr, error) {
	local := d.LocalAddr
	switch {
	case address == "":
		return nil, errMissingAddress
	case n.isUnix():
		a, err := net.ResolveUnixAddr(n.String(), address)
		if err != nil {
			return nil, err
		}
		if local != nil && local.Network() != a.Network() {
			return nil, mismatched(local)
		}
		return []net.Addr{a}, nil
	}
	// Without httptrace's hooks, which would take a name server for the host
	// that is dialled.
	addrs, err := d.Resolver.internetAddrs(l, untraced{l.ctx}, n.String(), address)
	if err != nil || local == nil {
		return addrs, err
	}
	return reachableFrom(addrs, local)
}

func mismatched(local net.Addr) error {
	return &net.AddrError{Err: "mismatched local address type", Addr: local.String()}
}

// reachableFrom returns those of the family that local is of; one without an IP
// is of both.
func reachableFrom(addrs []net.Addr, local net.Addr) ([]net.Addr, error) {
	from := ipOf(local)
	fits := addrs[:0]
	for _, a := range addrs {
		if a.Network() != local.Network() {
			return nil, mismatched(local)
		}
		if to := ipOf(a); wildcard(from) || wildcard(to) || sameFamily(from, to) {
			fits = append(fits, a)
		}
	}
	if len(fits) == 0 {
		return nil, &net.AddrError{Err: noSuitableAddress, Addr: local.String()}
	}
	return fits, nil
}

func wildcard(ip net.IP) bool { return ip == nil || ip.IsUnspecified() }

func sameFamily(a, b net.IP) bool {
	return (a.To4() != nil) == (b.To4() != nil) && a.To16() != nil && b.To16() != nil
}

// byFamily splits addresses into those of the first one's family and the
// others.
func byFamily(addrs []net.Addr) (first, others []net.Addr) {
	v4 := isIPv4(addrs[0])
	for i, a := range addrs {
		if isIPv4(a) == v4 {
			continue
		}
		first = append(first, addrs[:i]...)
		for _, a := range addrs[i:] {
			if isIPv4(a) == v4 {
				first = append(first, a)
			} else {
				others = append(others, a)
			}
		}
		return first, others
	}
	return addrs, nil
}

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
