package socket

import (
	"context"
	"net"
	"slices"
	"strings"
)

// ipAddrs looks a host up for network ip, ip4 or ip6, as any of net's networks
// asks for it. ctx is ask's.
func (r *Resolver) ipAddrs(l limits, ctx context.Context, network, host string) ([]net.IPAddr,
	error) {
	switch {
	case literal(host):
		return r.orDefault().asked().LookupIPAddr(l.ctx, host)
	case network != "ip":
		ips, err := r.ips(l, ctx, network, host)
		addrs := make([]net.IPAddr, len(ips))
		for i, ip := range ips {
			addrs[i].IP = ip
		}
		return addrs, err
	}
	return askTraced(r, l, ctx, host,
		func(ctx context.Context, of *net.Resolver) ([]net.IPAddr, error) {
			addrs, err := of.LookupIPAddr(ctx, host)
			noteAsked(host, err)
			return cloneIPAddrs(addrs), err
		})
}

// ips is LookupIP. A network with a protocol's name in it is looked up too.
func (r *Resolver) ips(l limits, ctx context.Context, network, host string) ([]net.IP, error) {
	if literal(host) && !strings.Contains(network, ":") {
		return r.orDefault().asked().LookupIP(l.ctx, network, host)
	}
	lookup := func(ctx context.Context, of *net.Resolver) ([]net.IP, error) {
		ips, err := of.LookupIP(ctx, network, host)
		noteAsked(host, err)
		return cloneIPs(ips), err
	}
	if network != "ip" && network != "ip4" && network != "ip6" {
		// An unknown one is not looked up, and one with a protocol only if that
		// exists: the hooks are left to net.
		return ask(r, l, ctx, host, lookup)
	}
	return askTraced(r, l, ctx, host, lookup)
}

// port is LookupPort.
func (r *Resolver) port(l limits, network, service string) (int, error) {
	if strings.Trim(strings.TrimLeft(service, "+-"), "0123456789") == "" {
		// No name, perhaps an error.
		return r.orDefault().asked().LookupPort(l.ctx, network, service)
	}
	return ask(r, l, l.ctx, service,
		func(ctx context.Context, of *net.Resolver) (int, error) {
			return of.LookupPort(ctx, network, service)
		})
}

// Package net gives those that share a look-up the same memory.

func cloneIPs(ips []net.IP) []net.IP {
	c := slices.Clone(ips)
	for i := range c {
		c[i] = slices.Clone(c[i])
	}
	return c
}

func cloneIPAddrs(addrs []net.IPAddr) []net.IPAddr {
	c := slices.Clone(addrs)
	for i := range c {
		c[i].IP = slices.Clone(c[i].IP)
	}
	return c
}

// internetAddrs resolves an address of a TCP, UDP or IP network into all that
// it may mean. ctx is ask's.
func (r *Resolver) internetAddrs(l limits, ctx context.Context, network,
	address string) ([]net.Addr, error) {
	host, port := address, 0
	isIP := strings.HasPrefix(network, "ip")
	if !isIP && address != "" {
		var service string
		var err error
		if host, service, err = net.SplitHostPort(address); err != nil {
			return nil, err
		}
		if port, err = r.port(l, network, service); err != nil {
			return nil, err
		}
	}
	if host == "" {
		return []net.Addr{makeAddr(network, net.IPAddr{}, port)}, nil
	}
	ipNetwork := "ip" + strings.TrimLeft(network, "tcpudi")
	ips, err := r.ipAddrs(l, ctx, ipNetwork, host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 1 && ips[0].IP.Equal(net.IPv6unspecified) {
		// "::" may be there to listen on and not to connect to: net does the
		// same.
		ips = append(ips, net.IPAddr{IP: net.IPv4zero})
	}
	var found []net.Addr
	for _, ip := range ips {
		is4 := ip.IP.To4() != nil
		if ipNetwork == "ip" || is4 == (ipNetwork == "ip4") {
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
	return &net.IPAddr{IP: ip.IP, Zone: ip.Zone}
}

// ipOf returns the IP in an address; ok is false if it is of a Unix socket.
func ipOf(a net.Addr) (ip net.IP, ok bool) {
	switch a := a.(type) {
	case *net.TCPAddr:
		if a != nil {
			ip = a.IP
		}
	case *net.UDPAddr:
		if a != nil {
			ip = a.IP
		}
	case *net.IPAddr:
		if a != nil {
			ip = a.IP
		}
	default:
		return nil, false
	}
	return ip, true
}

func isIPv4(a net.Addr) bool {
	ip, _ := ipOf(a)
	return ip.To4() != nil
}

// firstAddr is the first IPv4 address, or the first that is not, if there is
// one; else the first of all.
func firstAddr(addrs []net.Addr, v4 bool) net.Addr {
	for _, a := range addrs {
		if isIPv4(a) == v4 {
			return a
		}
	}
	return addrs[0]
}

// netResolveTCPAddr returns the TCP address of host:port for network tcp, tcp4
// or tcp6; of several the first of IPv4, unless the address is written as one
// of IPv6. The error is a *net.AddrError, *net.DNSError or
// net.UnknownNetworkError. Parks if there is a name in it.
func netResolveTCPAddr(network, address string) (*net.TCPAddr, error) {
	if network == "" {
		network = "tcp"
	}
	if n, err := parseNetwork(network); err != nil || !n.isTCP() {
		return nil, net.UnknownNetworkError(network)
	}
	a, err := resolveOne(network, address, strings.Contains(address, "["))
	if err != nil {
		return nil, err
	}
	return a.(*net.TCPAddr), nil
}

// netResolveUDPAddr is netResolveTCPAddr for network udp, udp4 or udp6.
func netResolveUDPAddr(network, address string) (*net.UDPAddr, error) {
	if network == "" {
		network = "udp"
	}
	if n, err := parseNetwork(network); err != nil || !n.isUDP() {
		return nil, net.UnknownNetworkError(network)
	}
	a, err := resolveOne(network, address, strings.Contains(address, "["))
	if err != nil {
		return nil, err
	}
	return a.(*net.UDPAddr), nil
}

// netResolveIPAddr returns the address of a host for network ip, ip4 or ip6,
// which a colon and a protocol may follow. The error is a *net.AddrError,
// *net.DNSError or net.UnknownNetworkError. Parks if there is a name in it.
func netResolveIPAddr(network, address string) (*net.IPAddr, error) {
	if network == "" {
		network = "ip"
	}
	family, protocol, has := strings.Cut(network, ":")
	if family != "ip" && family != "ip4" && family != "ip6" {
		return nil, net.UnknownNetworkError(network)
	}
	if has {
		// Net knows what a protocol may be called, from a file. It does not
		// look at an empty address.
		ctx := context.Background()
		_, err := ask(defaultResolver(), only(ctx), ctx, protocol,
			func(context.Context, *net.Resolver) (none struct{}, _ error) {
				_, err := net.ResolveIPAddr(network, "")
				return none, err
			})
		if err != nil {
			return nil, err
		}
	}
	a, err := resolveOne(family, address, network == "ip" && strings.Contains(address, ":"))
	if err != nil {
		return nil, err
	}
	return a.(*net.IPAddr), nil
}

// resolveOne resolves to one address; v6 says that it is written as one of
// IPv6.
func resolveOne(network, address string, v6 bool) (net.Addr, error) {
	addrs, err := defaultResolver().internetAddrs(only(context.Background()), context.Background(),
		network, address)
	if err != nil {
		return nil, err
	}
	// "tcp6" and its like have what they want already.
	v6 = v6 && strings.TrimRight(network, "46") == network
	return firstAddr(addrs, !v6), nil
}
