//lint:file-ignore SA1019 Request.Cancel works as in net/http

package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	stdhttp "net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/socket"
)

// DefaultTransport is the Transport of a Client that has none. It has the
// standard's settings and netco's connections.
var DefaultTransport stdhttp.RoundTripper = &Transport{
	Proxy: stdhttp.ProxyFromEnvironment,
	DialContext: (&socket.Dialer{
		Timeout:   30 * time.Second,
		KeepAlive: 30 * time.Second,
	}).DialContext,
	ForceAttemptHTTP2:     true,
	MaxIdleConns:          100,
	IdleConnTimeout:       90 * time.Second,
	TLSHandshakeTimeout:   10 * time.Second,
	ExpectContinueTimeout: 1 * time.Second,
}

// Transport is the standard's Transport for coroutines, with its fields and
// methods. A coroutine that calls RoundTrip, or reads a response's body, parks
// while it waits.
//
// Called in a coroutine, it speaks HTTP/1.1 itself, in the caller and without a
// goroutine for each connection. Rare needs go to the standard's Transport on
// goroutines, for which the coroutine parks: HTTPS; proxies; bodies of more
// than 16 KiB, or that are not in memory; 100 Continue; registered protocols;
// httptrace's hooks for connections; MaxConnsPerHost, Dial, sizes of buffers;
// malformed requests; and all requests once DialContext has returned a
// connection of package net. Called on a goroutine, it uses the standard's
// Transport for everything.
//
// Both Transports have a pool of connections, each with the limits of
// MaxIdleConns and MaxIdleConnsPerHost. Idle connections that the server has
// closed are not used again, and are closed within a second.
//
// The fields must not be changed after the first request.
type Transport struct {
	// As the standard's.
	Proxy                  func(*stdhttp.Request) (*url.URL, error)
	OnProxyConnectResponse func(ctx context.Context, proxyURL *url.URL,
		connectReq *stdhttp.Request, connectRes *stdhttp.Response) error
	DialTLSContext        func(ctx context.Context, network, addr string) (net.Conn, error)
	TLSClientConfig       *tls.Config
	TLSHandshakeTimeout   time.Duration
	DisableKeepAlives     bool
	DisableCompression    bool
	MaxIdleConns          int
	MaxIdleConnsPerHost   int
	MaxConnsPerHost       int
	IdleConnTimeout       time.Duration
	ResponseHeaderTimeout time.Duration
	ExpectContinueTimeout time.Duration
	TLSNextProto          map[string]func(authority string, c *tls.Conn) stdhttp.RoundTripper
	ProxyConnectHeader    stdhttp.Header
	GetProxyConnectHeader func(ctx context.Context, proxyURL *url.URL,
		target string) (stdhttp.Header, error)
	MaxResponseHeaderBytes int64
	WriteBufferSize        int
	ReadBufferSize         int
	ForceAttemptHTTP2      bool
	HTTP2                  *stdhttp.HTTP2Config
	Protocols              *stdhttp.Protocols

	// DialContext makes connections; nil stands for a Dialer of netco/net. It
	// is called in a coroutine. Its connections must park: they are netco's, or
	// types around netco's.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Deprecated: DialContext can be cancelled.
	Dial func(network, addr string) (net.Conn, error)

	// Deprecated: DialTLSContext can be cancelled.
	DialTLS func(network, addr string) (net.Conn, error)

	once     sync.Once
	standard stdhttp.Transport // see std
	// All requests go to the standard's Transport: a dial has returned a
	// connection that does not park, or RegisterProtocol was called for "http".
	foreign    atomic.Bool
	registered atomic.Bool // RegisterProtocol was called
	pool       pool
}

// Clone returns a copy of t's exported fields, as the standard's Clone does.
func (t *Transport) Clone() *Transport {
	var std stdhttp.Transport
	copyFields(&std, t)
	c := new(Transport)
	copyFields(c, std.Clone())
	return c
}

// RegisterProtocol has rt make the round trips for a URL scheme, on goroutines.
func (t *Transport) RegisterProtocol(scheme string, rt stdhttp.RoundTripper) {
	t.standard.RegisterProtocol(scheme, rt)
	t.registered.Store(true)
	if scheme == "http" {
		t.foreign.Store(true)
	}
}

// CloseIdleConnections closes the idle connections.
func (t *Transport) CloseIdleConnections() {
	t.pool.mu.Lock()
	t.pool.closing = true
	t.pool.mu.Unlock()
	t.closeIdle(func(*persistConn) bool { return true })
	t.std().CloseIdleConnections()
}

// CancelRequest cancels a request of a goroutine that is under way.
//
// Deprecated: a request's context does that.
func (t *Transport) CancelRequest(req *stdhttp.Request) { t.std().CancelRequest(req) }

// RoundTrip implements http.RoundTripper. Parks.
func (t *Transport) RoundTrip(req *stdhttp.Request) (*stdhttp.Response, error) {
	switch {
	case coroutine.Current() == nil:
		return t.std().RoundTrip(req)
	case !t.speaks(req):
		return t.roundTripBeside(req)
	}
	x := newTrip(t, req)
	key := net.JoinHostPort(req.URL.Hostname(), cmp.Or(req.URL.Port(), "80"))
	for {
		var err error
		if x.pc, err = t.getConn(x, key); err != nil {
			if x.req.Body != nil {
				x.req.Body.Close() // as Request.Write does
			}
			x.end()
			return nil, err
		}
		x.stop = context.AfterFunc(x.ctx, x.pc.close)
		resp, err := x.roundTrip()
		if err == nil {
			resp.Request = req
			return resp, nil
		}
		if !x.shouldRetry(err) || x.cancelled() != nil || !x.rewind() {
			x.end()
			return nil, err
		}
	}
}

// trip is a RoundTrip, up to the end of the response's body. It serves as that
// body too.
type trip struct {
	t    *Transport
	req  stdhttp.Request // as it is sent
	ctx  context.Context // constant: the request's
	gzip bool            // constant: the Transport has asked for it
	end  func()          // constant: releases what newTrip has made

	pc   *persistConn
	stop func() bool // cancels the AfterFunc that closes pc when ctx ends

	body   io.Reader   // constant: the response's body, from the standard's code
	keep   bool        // constant: pc may be reused
	err    error       // the reader's: set for good by the Read that failed
	closed atomic.Bool // Close was called
	done   atomic.Bool // finish was called
}

func newTrip(t *Transport, req *stdhttp.Request) *trip {
	x := &trip{t: t, req: *req, ctx: req.Context(), end: func() {}}
	r := &x.req
	x.gzip = !t.DisableCompression && len(r.Header["Accept-Encoding"]) == 0 &&
		len(r.Header["Range"]) == 0 && r.Method != "HEAD"
	if x.gzip {
		r.Header = maps.Clone(req.Header)
		r.Header["Accept-Encoding"] = []string{"gzip"}
	}
	r.Close = r.Close || t.DisableKeepAlives && len(r.Header["Upgrade"]) == 0
	if req.Cancel != nil {
		ctx, cancel := context.WithCancelCause(x.ctx)
		x.ctx, x.end = ctx, func() { cancel(nil) }
		go func() {
			select {
			case <-req.Cancel:
				cancel(errRequestCanceled)
			case <-ctx.Done():
			}
		}()
	}
	return x
}

// cancelled returns why the request was cancelled, or nil.
func (t *trip) cancelled() error {
	if t.ctx.Err() == nil {
		return nil
	}
	return context.Cause(t.ctx)
}

// rewind makes the body ready for another attempt.
func (t *trip) rewind() bool {
	req := &t.req
	if req.Body == nil || req.Body == stdhttp.NoBody {
		return true
	}
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	req.Body = body
	return err == nil
}

// Errors as the standard's Transport has them.
var (
	errRequestCanceled  = errors.New("net/http: request canceled")
	errReadOnClosedBody = errors.New("http: read on closed response body")
	errTimeout          = timeoutError{}
)

// timeoutError is a net.Error.
type timeoutError struct{}

func (timeoutError) Error() string     { return "net/http: timeout awaiting response headers" }
func (timeoutError) Timeout() bool     { return true }
func (timeoutError) Temporary() bool   { return true }
func (timeoutError) Is(err error) bool { return err == context.DeadlineExceeded }

// speaks reports whether this package makes the request. It leaves malformed
// requests to the standard's Transport, which says what is wrong.
func (t *Transport) speaks(req *stdhttp.Request) bool {
	u := req.URL
	if u == nil || u.Scheme != "http" || u.Host == "" || !allIn(u.Host, &hostBytes) ||
		req.Method != "" && !isToken(req.Method) || !validHeader(req.Header) ||
		req.Header == nil || len(req.Header["Expect"]) > 0 || len(req.Trailer) > 0 {
		return false
	}
	if t.foreign.Load() || t.Dial != nil || t.MaxConnsPerHost > 0 ||
		t.ReadBufferSize > 0 || t.WriteBufferSize > 0 ||
		t.Protocols != nil && !t.Protocols.HTTP1() {
		return false
	}
	if req.Body != nil && req.Body != stdhttp.NoBody {
		b, ok := req.Body.(*body) // of a Server
		inMemory := req.GetBody != nil || ok && b.received()
		if !inMemory || req.ContentLength <= 0 || req.ContentLength > maxInline ||
			len(req.TransferEncoding) > 0 {
			return false
		}
	}
	if x := httptrace.ContextClientTrace(req.Context()); x != nil && (x.GetConn != nil ||
		x.GotConn != nil || x.PutIdleConn != nil || x.GotFirstResponseByte != nil) {
		return false
	}
	if t.Proxy != nil {
		proxy, err := t.Proxy(req)
		return proxy == nil && err == nil
	}
	return true
}

// validHeader reports whether all names and values may be sent.
func validHeader(h stdhttp.Header) bool {
	for name, values := range h {
		bad := func(v string) bool { return !allIn(v, &valueBytes) }
		if !isToken(name) || slices.ContainsFunc(values, bad) {
			return false
		}
	}
	return true
}
