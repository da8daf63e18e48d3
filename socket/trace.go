package socket

import (
	"context"
	"net"
	"net/http/httptrace"
	"reflect"
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

// lookupValues are a context's values for a look-up whose askers call the DNS
// hooks themselves. The connections to name servers are traced, as by net, for
// the first to ask.
func lookupValues(ctx context.Context) context.Context {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return ctx
	}
	return httptrace.WithClientTrace(untraced{ctx},
		&httptrace.ClientTrace{ConnectStart: trace.ConnectStart, ConnectDone: trace.ConnectDone})
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
