package net

import "context"

// DefaultResolver is used by this package's functions, and by Dialers without a
// Resolver of their own. It may be replaced before it is used for the first
// time, as the standard's may.
var DefaultResolver = new(Resolver)

func init() { names.DefaultResolver(&DefaultResolver) }

// LookupAddr returns the names of an address. Parks.
func LookupAddr(addr string) (names []string, err error) {
	return DefaultResolver.LookupAddr(context.Background(), addr)
}

// LookupCNAME returns the canonical name of a host. Parks.
func LookupCNAME(host string) (cname string, err error) {
	return DefaultResolver.LookupCNAME(context.Background(), host)
}

// LookupHost returns the addresses of a host. Parks, unless it is an address.
func LookupHost(host string) (addrs []string, err error) {
	return DefaultResolver.LookupHost(context.Background(), host)
}

// LookupIP returns the IPv4 and IPv6 addresses of a host. Parks, unless it is
// an address.
func LookupIP(host string) ([]IP, error) {
	addrs, err := DefaultResolver.LookupIPAddr(context.Background(), host)
	if err != nil {
		return nil, err
	}
	ips := make([]IP, len(addrs))
	for i, a := range addrs {
		ips[i] = a.IP
	}
	return ips, nil
}

// LookupMX returns the mail servers of a domain, sorted by preference. Parks.
func LookupMX(name string) ([]*MX, error) {
	return DefaultResolver.LookupMX(context.Background(), name)
}

// LookupNS returns the name servers of a domain. Parks.
func LookupNS(name string) ([]*NS, error) {
	return DefaultResolver.LookupNS(context.Background(), name)
}

// LookupPort returns the port number of a service. Parks, unless it is a
// number.
func LookupPort(network, service string) (port int, err error) {
	return DefaultResolver.LookupPort(context.Background(), network, service)
}

// LookupSRV returns the servers of a service, sorted by priority and in random
// order of weight. Parks.
func LookupSRV(service, proto, name string) (cname string, addrs []*SRV, err error) {
	return DefaultResolver.LookupSRV(context.Background(), service, proto, name)
}

// LookupTXT returns the text records of a name. Parks.
func LookupTXT(name string) ([]string, error) {
	return DefaultResolver.LookupTXT(context.Background(), name)
}

// ResolveIPAddr returns the address of a host for network ip, ip4 or ip6. Parks
// if there is a name in it.
func ResolveIPAddr(network, address string) (*IPAddr, error) {
	return names.ResolveIPAddr(network, address)
}

// ResolveTCPAddr returns the address of host:port for network tcp, tcp4 or
// tcp6. Parks if there is a name in it.
func ResolveTCPAddr(network, address string) (*TCPAddr, error) {
	return names.ResolveTCPAddr(network, address)
}

// ResolveUDPAddr returns the address of host:port for network udp, udp4 or
// udp6. Parks if there is a name in it.
func ResolveUDPAddr(network, address string) (*UDPAddr, error) {
	return names.ResolveUDPAddr(network, address)
}
