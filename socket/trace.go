package socket

import (
	"context"
	"net"
	"net/http/httptrace"
	"reflect"
	"sync"
)

// Dialer and Resolver call httptrace's hooks where package net does, with the
// same arguments, on the coroutine or goroutine that asks: DNSStart and DNSDone
// for a look-up of a host's addresses, ConnectStart and ConnectDone for each
// attempt to connect.

// traceConnect calls ConnectStart and returns what calls ConnectDone, nil for
// nothing.
func traceConnect(ctx context.Context, n network, to net.Addr) (done func(error)) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return nil
	}
	address := to.String()
	if trace.ConnectStart != nil {
		trace.ConnectStart(n.String(), address)
	}
	if trace.ConnectDone == nil {
		return nil
	}
	return func(err error) { trace.ConnectDone(n.String(), address, err) }
}

// traceLookup calls DNSStart and returns what calls DNSDone, nil for nothing.
func traceLookup(ctx context.Context, host string) (done func(httptrace.DNSDoneInfo)) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return nil
	}
	if trace.DNSStart != nil {
		trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	}
	return trace.DNSDone
}

// askTraced is ask for the addresses of a host. The DNS hooks of l.ctx are
// called by the asker, not where package net is asked, which the asker may have
// left by the time that it ends. The connections to name servers are traced
// there, if ctx says so.
func askTraced[T any](r *Resolver, l limits, ctx context.Context, host string,
	fn func(*net.Resolver, context.Context) (T, error)) (T, error) {
	done, trace := traceLookup(l.ctx, host), httptrace.ContextClientTrace(ctx)
	if done == nil && trace == nil {
		return ask(r, l, ctx, host, fn)
	}
	own := &httptrace.ClientTrace{}
	if trace != nil {
		own.ConnectStart, own.ConnectDone = trace.ConnectStart, trace.ConnectDone
		ctx = untraced{ctx}
	}
	if done == nil {
		return ask(r, l, httptrace.WithClientTrace(ctx, own), host, fn)
	}
	var mu sync.Mutex // a Resolver's Dial may look up names too
	var seen httptrace.DNSDoneInfo
	own.DNSDone = func(info httptrace.DNSDoneInfo) {
		mu.Lock()
		seen = info
		mu.Unlock()
	}
	v, err := ask(r, l, httptrace.WithClientTrace(ctx, own), host, fn)
	mu.Lock()
	info := seen
	mu.Unlock()
	if info.Err == nil && len(info.Addrs) == 0 {
		info.Err = err // there was no look-up, or its end was not waited for
	}
	info.Addrs = append([]net.IPAddr{}, cloneIPAddrs(info.Addrs)...)
	done(info)
	return v, err
}

// untraced is a context without httptrace's hooks. There are two values of
// them: the trace, and what package net goes by, whose key is internal.
type untraced struct{ context.Context }

func (c untraced) Value(key any) any {
	if t := reflect.TypeOf(key); t != nil && t.PkgPath() == "internal/nettrace" &&
		t.Name() == "TraceKey" {
		return nil
	}
	v := c.Context.Value(key)
	if _, ok := v.(*httptrace.ClientTrace); ok {
		return nil
	}
	return v
}
