package socket

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
)

// literalAddress returns an address of a TCP, UDP or IP network with an IP in
// place of a host's name, so that net, which gets it, need not look up the
// name. Of several IPs it takes the first of IPv4, unless the address is
// written like an IPv6 address. Errors of an address without a name are left to
// net.
func (r *Resolver) literalAddress(ctx context.Context, network, address string) (string, error) {
	host, port, v6 := address, "", strings.Contains(address, ":")
	raw := strings.HasPrefix(network, "ip")
	if !raw {
		var err error
		if host, port, err = net.SplitHostPort(address); err != nil {
			return address, nil
		}
		v6 = strings.Contains(address, "[")
	}
	if literal(host) {
		return address, nil
	}
	if !raw {
		if _, err := r.LookupPort(ctx, network, port); err != nil {
			return "", err
		}
	}
	ips, err := r.ipAddrs(ctx, "ip"+strings.TrimLeft(network, "tcpudi"), host)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(ips, func(ip net.IPAddr) bool { return (ip.IP.To4() == nil) == v6 })
	ip := ips[max(i, 0)].String()
	if raw {
		return ip, nil
	}
	return net.JoinHostPort(ip, port), nil
}

// ipOf returns the IP in an address of TCP or UDP; nil for any other.
func ipOf(a net.Addr) net.IP {
	switch a := a.(type) {
	case *net.TCPAddr:
		if a != nil {
			return a.IP
		}
	case *net.UDPAddr:
		if a != nil {
			return a.IP
		}
	}
	return nil
}

// The functions of package net that resolve to one address. The error is a
// *net.AddrError, *net.DNSError or net.UnknownNetworkError. They park if there
// is a name in the address.

func netResolveTCPAddr(network, address string) (*net.TCPAddr, error) {
	return resolveOne(net.ResolveTCPAddr, cmp.Or(network, "tcp"), address)
}

func netResolveUDPAddr(network, address string) (*net.UDPAddr, error) {
	return resolveOne(net.ResolveUDPAddr, cmp.Or(network, "udp"), address)
}

func netResolveIPAddr(network, address string) (*net.IPAddr, error) {
	return resolveOne(net.ResolveIPAddr, cmp.Or(network, "ip"), address)
}

// resolveOne resolves to one address: net does, once the address has no name.
// Net knows the networks, and resolves an empty address without asking.
func resolveOne[A net.Addr](nets func(network, address string) (A, error), network,
	address string) (a A, err error) {
	if a, err = nets(network, ""); err != nil {
		return a, err
	}
	family, _, _ := strings.Cut(network, ":")
	address, err = (*Resolver)(nil).literalAddress(context.Background(), family, address)
	if err != nil {
		var none A
		return none, err
	}
	return nets(network, address)
}
