//lint:file-ignore SA1019 Request.Cancel works as in net/http

package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	stdhttp "net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/socket"
)

// DefaultTransport is what a Client without a Transport uses: the standard's
// settings, with connections of netco's.
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
// methods. What it waits for parks the coroutine that calls RoundTrip, or reads
// the body of a response.
//
// Called in a coroutine it speaks HTTP/1.1 itself: on connections of its own,
// in the caller, with no goroutine for a connection. It leaves to the
// standard's Transport, on goroutines, what that does better: HTTP/2, and HTTPS
// where HTTP/2 may be negotiated, proxies, registered protocols, files and
// bodies that wait for 100 Continue, requests it refuses, DialTLS, and a
// DialContext that has returned a connection of package net's. The coroutine
// parks for those all the same. On a goroutine all of it is the standard's.
//
// Coroutines and goroutines thus have pools of connections of their own, and
// each of them the limits of MaxIdleConns, MaxIdleConnsPerHost and
// MaxConnsPerHost. Connections that a server has closed while they were idle
// are closed within a second, and used for nothing more.
//
// The fields must not be changed after the first request.
type Transport struct {
	// As the standard's.
	Proxy                  func(*stdhttp.Request) (*url.URL, error)
	OnProxyConnectResponse func(ctx context.Context, proxyURL *url.URL,
		connectReq *stdhttp.Request, connectRes *stdhttp.Response) error

	// DialContext makes connections; nil is a Dialer of netco/net. It is called
	// on a coroutine. The connections are to park: netco's, or types around
	// them.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Deprecated: DialContext can be cancelled.
	Dial func(network, addr string) (net.Conn, error)

	// As the standard's.
	DialTLSContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// Deprecated: DialTLSContext can be cancelled.
	DialTLS func(network, addr string) (net.Conn, error)

	// As the standard's.
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

	standard standardTransport
	foreign  atomic.Bool // a dial has returned a connection that does not park
	pool     pool

	mu      sync.Mutex                                   // never held across a call
	flights map[*stdhttp.Request]context.CancelCauseFunc // under mu, for CancelRequest
	schemes map[string]bool                              // under mu: those of RegisterProtocol
}

// Clone returns a copy of t's exported fields.
func (t *Transport) Clone() *Transport {
	c := new(Transport)
	copyFields(c, t)
	c.TLSNextProto, c.ProxyConnectHeader = maps.Clone(t.TLSNextProto), t.ProxyConnectHeader.Clone()
	c.TLSClientConfig = t.TLSClientConfig.Clone()
	if t.HTTP2 != nil {
		own := *t.HTTP2
		c.HTTP2 = &own
	}
	if t.Protocols != nil {
		own := *t.Protocols
		c.Protocols = &own
	}
	return c
}

// RegisterProtocol has rt make the round trips of a URL scheme, on goroutines.
func (t *Transport) RegisterProtocol(scheme string, rt stdhttp.RoundTripper) {
	t.standard.t.RegisterProtocol(scheme, rt)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.schemes == nil {
		t.schemes = map[string]bool{}
	}
	t.schemes[scheme] = true
}

// registered reports whether RegisterProtocol was called for a scheme.
func (t *Transport) registered(scheme string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.schemes[scheme]
}

// CloseIdleConnections closes the connections that are idle.
func (t *Transport) CloseIdleConnections() {
	t.closeIdle()
	if t.standard.made.Load() {
		t.standard.t.CloseIdleConnections()
	}
}

// CancelRequest cancels a request that is under way.
//
// Deprecated: a request's context does that.
func (t *Transport) CancelRequest(req *stdhttp.Request) {
	t.mu.Lock()
	cancel := t.flights[req]
	t.mu.Unlock()
	if cancel != nil {
		cancel(errRequestCanceled)
	}
	if t.standard.made.Load() {
		t.standard.t.CancelRequest(req)
	}
}

// enlist notes how to cancel a request; nil means that it has ended.
func (t *Transport) enlist(req *stdhttp.Request, cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case cancel == nil:
		delete(t.flights, req)
		return
	case t.flights == nil:
		t.flights = map[*stdhttp.Request]context.CancelCauseFunc{}
	}
	t.flights[req] = cancel
}

// RoundTrip implements http.RoundTripper. Parks.
func (t *Transport) RoundTrip(req *stdhttp.Request) (*stdhttp.Response, error) {
	if coroutine.Current() == nil {
		return t.std().RoundTrip(req)
	}
	x := &trip{t: t, req: req}
	x.ctx, x.cancel = context.WithCancelCause(req.Context())
	t.enlist(req, x.cancel)
	if !t.speaks(req) {
		return x.roundTripBeside()
	}
	if req.Cancel != nil {
		go func() {
			select {
			case <-req.Cancel:
				x.cancel(errRequestCanceled)
			case <-x.ctx.Done():
			}
		}()
	}
	x.trace = traceOf(x.ctx)
	send, key := x.outgoing(), keyOf(req)
	for {
		resp, pc, err := x.try(send, key)
		if err == nil {
			resp.Request = req
			return resp, nil
		}
		if pc == nil || !pc.shouldRetry(send, err) || !x.rewind(send) {
			x.closeBody()
			x.end()
			return nil, plain(err)
		}
	}
}

// trip is a RoundTrip, and what comes after it until the body of its response
// has ended.
type trip struct {
	t      *Transport
	req    *stdhttp.Request // constant: the caller's
	ctx    context.Context  // constant: of the request, and ended by end
	cancel context.CancelCauseFunc
	trace  *httptrace.ClientTrace // constant, not nil
	gzip   bool                   // constant: the Transport has asked for it
	body   *requestBody           // the caller's; nil if there is none
	stop   func() bool            // ends the watch over ctx that closes the connection
}

// end undoes what RoundTrip has begun.
func (x *trip) end() {
	x.cancel(nil)
	x.t.enlist(x.req, nil)
}

// cancelled returns why the request was cancelled, or nil.
func (x *trip) cancelled() error {
	if x.ctx.Err() == nil {
		return nil
	}
	return context.Cause(x.ctx)
}

// outgoing returns the request as it is sent.
func (x *trip) outgoing() *stdhttp.Request {
	r := *x.req
	x.gzip = !x.t.DisableCompression && len(r.Header["Accept-Encoding"]) == 0 &&
		len(r.Header["Range"]) == 0 && r.Method != "HEAD"
	if x.gzip {
		r.Header = make(stdhttp.Header, len(x.req.Header)+1)
		maps.Copy(r.Header, x.req.Header)
		r.Header["Accept-Encoding"] = []string{"gzip"}
	}
	r.Close = r.Close || x.t.DisableKeepAlives && len(r.Header["Upgrade"]) == 0
	if r.Body != nil && r.Body != stdhttp.NoBody {
		x.body = &requestBody{ReadCloser: r.Body}
		r.Body = x.body
	}
	return &r
}

// try makes one attempt at the round trip. pc is nil if there was no
// connection.
func (x *trip) try(
	send *stdhttp.Request,
	key connKey,
) (resp *stdhttp.Response, pc *persistConn, err error) {
	if err := x.cancelled(); err != nil {
		return nil, nil, err
	}
	if pc, err = x.t.getConn(x, key); err != nil {
		return nil, nil, err
	}
	x.stop = context.AfterFunc(x.ctx, pc.close)
	resp, err = pc.roundTrip(x, send)
	return resp, pc, err
}

// rewind makes the body ready for another attempt, if it was read.
func (x *trip) rewind(send *stdhttp.Request) bool {
	if x.body == nil || !x.body.begun && !x.body.closed.Load() {
		return true
	}
	x.closeBody()
	if send.GetBody == nil {
		return false
	}
	body, err := send.GetBody()
	if err != nil {
		return false
	}
	x.body = &requestBody{ReadCloser: body}
	send.Body = x.body
	return true
}

// closeBody closes the request's body, as RoundTrip does in any case.
func (x *trip) closeBody() {
	if x.body != nil {
		x.body.Close()
	} else if x.req.Body != nil {
		x.req.Body.Close()
	}
}

// plain is an error as users see it, without what only shouldRetry looks at.
func plain(err error) error {
	if e, ok := err.(nothingWrittenError); ok {
		err = e.error
	}
	if e, ok := err.(readFromServerError); ok {
		err = e.err
	}
	return err
}

// traceOf returns the hooks of ctx, which may all be nil.
func traceOf(ctx context.Context) *httptrace.ClientTrace {
	return cmp.Or(httptrace.ContextClientTrace(ctx), noTrace)
}

var noTrace = new(httptrace.ClientTrace)

// Errors as the standard's Transport has them.
var (
	errRequestCanceled     = errors.New("net/http: request canceled")
	errRequestCanceledConn = errors.New("net/http: request canceled while waiting for connection")
	errTimeout             = &timeoutError{"net/http: timeout awaiting response headers"}
)

// timeoutError is a net.Error.
type timeoutError struct{ text string }

func (e *timeoutError) Error() string     { return e.text }
func (e *timeoutError) Timeout() bool     { return true }
func (e *timeoutError) Temporary() bool   { return true }
func (e *timeoutError) Is(err error) bool { return err == context.DeadlineExceeded }

// readFromServerError means that nothing of a response has come.
type readFromServerError struct{ err error }

func (e readFromServerError) Unwrap() error { return e.err }

func (e readFromServerError) Error() string {
	return fmt.Sprintf("net/http: Transport failed to read from server: %v", e.err)
}

// nothingWrittenError means that nothing of a request was sent.
type nothingWrittenError struct{ error }

func (e nothingWrittenError) Unwrap() error { return e.error }

// requestBody is the body of a request as it is sent. It remembers what
// happened to it, and flushes what was written before it waits.
type requestBody struct {
	io.ReadCloser
	begun  bool        // the sender's, then RoundTrip's
	failed error       // as begun: what Read has returned, but for io.EOF
	closed atomic.Bool // atomic

	flush func() error // the sender's; nil: nothing to flush
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.begun = true
	if b.flush != nil {
		if err := b.flush(); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}

func (b *requestBody) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.ReadCloser.Close()
}

// speaks reports whether a request is for this package's HTTP/1.1. What is not
// well-formed is not: the standard's Transport says why.
func (t *Transport) speaks(req *stdhttp.Request) bool {
	u := req.URL
	if u == nil || u.Host == "" || strings.ContainsFunc(u.Host, isNotASCII) ||
		req.Method != "" && !isToken(req.Method) ||
		!validHeader(req.Header) || req.Header == nil || !validHeader(req.Trailer) {
		return false
	}
	if req.Body != nil && req.Body != stdhttp.NoBody && req.ContentLength <= 0 &&
		len(req.TransferEncoding) == 0 && slices.Contains(bodiless, req.Method) {
		return false // the standard tries on a goroutine whether there is a body
	}
	if _, file := req.Body.(*os.File); file || len(req.Header["Expect"]) > 0 || t.foreign.Load() {
		return false
	}
	switch u.Scheme {
	case "http":
		if t.Protocols != nil && !t.Protocols.HTTP1() {
			return false
		}
	case "https":
		if t.DialTLS != nil || t.DialTLSContext != nil || len(t.TLSNextProto) != 0 ||
			t.mayUseHTTP2() {
			return false
		}
	default:
		return false
	}
	if t.registered(u.Scheme) {
		return false
	}
	if t.Proxy != nil {
		proxy, err := t.Proxy(req)
		return proxy == nil && err == nil
	}
	return true
}

// mayUseHTTP2 reports whether the standard's Transport would negotiate HTTP/2.
func (t *Transport) mayUseHTTP2() bool {
	switch {
	case t.Protocols != nil:
		return t.Protocols.HTTP2() || !t.Protocols.HTTP1()
	case t.TLSNextProto != nil:
		return t.TLSNextProto["h2"] != nil
	}
	return t.ForceAttemptHTTP2 ||
		t.TLSClientConfig == nil && t.Dial == nil && t.DialContext == nil
}

func isNotASCII(r rune) bool { return r >= utf8.RuneSelf }

// bodiless are the methods whose requests have no body as a rule.
var bodiless = []string{"", "GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND", "SEARCH"}

// validHeader reports whether all names and values may be sent.
func validHeader(h stdhttp.Header) bool {
	for name, values := range h {
		bad := func(v string) bool { return !isFieldValue(v) }
		if !isToken(name) || slices.ContainsFunc(values, bad) {
			return false
		}
	}
	return true
}
