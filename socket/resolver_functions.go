package socket

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// LookupHost is DefaultResolver's, without a context. So are the other
// functions named as methods of Resolver. Their errors are *net.DNSError.
// Parks.
func LookupHost(host string) ([]string, error) {
	return DefaultResolver.LookupHost(context.Background(), host)
}

// LookupIP returns the IPv4 and IPv6 addresses of a host. The error is a
// *net.DNSError. Parks, unless it is an address.
func LookupIP(host string) ([]net.IP, error) {
	addrs, err := DefaultResolver.LookupIPAddr(context.Background(), host)
	if err != nil {
		return nil, err
	}
	ips := make([]net.IP, len(addrs))
	for i, a := range addrs {
		ips[i] = a.IP
	}
	return ips, nil
}

// LookupIPAddr returns the IPv4 and IPv6 addresses of a host with their zones.
// The error is a *net.DNSError. Parks, unless it is an address.
func LookupIPAddr(host string) ([]net.IPAddr, error) {
	return DefaultResolver.LookupIPAddr(context.Background(), host)
}

// LookupNetIP returns the addresses of a host for network ip, ip4 or ip6. The
// error is a net.UnknownNetworkError or a *net.DNSError. Parks, unless it is an
// address.
func LookupNetIP(network, host string) ([]netip.Addr, error) {
	return DefaultResolver.LookupNetIP(context.Background(), network, host)
}

// LookupPort returns the port number of a service. The error is a
// *net.AddrError for an invalid network or number, else a *net.DNSError. Parks,
// unless it is a number.
func LookupPort(network, service string) (int, error) {
	return DefaultResolver.LookupPort(context.Background(), network, service)
}

// LookupAddr returns the names of an address. The error is a *net.DNSError.
// Parks.
func LookupAddr(addr string) ([]string, error) {
	return DefaultResolver.LookupAddr(context.Background(), addr)
}

// LookupCNAME returns the canonical name of a host. The error is a
// *net.DNSError. Parks.
func LookupCNAME(host string) (string, error) {
	return DefaultResolver.LookupCNAME(context.Background(), host)
}

// LookupMX returns the mail servers of a domain, sorted by preference. The
// error is a *net.DNSError. Parks.
func LookupMX(name string) ([]*net.MX, error) {
	return DefaultResolver.LookupMX(context.Background(), name)
}

// LookupNS returns the name servers of a domain. The error is a *net.DNSError.
// Parks.
func LookupNS(name string) ([]*net.NS, error) {
	return DefaultResolver.LookupNS(context.Background(), name)
}

// LookupSRV returns the servers of a service. The error is a *net.DNSError.
// Parks.
func LookupSRV(service, proto, name string) (cname string, addrs []*net.SRV, err error) {
	return DefaultResolver.LookupSRV(context.Background(), service, proto, name)
}

// LookupTXT returns the text records of a name. The error is a *net.DNSError.
// Parks.
func LookupTXT(name string) ([]string, error) {
	return DefaultResolver.LookupTXT(context.Background(), name)
}

// ResolveTCPAddr returns the TCP address of host:port for network tcp, tcp4 or
// tcp6; of several the first of IPv4, unless the address is written as one of
// IPv6. The error is a *net.AddrError, *net.DNSError or
// net.UnknownNetworkError. Parks if there is a name in it.
func ResolveTCPAddr(network, address string) (*net.TCPAddr, error) {
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

// ResolveUDPAddr is ResolveTCPAddr for network udp, udp4 or udp6.
func ResolveUDPAddr(network, address string) (*net.UDPAddr, error) {
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

// ResolveIPAddr returns the address of a host for network ip, ip4 or ip6, which
// a colon and a protocol may follow. The error is a *net.AddrError,
// *net.DNSError or net.UnknownNetworkError. Parks if there is a name in it.
func ResolveIPAddr(network, address string) (*net.IPAddr, error) {
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
		_, err := ask(DefaultResolver, only(ctx), ctx, protocol,
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
	addrs, err := DefaultResolver.internetAddrs(only(context.Background()), context.Background(),
		network, address)
	if err != nil {
		return nil, err
	}
	// "tcp6" and its like have what they want already.
	v6 = v6 && strings.TrimRight(network, "46") == network
	return firstAddr(addrs, !v6), nil
}
