package socket

import (
	"context"
	"errors"
	"math"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/clock"
)

// Resolver looks up names without blocking a Processor: a coroutine is parked
// while Go's resolver is asked on an ordinary goroutine. Goroutines ask in
// place. Addresses and port numbers are answered at once.
//
// The methods are those of net.Resolver, with its results and errors; besides
// these there is netco.ErrShutdown, at a forced shutdown. Answers are the
// caller's own. A coroutine goes by its context at once; Go's resolver may go
// on with the look-up for a while. Hooks of net/http/httptrace are called as
// package net calls them, on the asker's coroutine or goroutine.
//
// Nothing limits how many look-ups are under way, so none waits for another: a
// name whose server is silent holds up those who ask for it. Each takes a
// goroutine, and a descriptor or two; with C's resolver a thread, of which
// package net takes 500 at most.
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

	made atomic.Pointer[net.Resolver] // of the fields above, by the first caller that needs it
}

// ownResolver is asked where no Resolver is named, unless another one takes its
// place: resolverAt is where package netco/net's DefaultResolver is.
var (
	ownResolver Resolver
	resolverAt  **Resolver
)

// defaultResolver returns the one to ask where none is named.
func defaultResolver() *Resolver {
	if resolverAt != nil && *resolverAt != nil {
		return *resolverAt
	}
	return &ownResolver
}

func (r *Resolver) orDefault() *Resolver {
	if r == nil {
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

// LookupHost returns the addresses of a host. The error is a *net.DNSError.
// Parks, unless it is an address.
func (r *Resolver) LookupHost(ctx context.Context, host string) ([]string, error) {
	if literal(host) {
		return r.orDefault().asked().LookupHost(ctx, host)
	}
	return ask(r, only(ctx), ctx, host,
		func(ctx context.Context, of *net.Resolver) ([]string, error) {
			addrs, err := of.LookupHost(ctx, host)
			noteAsked(host, err)
			return addrs, err
		})
}

// LookupIPAddr returns the IPv4 and IPv6 addresses of a host. The error is a
// *net.DNSError. Parks, unless it is an address.
func (r *Resolver) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	return r.ipAddrs(only(ctx), ctx, "ip", host)
}

// LookupIP returns the addresses of a host for network ip, ip4 or ip6. The
// error is a net.UnknownNetworkError or a *net.DNSError. Parks, unless it is an
// address.
func (r *Resolver) LookupIP(ctx context.Context, network, host string) ([]net.IP, error) {
	return r.ips(only(ctx), ctx, network, host)
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

// services are the results of LookupSRV.
type services struct {
	cname string
	srvs  []*net.SRV
}

// LookupSRV returns the servers of a service, as net.Resolver.LookupSRV does.
// The error is a *net.DNSError. Parks.
func (r *Resolver) LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV,
	error) {
	s, err := ask(r, only(ctx), ctx, name,
		func(ctx context.Context, of *net.Resolver) (s services, err error) {
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

// lookup asks for what package net looks up by one name.
func lookup[T any](r *Resolver, ctx context.Context, name string,
	by func(*net.Resolver, context.Context, string) (T, error)) (T, error) {
	return ask(r, only(ctx), ctx, name,
		func(ctx context.Context, of *net.Resolver) (T, error) { return by(of, ctx, name) })
}

// only are the limits of a context and nothing else.
func only(ctx context.Context) limits { return limits{ctx: ctx} }

// literal reports whether net answers for a host without looking it up: an
// address, or "", which is an error.
func literal(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == ""
}

// lookups runs Go's resolver for coroutines, any number at a time.
var lookups = func() *blocking.Pool {
	p := new(blocking.Pool)
	if err := p.SetLimit(math.MaxInt); err != nil {
		panic(err)
	}
	return p
}()

// ask calls fn where it may block, and waits for it until the limits say. ctx
// is l.ctx, with the values that the look-up is to see.
func ask[T any](r *Resolver, l limits, ctx context.Context, name string,
	fn func(context.Context, *net.Resolver) (T, error)) (v T, err error) {
	if err := l.err(); err != nil {
		return v, dnsError(err, name)
	}
	of := r.orDefault().asked()
	if !l.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, l.until)
		defer cancel()
	}
	switch {
	case !clock.InBubble():
		r := new(struct { // the look-up's, also after it was given up
			v   T
			err error
		})
		if err = lookups.Do(ctx, func() { r.v, r.err = fn(ctx, of) }); err == nil {
			v, err = r.v, r.err
		}
	case askedOutside.Load():
		v, err = fn(ctx, of) // a worker is none of the bubble's
	default:
		err = dnsError(errFirstInBubble, name)
	}
	if ended := ctx.Err(); err != nil && ended != nil {
		err = dnsError(contextError(ended), name)
	}
	return v, err
}

// askedOutside reports whether Go's resolver has been used outside bubbles of
// testing/synctest. What it makes at its first use, a channel, is else that
// bubble's, and ends the program at the next use elsewhere.
var askedOutside atomic.Bool

var errFirstInBubble = errors.New("netco: the first look-up cannot be made in a testing/synctest " +
	"bubble")

// noteAsked notes the use of Go's resolver, after a look-up of a host. One that
// has failed may have got by without.
func noteAsked(host string, err error) {
	if err == nil && !literal(host) {
		askedOutside.Store(true)
	}
}

// dnsError is what net makes of the end of a context.
func dnsError(err error, name string) error {
	e := &net.DNSError{UnwrapErr: err, Err: err.Error(), Name: name}
	if ne, ok := err.(net.Error); ok {
		e.IsTimeout, e.IsTemporary = ne.Timeout(), ne.Timeout()
	}
	return e
}
