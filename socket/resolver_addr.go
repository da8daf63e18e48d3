package socket

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strings"
)

func cloneIPAddrs(addrs []net.IPAddr) []net.IPAddr {
	c := slices.Clone(addrs)
	for i := range c {
		c[i].IP = slices.Clone(c[i].IP)
	}
	return c
}

// internetAddrs resolves an address of a TCP, UDP or IP network into all that
// it may mean.
func (r *Resolver) internetAddrs(ctx context.Context, network,
	address string) (found []net.Addr, err error) {
	host, port := address, 0
	if !strings.HasPrefix(network, "ip") && address != "" {
		var service string
		if host, service, err = net.SplitHostPort(address); err != nil {
			return nil, err
		}
		if port, err = r.LookupPort(ctx, network, service); err != nil {
			return nil, err
		}
	}
	if host == "" {
		return []net.Addr{makeAddr(network, net.IPAddr{}, port)}, nil
	}
	ipNetwork := "ip" + strings.TrimLeft(network, "tcpudi")
	ips, err := r.ipAddrs(ctx, ipNetwork, host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 1 && ips[0].IP.Equal(net.IPv6unspecified) {
		// "::" may be there to listen on and not to connect to, as with net.
		ips = append(ips, net.IPAddr{IP: net.IPv4zero})
	}
	for _, ip := range ips {
		if ipNetwork == "ip" || (ip.IP.To4() != nil) == (ipNetwork == "ip4") {
			found = append(found, makeAddr(network, ip, port))
		}
	}
	if len(found) == 0 {
		return nil, &net.AddrError{Err: noSuitableAddress, Addr: host}
	}
	return found, nil
}

const noSuitableAddress = "no suitable address found"

// makeAddr makes an address of the type that a network has.
func makeAddr(network string, ip net.IPAddr, port int) net.Addr {
	switch network[0] {
	case 't':
		return &net.TCPAddr{IP: ip.IP, Port: port, Zone: ip.Zone}
	case 'u':
		return &net.UDPAddr{IP: ip.IP, Port: port, Zone: ip.Zone}
	}
	return &ip
}

// ipOf returns the IP in an address; nil for a nil one and for a Unix socket's.
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
	case *net.IPAddr:
		if a != nil {
			return a.IP
		}
	}
	return nil
}

func isIPv4(a net.Addr) bool { return ipOf(a).To4() != nil }

// firstAddr is the first IPv4 address, or the first that is not, if there is
// one; else the first of all.
func firstAddr(addrs []net.Addr, v4 bool) net.Addr {
	i := slices.IndexFunc(addrs, func(a net.Addr) bool { return isIPv4(a) == v4 })
	return addrs[max(i, 0)]
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

// resolveOne resolves to one address. Net knows the networks, and resolves an
// empty address without asking. Of several addresses the first of IPv4 is
// taken, unless the address is written as one of IPv6.
func resolveOne[A net.Addr](nets func(network, address string) (A, error), network,
	address string) (a A, err error) {
	if a, err = nets(network, ""); err != nil {
		return a, err
	}
	family, _, _ := strings.Cut(network, ":")
	addrs, err := (*Resolver)(nil).internetAddrs(context.Background(), family, address)
	if err != nil {
		var none A
		return none, err
	}
	v6 := network == "ip" && strings.Contains(address, ":") ||
		(network == "tcp" || network == "udp") && strings.Contains(address, "[")
	return firstAddr(addrs, !v6).(A), nil
}
