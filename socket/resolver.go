package socket

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
)

// Resolver looks up names without blocking a Processor: Go's resolver is asked
// on an ordinary goroutine, and the caller is parked, or blocked if it is a
// goroutine itself. Callers that ask the same at the same time share one
// look-up, from which each may go by its own context; it is cancelled when the
// last has gone. Addresses and port numbers are answered at once.
//
// The methods are those of net.Resolver, with its results and errors; besides
// these there is coroutine.ErrShutdown, at a forced shutdown. Answers are the
// caller's own. The look-up sees the values of the context of the first to ask.
// Hooks of net/http/httptrace are called as package net calls them, each
// asker's own, on its coroutine or goroutine.
//
// The zero Resolver, and a nil one, is ready for use. It must not be copied,
// and its fields not be changed once it has been used.
type Resolver struct {
	// PreferGo, StrictErrors and Dial are those of the net.Resolver that is
	// asked if Net is nil. Dial is called on ordinary goroutines. If none is
	// set it is net.DefaultResolver.
	PreferGo     bool
	StrictErrors bool
	Dial         func(ctx context.Context, network, address string) (net.Conn, error)

	// Net is asked; nil is as the fields above say.
	Net *net.Resolver

	// Limit is how many look-ups are under way at most, 0 is 32. Others wait in
	// a queue. Each may take a thread if C's resolver is in use, and a
	// descriptor or two if it is Go's.
	Limit int

	flights flights
	made    atomic.Pointer[net.Resolver] // of the fields above, by the first caller that needs it
}

// DefaultResolver is used by the package's look-up functions, and by Dialers
// without one of their own.
var DefaultResolver = &Resolver{}

const defaultLookups = 32

func (r *Resolver) orDefault() *Resolver {
	if r == nil || r == DefaultResolver {
		return defaultResolver()
	}
	return r
}

func (r *Resolver) asked() *net.Resolver {
	switch {
	case r.Net != nil:
		return r.Net
	case !r.PreferGo && !r.StrictErrors && r.Dial == nil:
		return net.DefaultResolver
	}
	if r.made.Load() == nil {
		r.made.CompareAndSwap(nil, &net.Resolver{PreferGo: r.PreferGo, StrictErrors: r.StrictErrors,
			Dial: r.Dial})
	}
	return r.made.Load()
}

func (r *Resolver) limit() int {
	if r.Limit < 1 {
		return defaultLookups
	}
	return r.Limit
}

// LookupHost returns the addresses of a host. The error is a *net.DNSError.
// Parks, unless it is an address.
func (r *Resolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	if literal(host) {
		return r.orDefault().asked().LookupHost(ctx, host)
	}
	return answer(r, only(ctx), context.WithoutCancel(ctx), question{kind: askHost, name: host},
		func(ctx context.Context, of *net.Resolver) ([]string, error) {
			return of.LookupHost(ctx, host)
		}, slices.Clone)
}

// LookupIPAddr returns the IPv4 and IPv6 addresses of a host. The error is a
// *net.DNSError. Parks, unless it is an address.
func (r *Resolver) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return r.ipAddrs(only(ctx), context.WithoutCancel(ctx), "ip", host)
}

// LookupIP returns the addresses of a host for network ip, ip4 or ip6. The
// error is a net.UnknownNetworkError or a *net.DNSError. Parks, unless it is an
// address.
func (r *Resolver) LookupIP(ctx context.Context, network, host string) ([]net.IP, error) {
	return r.ips(only(ctx), context.WithoutCancel(ctx), network, host)
}

// LookupNetIP returns the addresses of a host for network ip, ip4 or ip6. The
// error is a net.UnknownNetworkError or a *net.DNSError. Parks, unless it is an
// address.
func (r *Resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	ips, err := r.LookupIP(ctx, network, host)
	if err != nil {
		return nil, err
	}
	addrs := make([]netip.Addr, 0, len(ips))
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			addrs = append(addrs, a)
		}
	}
	return addrs, nil
}

// LookupPort returns the port number of a service, for network tcp, tcp4, tcp6,
// udp, udp4, udp6 or ip. The error is a *net.AddrError for an invalid network
// or number, else a *net.DNSError. Parks, unless it is a number.
func (r *Resolver) LookupPort(ctx context.Context, network, service string) (int, error) {
	return r.port(only(ctx), network, service)
}

// LookupAddr returns the names of an address. The error is a *net.DNSError.
// Parks.
func (r *Resolver) LookupAddr(ctx context.Context, addr string) ([]string, error) {
	return answer(r, only(ctx), context.WithoutCancel(ctx), question{kind: askAddr, name: addr},
		func(ctx context.Context, of *net.Resolver) ([]string, error) {
			return of.LookupAddr(ctx, addr)
		}, slices.Clone)
}

// LookupCNAME returns the canonical name of a host. The error is a
// *net.DNSError. Parks.
func (r *Resolver) LookupCNAME(ctx context.Context, host string) (string, error) {
	return answer(r, only(ctx), context.WithoutCancel(ctx), question{kind: askCNAME, name: host},
		func(ctx context.Context, of *net.Resolver) (string, error) {
			return of.LookupCNAME(ctx, host)
		}, itself)
}

// LookupMX returns the mail servers of a domain, sorted by preference. The
// error is a *net.DNSError. Parks.
func (r *Resolver) LookupMX(ctx context.Context, name string) ([]*net.MX, error) {
	return answer(r, only(ctx), context.WithoutCancel(ctx), question{kind: askMX, name: name},
		func(ctx context.Context, of *net.Resolver) ([]*net.MX, error) {
			return of.LookupMX(ctx, name)
		}, clonePointers)
}

// LookupNS returns the name servers of a domain. The error is a *net.DNSError.
// Parks.
func (r *Resolver) LookupNS(ctx context.Context, name string) ([]*net.NS, error) {
	return answer(r, only(ctx), context.WithoutCancel(ctx), question{kind: askNS, name: name},
		func(ctx context.Context, of *net.Resolver) ([]*net.NS, error) {
			return of.LookupNS(ctx, name)
		}, clonePointers)
}

// services are the results of LookupSRV.
type services struct {
	cname string
	srvs  []*net.SRV
}

// LookupSRV returns the servers of a service, as net.Resolver.LookupSRV does.
// Callers that share a look-up get the same order, which is random within a
// priority. The error is a *net.DNSError. Parks.
func (r *Resolver) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV,
	error) {
	s, err := answer(r, only(ctx), context.WithoutCancel(ctx),
		question{kind: askSRV, network: service + "\x00" + proto, name: name},
		func(ctx context.Context, of *net.Resolver) (s services, err error) {
			s.cname, s.srvs, err = of.LookupSRV(ctx, service, proto, name)
			return s, err
		},
		func(s services) services { return services{s.cname, clonePointers(s.srvs)} })
	return s.cname, s.srvs, err
}

// LookupTXT returns the text records of a name. The error is a *net.DNSError.
// Parks.
func (r *Resolver) LookupTXT(ctx context.Context, name string) ([]string, error) {
	return answer(r, only(ctx), context.WithoutCancel(ctx), question{kind: askTXT, name: name},
		func(ctx context.Context, of *net.Resolver) ([]string, error) {
			return of.LookupTXT(ctx, name)
		}, slices.Clone)
}

// only are the limits of a context and nothing else.
func only(ctx context.Context) limits { return limits{ctx: ctx} }

// literal reports whether net answers for a host without looking it up: an
// address, or "", which is an error.
func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == ""
}

func itself(s string) string { return s }

func clonePointers[T any](s []*T) []*T {
	if s == nil {
		return nil
	}
	c := make([]*T, len(s))
	for i, p := range s {
		v := *p
		c[i] = &v
	}
	return c
}
