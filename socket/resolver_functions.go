package socket

import (
	"context"
	"net"
	"strings"
)

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
