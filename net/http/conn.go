package http

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	stdsync "sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
	"github.com/netco-go/netco/tls"
)

// conn is a connection that serves HTTP/1. While it is idle it has no buffers
// and no coroutine. Owner, unless a field says otherwise: the coroutine of its
// socket.Server.
type conn struct {
	s          *Server            // constant
	sc         *socket.ServerConn // constant once opened
	nc         net.Conn           // constant: its Stream, or the TLS connection above it
	ctx        context.Context    // constant: parent of the requests' contexts
	remote     string             // constant once opened
	tlsState   *tls.ConnectionState
	work       *work // nil while idle
	gone       bool  // the Server has forgotten it: hijacked, or handed over
	readTimed  bool  // a read deadline is set
	writeTimed bool
	begun      bool // the connection has served a request
	wasPost    bool // the last request was a POST

	idle     atomic.Bool // the connection waits for a request
	hijacked atomic.Bool
	failed   atomic.Bool              // a write has failed
	current  atomic.Pointer[response] // the request under way
}

// work is what a connection needs while it is not idle.
type work struct {
	in   *bufio.Reader // reads from the connection
	body *bufio.Writer // of the response under way, to measure its length
	// Constant: the first writer below body; its Buffered is the length so far.
	bodyBuf []byte
	unsent  bool // an answer waits in out, and nothing is due to send it

	lines []byte // the Server's additions to a header, while it is written

	mu      sync.Mutex    // held across writes
	out     *bufio.Writer // under mu: writes to the connection
	flusher bool          // under mu: flushSoon has been started

	beside sync.WaitGroup // the read beside a handler, which then owns in
}

const (
	readSize  = 8 << 10 // the longest head that is parsed here
	writeSize = 4 << 10
	bodySize  = 2 << 10 // the longest body whose length is counted
)

var works = stdsync.Pool{New: func() any {
	w := new(work)
	w.in = bufio.NewReaderSize(nil, readSize)
	w.out = bufio.NewWriterSize(nil, writeSize)
	w.body = bufio.NewWriterSize(nil, bodySize)
	w.bodyBuf = w.body.AvailableBuffer()[:bodySize]
	return w
}}

// opened begins a connection; with TLS it shakes hands.
func (s *Server) opened(sc *socket.ServerConn) error {
	c, ok := sc.Value.(*conn)
	if !ok { // the socket.Server has accepted it
		c = &conn{s: s, nc: sc.Stream, ctx: s.base}
		sc.Value = c
	}
	c.sc = sc
	c.remote = remoteOf(sc.Stream)
	c.remember()
	tc := c.tls()
	if tc != nil {
		if err := c.handshake(); err != nil {
			return err
		}
	}
	if c.gone {
		return nil
	}
	if d := s.readHeaderTimeout(); d > 0 {
		c.setReadDeadline(time.Now().Add(d))
	}
	if tc != nil && tc.Readable() {
		return c.serve()
	}
	return nil
}

// tls returns the TLS of the connection, or nil.
func (c *conn) tls() *tls.Conn {
	tc, _ := c.nc.(*tls.Conn)
	return tc
}

// remoteOf returns the peer's address. TCP's is not cached in any other form.
func remoteOf(raw socket.Stream) string {
	if tcp, ok := raw.(*socket.TCPConn); ok {
		at := tcp.RemoteAddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String()
	}
	if addr := raw.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

// closed is called once the connection is closed, for whatever reason.
func (c *conn) closed() {
	c.forget()
	c.setState(StateClosed)
}

func (c *conn) setState(state ConnState) {
	if hook := c.s.ConnState; hook != nil {
		hook(c.nc, state)
	}
}

func (c *conn) setReadDeadline(t time.Time) error {
	c.readTimed = !t.IsZero()
	return c.nc.SetReadDeadline(t)
}

func (c *conn) setWriteDeadline(t time.Time) error {
	c.writeTimed = !t.IsZero()
	return c.nc.SetWriteDeadline(t)
}

// limitRead sets a read deadline, d from now, or removes one.
func (c *conn) limitRead(d time.Duration) {
	if d > 0 {
		c.setReadDeadline(time.Now().Add(d))
	} else if c.readTimed {
		c.setReadDeadline(time.Time{})
	}
}

// errServed ends a connection; Handle returns it.
var errServed = errors.New("http: connection served")

// serve serves requests until none is left, and returns nil, or until the
// connection is to be closed.
func (c *conn) serve() (err error) {
	c.idle.Store(false)
	c.begin()
	returned := false
	defer func() {
		if !returned {
			c.abort(recover())
			err = errServed
		}
	}()
	err = c.requests()
	returned = true
	if c.gone {
		return nil
	}
	if err != nil {
		c.close()
		return err
	}
	c.idle.Store(true)
	if !c.s.doKeepAlives() { // SetKeepAlivesEnabled may have found it busy
		c.close()
		return errServed
	}
	c.end()
	return nil
}

// begin gets the buffers.
func (c *conn) begin() {
	w := works.Get().(*work)
	w.in.Reset((*input)(c))
	w.mu.Lock()
	w.out.Reset((*output)(c))
	w.mu.Unlock()
	c.work = w
}

// end gives the buffers back.
func (c *conn) end() {
	w := c.work
	if w == nil {
		return
	}
	c.work = nil
	w.in.Reset(nil)
	w.mu.Lock()
	w.out.Reset(nil)
	w.mu.Unlock()
	works.Put(w)
}

// abort ends a connection whose handler has panicked with v or ended its
// coroutine.
func (c *conn) abort(v any) {
	var stack []byte
	if p, ok := v.(*netco.PanicError); ok { // on a goroutine
		v, stack = p.Value, p.Stack
	}
	if v != nil && v != ErrAbortHandler {
		if stack == nil {
			stack = debug.Stack()
		}
		c.s.logf("http: panic serving %v: %v\n%s", c.remote, v, stack)
	}
	if w := c.current.Load(); w != nil {
		w.finish(false)
	}
	if !c.gone {
		c.close()
	}
}

// close sends the unsent bytes and closes.
func (c *conn) close() {
	c.flush()
	c.end()
	if tc := c.tls(); tc != nil {
		tc.Close()
	}
}

// closeWriteAndWait is close for a peer that may still be sending: it gets time
// to read the answer before the reset.
func (c *conn) closeWriteAndWait() {
	c.flush()
	if cw, ok := c.nc.(interface{ CloseWrite() error }); ok {
		cw.CloseWrite()
	}
	netco.Sleep(rstAvoidanceDelay)
}

const rstAvoidanceDelay = 500 * time.Millisecond

// flush sends the written bytes.
func (c *conn) flush() error {
	x := c.work
	if x == nil {
		return net.ErrClosed
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.Flush()
}

// flushSoon sends answers that wait for the next request's handler, if that
// handler waits. If the buffer belongs to another connection by then, it sends
// that connection's answers early.
func (x *work) flushSoon() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flusher = false
	x.out.Flush()
}

// requests serves one request after the other.
func (c *conn) requests() error {
	if c.begun {
		if err := c.awaitRequest(); err != nil {
			return err
		}
	} else if p := c.s.protocols(); !p.HTTP1() {
		return c.handOver(&c.s.std, nil)
	}
	for {
		w, err := c.readRequest()
		if other, ok := err.(unusual); ok && !c.failed.Load() {
			return c.handOver(&c.s.std, other.end)
		}
		if err != nil {
			return err
		}
		c.setState(StateActive)
		if c.s.shuttingDown() {
			return ErrServerClosed
		}
		if !c.serveRequest(w) {
			return errServed
		}
		if c.gone {
			return nil
		}
		c.begun = true
		c.setState(StateIdle)
		if !c.s.doKeepAlives() {
			return errServed
		}
		c.limitRead(cmp.Or(c.s.IdleTimeout, c.s.ReadTimeout))
		if tc := c.tls(); c.work.in.Buffered() == 0 && (tc == nil || !tc.Readable()) {
			return c.flush()
		}
		if err := c.awaitRequest(); err != nil {
			return err
		}
	}
}

// awaitRequest reads the first bytes of a later request.
func (c *conn) awaitRequest() error {
	if _, err := c.work.in.Peek(4); err != nil {
		return err
	}
	c.limitRead(c.s.readHeaderTimeout())
	return nil
}

// flushAhead starts flushSoon if answers wait.
func (x *work) flushAhead() {
	if !x.unsent {
		return
	}
	x.unsent = false
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.out.Buffered() > 0 && !x.flusher {
		_, err := netco.GoWith(netco.Spawn{Local: true, Fn: x.flushSoon})
		if x.flusher = err == nil; err != nil {
			x.out.Flush()
		}
	}
}

// serveRequest calls the handler. It returns false if the connection is to be
// closed.
func (c *conn) serveRequest(w *response) bool {
	c.work.flushAhead()
	if httpinfo.Counting() {
		w.began = clock.Now()
	}
	c.current.Store(w)
	if !w.call() {
		c.gone = true
		c.nc.Close()
		return true
	}
	w.finish(true)
	c.current.Store(nil)
	if c.gone {
		return true
	}
	if w.began != 0 {
		httpinfo.Served(netco.CurrentProcessor(), w.status, time.Duration(clock.Now()-w.began))
	}
	if c.writeTimed && !c.work.unsent {
		c.setWriteDeadline(time.Time{})
	}
	if w.reusable() {
		return true
	}
	c.flush()
	if w.body != nil && w.body.early {
		c.closeWriteAndWait()
	}
	return false
}

// handshake shakes hands, and hands the connection over if HTTP/2 was
// negotiated.
func (c *conn) handshake() error {
	if d := c.s.handshakeTimeout(); d > 0 {
		c.nc.SetDeadline(time.Now().Add(d))
		defer func() {
			if !c.gone {
				c.nc.SetDeadline(time.Time{})
			}
		}()
	}
	if err := c.tls().HandshakeContext(c.ctx); err != nil {
		reason := err.Error()
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil &&
			slices.Contains(httpBegins, string(header.RecordHeader[:])) {
			io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP "+
				"request to an HTTPS server.\n")
			reason = "client sent an HTTP request to an HTTPS server"
		}
		c.s.logf("http: TLS handshake error from %s: %v", c.remote, reason)
		return err
	}
	c.tlsState = new(tls.ConnectionState)
	*c.tlsState = c.tls().ConnectionState()
	switch proto := c.tlsState.NegotiatedProtocol; {
	case proto == "", proto == "http/1.1", proto == "http/1.0":
		return nil
	case proto == "h2":
		return c.handOver(&c.s.h2, nil)
	}
	return errServed
}

// httpBegins are the beginnings that net/http takes for HTTP without TLS.
var httpBegins = []string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"}

// input is the reader below the connection's buffer.
type input conn

// Read implements io.Reader. It sends the written bytes before it waits.
func (r *input) Read(p []byte) (n int, err error) {
	c := (*conn)(r)
	if c.hijacked.Load() {
		return c.nc.Read(p)
	}
	if err := c.flush(); err != nil && c.current.Load() == nil {
		return 0, err
	}
	n, err = c.nc.Read(p)
	if w := c.current.Load(); err != nil && w != nil && !c.hijacked.Load() {
		w.finishContext()
	}
	return n, err
}

// output is the writer below the connection's buffer.
type output conn

// Write implements io.Writer. Precondition: the work's mu is held.
func (o *output) Write(p []byte) (n int, err error) {
	c := (*conn)(o)
	n, err = c.nc.Write(p)
	if err != nil && !c.failed.Swap(true) {
		if w := c.current.Load(); w != nil {
			w.finishContext()
		}
	}
	return n, err
}
