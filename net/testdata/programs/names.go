// Look-ups, addresses and their errors.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

func main() {
	fmt.Println(net.ResolveTCPAddr("tcp", "127.0.0.1:http"))
	fmt.Println(net.ResolveUDPAddr("udp4", "[::1]:1"))
	fmt.Println(net.ResolveIPAddr("ip4", "192.0.2.1"))
	fmt.Println(net.LookupPort("tcp", "https"))
	fmt.Println(net.LookupPort("tcp", "no such service"))
	fmt.Println(net.LookupHost("192.0.2.1"))
	fmt.Println(net.LookupHost(""))
	fmt.Println(net.ParseCIDR("192.0.2.1/24"))
	fmt.Println(net.ParseMAC("00:00:5e:00:53:01"))
	fmt.Println(net.JoinHostPort("::1", "80"), net.CIDRMask(20, 32), net.IPv6loopback, net.FlagUp|net.FlagMulticast)
	fmt.Println(net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:80")))
	_, _, err := net.SplitHostPort("192.0.2.1")
	var addrErr *net.AddrError
	fmt.Println(err, errors.As(err, &addrErr))
	_, err = net.InterfaceByName("no such interface")
	fmt.Println(err)

	// A resolver whose server cannot be reached, named and by default.
	unreachable := errors.New("no way")
	r := &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, unreachable
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = r.LookupTXT(ctx, "name.example.")
	told("LookupTXT", err)
	dialer := net.Dialer{Resolver: r}
	_, err = dialer.DialContext(ctx, "tcp", "name.example.:80")
	told("Dialer with Resolver", err)

	net.DefaultResolver = r
	_, err = net.LookupIP("name.example.")
	told("LookupIP", err)
	_, err = net.Dial("udp", "name.example.:80")
	told("Dial", err)
	_, err = new(net.Dialer).DialContext(ctx, "tcp", "name.example.:80")
	told("Dialer", err)
	_, err = net.ResolveTCPAddr("tcp", "name.example.:80")
	told("ResolveTCPAddr", err)
	_, err = net.Listen("tcp", "name.example.:80")
	told("Listen", err)
}

// told tells whether an error is of the resolver that cannot reach its server.
func told(what string, err error) {
	var dnsErr *net.DNSError
	fmt.Println(what, errors.As(err, &dnsErr), err != nil && strings.Contains(err.Error(), "no way"))
}
