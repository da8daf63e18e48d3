package socket

import (
	"context"
	"math"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
)

// Resolver looks up names without blocking a Processor: a coroutine parks while
// Go's resolver runs on an ordinary goroutine. Goroutines call it in place.
// Addresses and port numbers need no look-up.
//
// The methods are those of net.Resolver, with its results and errors, and
// netco.ErrShutdown at a forced shutdown. Answers are the caller's own. A
// coroutine whose context ends returns at once; Go's resolver may go on with
// the look-up for a while. Hooks of net/http/httptrace are called as package
// net calls them, on the goroutine that runs the look-up.
//
// Nothing limits how many look-ups are under way, so a name whose server is
// silent holds up only its own callers. Each look-up takes a goroutine, and a
// descriptor or two; with C's resolver a thread, of which package net takes 500
// at most.
//
// The zero Resolver, and a nil one, is ready for use. It must not be copied,
// and its fields not be changed once it has been used.
type Resolver struct {
	// PreferGo, StrictErrors and Dial are those of the net.Resolver that is
	// used if Net is nil. Dial is called on ordinary goroutines. If none is
	// set, net.DefaultResolver is used.
	PreferGo     bool
	StrictErrors bool
	Dial         func(ctx context.Context, network, address string) (net.Conn, error)

	// Net is the resolver to use; if it is nil, the fields above choose one.
	Net *net.Resolver

	made atomic.Pointer[net.Resolver] // of the fields above, by the first caller that needs it
}

// ownResolver is used where no Resolver is given, unless package netco/net has
// set resolverAt to its DefaultResolver.
var (
	ownResolver Resolver
	resolverAt  **Resolver
)

// asked returns the resolver of package net to use.
func (r *Resolver) asked() *net.Resolver {
	switch {
	case r == nil && resolverAt != nil && *resolverAt != nil:
		r = *resolverAt
	case r == nil:
		r = &ownResolver
	}
	switch {
	case r.Net != nil:
		return r.Net
	case !r.PreferGo && !r.StrictErrors && r.Dial == nil:
		return net.DefaultResolver
	case r.made.Load() == nil:
		r.made.CompareAndSwap(nil, &net.Resolver{PreferGo: r.PreferGo, StrictErrors: r.StrictErrors,
			Dial: r.Dial})
	}
	return r.made.Load()
}

// LookupHost returns the addresses of a host. The error is a *net.DNSError.
// Parks, unless it is an address.
func (r *Resolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	return askHost(r, ctx, host,
		func(of *net.Resolver, ctx context.Context) ([]string, error) {
			return of.LookupHost(ctx, host)
		})
}

// LookupIPAddr returns the IPv4 and IPv6 addresses of a host. The error is a
// *net.DNSError. Parks, unless it is an address.
func (r *Resolver) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return r.ipAddrs(ctx, "ip", host)
}

// LookupIP returns the addresses of a host for network ip, ip4 or ip6. The
// error is a net.UnknownNetworkError or a *net.DNSError. Parks, unless it is an
// address.
func (r *Resolver) LookupIP(ctx context.Context, network, host string) ([]net.IP, error) {
	addrs, err := r.LookupNetIP(ctx, network, host)
	var ips []net.IP
	for _, a := range addrs {
		ips = append(ips, a.AsSlice())
	}
	return ips, err
}

// LookupNetIP returns the addresses of a host for network ip, ip4 or ip6. The
// error is a net.UnknownNetworkError or a *net.DNSError. Parks, unless it is an
// address.
func (r *Resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return askHost(r, ctx, host,
		func(of *net.Resolver, ctx context.Context) ([]netip.Addr, error) {
			return of.LookupNetIP(ctx, network, host)
		})
}

// LookupPort returns the port number of a service, for network tcp, tcp4, tcp6,
// udp, udp4, udp6 or ip. The error is a *net.AddrError for an invalid network
// or number, else a *net.DNSError. Parks, unless it is a number.
func (r *Resolver) LookupPort(ctx context.Context, network, service string) (int, error) {
	if strings.Trim(strings.TrimLeft(service, "+-"), "0123456789") == "" { // no name
		return r.asked().LookupPort(ctx, network, service)
	}
	return ask(r, ctx, service, func(of *net.Resolver, ctx context.Context) (int, error) {
		return of.LookupPort(ctx, network, service)
	})
}

// LookupAddr returns the names of an address. The error is a *net.DNSError.
// Parks.
func (r *Resolver) LookupAddr(ctx context.Context, addr string) ([]string, error) {
	return lookup(r, ctx, addr, (*net.Resolver).LookupAddr)
}

// LookupCNAME returns the canonical name of a host. The error is a
// *net.DNSError. Parks.
func (r *Resolver) LookupCNAME(ctx context.Context, host string) (string, error) {
	return lookup(r, ctx, host, (*net.Resolver).LookupCNAME)
}

// LookupMX returns the mail servers of a domain, sorted by preference. The
// error is a *net.DNSError. Parks.
func (r *Resolver) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	return lookup(r, ctx, name, (*net.Resolver).LookupMX)
}

// LookupNS returns the name servers of a domain. The error is a *net.DNSError.
// Parks.
func (r *Resolver) LookupNS(ctx context.Context, name string) ([]*net.NS, error) {
	return lookup(r, ctx, name, (*net.Resolver).LookupNS)
}

// LookupSRV returns the servers of a service, as net.Resolver.LookupSRV does.
// The error is a *net.DNSError. Parks.
func (r *Resolver) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV,
	error) {
	type services struct {
		cname string
		srvs  []*net.SRV
	}
	s, err := lookup(r, ctx, name,
		func(of *net.Resolver, ctx context.Context, name string) (s services, err error) {
			s.cname, s.srvs, err = of.LookupSRV(ctx, service, proto, name)
			return s, err
		})
	return s.cname, s.srvs, err
}

// LookupTXT returns the text records of a name. The error is a *net.DNSError.
// Parks.
func (r *Resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return lookup(r, ctx, name, (*net.Resolver).LookupTXT)
}

// lookup looks up the records of a name.
func lookup[T any](r *Resolver, ctx context.Context, name string,
	by func(*net.Resolver, context.Context, string) (T, error)) (T, error) {
	return ask(r, ctx, name,
		func(of *net.Resolver, ctx context.Context) (T, error) { return by(of, ctx, name) })
}

// ipAddrs is LookupIPAddr for network ip, ip4 or ip6.
func (r *Resolver) ipAddrs(ctx context.Context, network,
	host string) (addrs []net.IPAddr, err error) {
	if literal(host) {
		return r.asked().LookupIPAddr(ctx, host)
	}
	ips, err := r.LookupNetIP(ctx, network, host)
	for _, ip := range ips {
		addrs = append(addrs, net.IPAddr{IP: ip.AsSlice(), Zone: ip.Zone()})
	}
	return addrs, err
}

// literal reports whether net answers for a host without looking it up: an
// address, or "", which is an error.
func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == ""
}

// askHost is ask for the addresses of a host.
func askHost[T any](r *Resolver, ctx context.Context, host string,
	fn func(*net.Resolver, context.Context) (T, error)) (T, error) {
	if literal(host) {
		return fn(r.asked(), ctx)
	}
	return ask(r, ctx, host, fn)
}

// lookups runs Go's resolver for coroutines, any number at a time.
var lookups = func() *blocking.Pool {
	p := new(blocking.Pool)
	if err := p.SetLimit(math.MaxInt); err != nil {
		panic(err)
	}
	return p
}()

// ask calls fn where fn may block, and waits for it until ctx ends. With a nil
// ctx net answers at once, or panics.
func ask[T any](r *Resolver, ctx context.Context, name string,
	fn func(*net.Resolver, context.Context) (T, error)) (v T, err error) {
	of := r.asked()
	if ctx == nil || coroutine.Current() == nil {
		return fn(of, ctx)
	}
	got := new(struct { // the look-up's, even after the caller has given up
		v   T
		err error
	})
	if err = lookups.Do(ctx, func() { got.v, got.err = fn(of, ctx) }); err == nil {
		v, err = got.v, got.err
	}
	if ended := ctx.Err(); err != nil && ended != nil {
		err = dnsError(contextError(ended), name)
	}
	return v, err
}

// dnsError is net's error for the end of a context.
func dnsError(err error, name string) error {
	e := &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: name}
	if ne, ok := err.(net.Error); ok {
		e.IsTimeout, e.IsTemporary = ne.Timeout(), ne.Timeout()
	}
	return e
}
