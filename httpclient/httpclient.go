// Package httpclient lets coroutines use net/http's Client: a RoundTripper that
// parks them while net/http works on goroutines.
//
//	client := &http.Client{Transport: &httpclient.Transport{}}
//	resp, err := client.Get(url)
//
// Called in a coroutine, net/http's own Transport waits for goroutines in Go
// channels. The coroutine is then left behind. The others of its Processor wait
// up to some 10 ms the first time, and some 0.1 ms once that is frequent; where
// Processors are not handed on (Options.LockThreads, EventLoop, the portable
// backend) they wait as long as the coroutine does. With this one all waits
// park: for a connection, for the head of the response, for the body, for
// Close.
//
// Code that uses http.DefaultClient is served, too, once main has set
//
//	http.DefaultTransport = &httpclient.Transport{}
//
// # Contract
//
// A Transport may be used by any coroutines and goroutines; a goroutine gets
// what Base does, unchanged. What Base promises holds: pooled connections,
// HTTP/2, proxies, contexts, Client.Timeout, request bodies, upgrades (the
// Body of a 101 response is an io.Writer). A request's body is read on a
// goroutine.
//
// At a forced shutdown calls return netco's ErrShutdown; the request is
// cancelled, and its response closed.
//
// # Cost
//
// A round trip, each 32 KiB of a body, and a Close before its end take a
// goroutine for as long as they last, and a wake of a thread each way, some 30
// µs. Nothing limits their number but Base, as with net/http: http.Transport
// has MaxConnsPerHost.
package httpclient

import (
	"context"
	"io"
	"math"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
)

// Transport is an http.RoundTripper for coroutines. The zero Transport is ready
// for use. Its field must not be changed once it is in use.
type Transport struct {
	// Base makes the round trips; nil is http.DefaultTransport as it was when
	// the program started.
	Base http.RoundTripper
}

var standard = http.DefaultTransport

// goroutines runs what would block. It is apart from the default pool, whose
// limit functions that wait for one another would reach.
var goroutines = unlimited()

func unlimited() *blocking.Pool {
	p, err := blocking.New(math.MaxInt)
	if err != nil {
		panic(err)
	}
	return p
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return standard
	}
	return t.Base
}

// RoundTrip implements http.RoundTripper. Parks.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if coroutine.Current() == nil {
		return t.base().RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	x := &trip{base: t.base(), req: req.WithContext(ctx)}
	if _, err := blocking.CallOn(goroutines, x.make); err != nil {
		cancel()
		x.abandon()
		return nil, err
	}
	if x.err != nil {
		cancel()
		return x.resp, x.err
	}
	if x.resp == nil { // http.Client makes an error of it
		cancel()
		return nil, nil
	}
	if x.resp.Request == x.req {
		x.resp.Request = req
	}
	if x.resp.Body == nil { // http.Client takes it for an empty one, or makes an error of it
		cancel()
		return x.resp, nil
	}
	b := &body{base: x.resp.Body, size: x.resp.ContentLength, cancel: cancel}
	x.resp.Body = b
	if w, ok := b.base.(io.Writer); ok {
		x.resp.Body = upgraded{b, w}
	}
	return x.resp, nil
}

// CloseIdleConnections is Base's, if that has it. It does not park.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// trip is one round trip. Its goroutine owns resp and err until it ends, then
// the coroutine, unless that has abandoned it.
type trip struct {
	base http.RoundTripper // constant
	req  *http.Request     // constant

	mu      sync.Mutex // never held across a call
	started bool       // under mu
	gone    bool       // under mu: abandoned
	ended   bool       // under mu: resp and err are there

	resp *http.Response
	err  error
}

// make makes the round trip, on a goroutine.
func (x *trip) make() (none struct{}, _ error) {
	x.mu.Lock()
	x.started = !x.gone
	started := x.started
	x.mu.Unlock()
	if !started {
		return none, nil
	}
	x.resp, x.err = x.base.RoundTrip(x.req)
	x.mu.Lock()
	x.ended = true
	gone := x.gone
	x.mu.Unlock()
	if gone {
		x.discard()
	}
	return none, nil
}

// abandon leaves the round trip, whose context has been cancelled, to its
// goroutine. One that has not started never does.
func (x *trip) abandon() {
	x.mu.Lock()
	x.gone = true
	started, ended := x.started, x.ended
	x.mu.Unlock()
	switch {
	case ended:
		go x.discard()
	case !started && x.req.Body != nil:
		go x.req.Body.Close() // as RoundTrip does in any case
	}
}

func (x *trip) discard() {
	if x.err == nil && x.resp != nil && x.resp.Body != nil {
		x.resp.Body.Close()
	}
}

// Sizes of what is read ahead.
const (
	leastRead = 4 << 10
	mostRead  = 32 << 10
)

// body is a response's. One coroutine or goroutine at a time reads it, any
// closes it.
type body struct {
	base   io.ReadCloser // constant
	cancel func()        // constant: of the request's context
	size   int64         // constant: of the whole; -1 if unknown
	ended  atomic.Bool   // atomic: base has returned io.EOF; for good
	closed atomic.Bool   // atomic: Close was called

	// The reader's. A goroutine that reads for it has buf meanwhile.
	buf    []byte
	unread []byte // in buf
	err    error  // that comes after unread
}

// read is what a Read has returned.
type read struct {
	n   int
	err error
}

// Read implements io.Reader. Parks.
func (b *body) Read(p []byte) (int, error) {
	switch {
	case b.closed.Load() && b.err != coroutine.ErrShutdown:
		b.unread, b.err = nil, nil // base says what a Read returns from now on
	case len(b.unread) > 0 || b.err != nil || len(p) == 0:
		return b.readAhead(p)
	}
	if coroutine.Current() == nil || b.base == http.NoBody {
		return b.base.Read(p)
	}
	if b.buf == nil {
		b.buf = make([]byte, b.bufferSize(len(p)))
	}
	buf := b.buf
	r, err := blocking.CallOn(goroutines, func() (read, error) {
		n, err := b.base.Read(buf)
		return read{n, err}, nil
	})
	if err != nil { // the goroutine has buf
		b.buf, b.err = nil, err
		return 0, err
	}
	b.unread, b.err = buf[:r.n], r.err
	if r.err == io.EOF {
		b.ended.Store(true)
	}
	return b.readAhead(p)
}

func (b *body) readAhead(p []byte) (int, error) {
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	if len(b.unread) > 0 || b.err == nil {
		return n, nil
	}
	b.buf = nil
	return n, b.err
}

// bufferSize is for a first Read of n bytes.
func (b *body) bufferSize(n int) int {
	n = min(max(n, leastRead), mostRead)
	switch {
	case b.size > mostRead:
		return mostRead
	case b.size > 0:
		return int(b.size)
	}
	return n
}

// Close implements io.Closer. Parks.
func (b *body) Close() error {
	b.closed.Store(true)
	defer b.cancel()
	if coroutine.Current() == nil || b.base == http.NoBody || b.ended.Load() {
		return b.base.Close() // after the end that only takes note
	}
	failed, err := blocking.CallOn(goroutines, func() (error, error) { return b.base.Close(), nil })
	if err != nil {
		go b.base.Close() // perhaps a second time, which does nothing
		return err
	}
	return failed
}

// upgraded is the body of a 101 response, a connection.
type upgraded struct {
	*body
	w io.Writer
}

// Write implements io.Writer. Parks.
func (u upgraded) Write(p []byte) (int, error) {
	if coroutine.Current() == nil {
		return u.w.Write(p)
	}
	own := append([]byte(nil), p...) // the goroutine's, should this coroutine not wait for it
	r, err := blocking.CallOn(goroutines, func() (read, error) {
		n, err := u.w.Write(own)
		return read{n, err}, nil
	})
	if err != nil {
		return 0, err
	}
	return r.n, r.err
}
