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
	"github.com/netco-go/netco/internal/serving"
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
	nc         net.Conn           // constant: its Stream, or tc
	tc         *tls.Conn          // constant: TLS above its Stream, or nil
	ctx        context.Context    // constant: parent of the requests' contexts
	remote     string             // constant once opened
	tlsState   *tls.ConnectionState
	work       *work // nil while idle
	asideAt    int64 // when the last request was called aside; 0: it was not
	gone       bool  // hijacked or handed over: the Server has forgotten it
	writeTimed bool  // a handler has set a write deadline
	begun      bool  // the connection has served a request
	known      bool  // constant: the program has nc as well, and may set deadlines
	wasPost    bool  // the last request was a POST
	stays      bool  // the last two were aside, the second within stayLimit

	idle     atomic.Bool // it waits for a request; SetKeepAlivesEnabled takes that back
	hijacked atomic.Bool
	failed   atomic.Bool              // a write has failed
	current  atomic.Pointer[response] // the request under way
}

// work is what a connection needs while it is not idle.
type work struct {
	in   *bufio.Reader // reads from the connection
	body *bufio.Writer // of the current response, to measure its length
	// Constant: body's buffer; body.Buffered is the length so far.
	bodyBuf []byte
	lines   []byte // the Server's additions to a header, while it is written
	date    []byte // the line of the last answer, since to format one takes 0.2 µs
	dateOf  int64  // its Unix time

	mu      sync.Mutex    // held across writes
	out     *bufio.Writer // under mu: writes to the connection
	flusher bool          // under mu: flushAhead's coroutine is under way

	beside sync.WaitGroup // the read beside a handler; it owns in meanwhile
}

const (
	readSize  = 8 << 10 // the longest head that is parsed here
	writeSize = 4 << 10
	bodySize  = 2 << 10 // the longest body whose length is counted
	sniffLen  = 512     // what DetectContentType reads
)

var works = stdsync.Pool{New: func() any {
	w := new(work)
	w.in = bufio.NewReaderSize(nil, readSize)
	w.out = bufio.NewWriterSize(nil, writeSize)
	w.body = bufio.NewWriterSize(nil, bodySize)
	w.bodyBuf = w.body.AvailableBuffer()[:bodySize]
	return w
}}

// opened starts a connection, by a handshake if it has TLS.
func (s *Server) opened(sc *socket.ServerConn) error {
	c, ok := sc.Value.(*conn)
	if !ok { // the socket.Server has accepted it
		c = &conn{s: s, nc: sc.Stream, ctx: s.base}
		sc.Value = c
	}
	c.sc = sc
	c.remote = remoteOf(sc.Stream)
	open.mu.Lock()
	open.conns[c] = struct{}{}
	open.mu.Unlock()
	if c.tc != nil {
		if err := c.handshake(); err != nil || c.gone {
			return err
		}
	}
	c.nc.SetReadDeadline(after(s.readHeaderTimeout()))
	if c.decrypted() {
		return c.serve()
	}
	return nil
}

// decrypted reports whether TLS has read bytes ahead.
func (c *conn) decrypted() bool { return c.tc != nil && c.tc.Readable() }

// remoteOf returns the peer's address. It makes no net.Addr for TCP: the
// connection would keep it.
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

func (c *conn) setState(state ConnState) {
	if hook := c.s.ConnState; hook != nil {
		hook(c.nc, state)
	}
}

// after returns the time d from now, or no deadline if d is not positive.
func after(d time.Duration) (t time.Time) {
	if d > 0 {
		t = time.Now().Add(d)
	}
	return t
}

// errServed ends a connection; Handle returns it.
var errServed = errors.New("http: connection served")

// handle serves requests until the connection is idle, and returns nil, or
// until it is to be closed.
func (c *conn) handle() error {
	if err := c.serve(); err != nil || !c.stays || c.gone {
		return err
	}
	return c.stay()
}

// stay serves the connection on a goroutine while its handlers block, without
// waking a Processor: queries of 1 ms, 8,000 a second on one core, then have
// 1.03 times net/http's p50 and 0.94 of its CPU time, and else 1.15 and 1.18
// (bench/handlers.sh query).
func (c *conn) stay() error {
	var err error // no result: an abandoned goroutine may still set it
	if goroutines.Do(context.Background(), func() {
		serving.OnGoroutine(c.nc, c.s.stayLimit, func() bool {
			err = c.serve()
			return err == nil && c.stays && !c.gone
		})
	}) != nil {
		c.nc.Close() // a forced end abandoned the goroutine, which still uses c
		return errServed
	}
	return err
}

// serve serves requests until none is left, and returns nil, or until the
// connection is to be closed.
func (c *conn) serve() (err error) {
	if !c.idle.Swap(false) && c.begun { // SetKeepAlivesEnabled ends it
		c.close()
		return errServed
	}
	c.work = works.Get().(*work)
	c.work.reset(c)
	returned := false
	defer func() {
		if !returned {
			c.abort(recover())
			err = errServed
		}
	}()
	err = c.requests()
	returned = true
	if err == nil && !c.gone {
		c.idle.Store(true)
		if c.s.doKeepAlives() {
			c.end()
			return nil
		}
		err = errServed // SetKeepAlivesEnabled may have found it busy
	}
	if !c.gone {
		c.close()
	}
	return err
}

// reset empties the buffers and connects them to rw, which may be nil.
func (w *work) reset(rw io.ReadWriter) {
	w.in.Reset(rw)
	w.mu.Lock()
	w.out.Reset(rw)
	w.mu.Unlock()
}

// end gives the buffers back.
func (c *conn) end() {
	if x := c.work; x != nil {
		c.work = nil
		x.reset(nil)
		works.Put(x)
	}
}

// abort ends a connection whose handler panicked with v or ended its coroutine.
func (c *conn) abort(v any) {
	stack := debug.Stack()
	if p, ok := v.(*netco.PanicError); ok { // on a goroutine
		v, stack = p.Value, p.Stack
	}
	if v != nil && v != ErrAbortHandler {
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
	c.nc.Close()
}

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

func (c *conn) requests() error {
	for {
		if c.begun {
			if _, err := c.work.in.Peek(4); err != nil { // within IdleTimeout
				return err
			}
			if d := c.s.readHeaderTimeout(); d != 0 || c.s.IdleTimeout != 0 || c.known {
				c.nc.SetReadDeadline(after(d))
			}
		} else if p := c.s.protocols(); !p.HTTP1() {
			return c.handOver(&c.s.std, nil)
		}
		w, err := c.readRequest()
		if w == nil {
			return err
		}
		c.setState(StateActive)
		if c.s.inShutdown.Load() {
			return ErrServerClosed
		}
		if err := c.serveRequest(w); err != nil || c.gone {
			return err
		}
		c.begun = true
		c.setState(StateIdle)
		if !c.s.doKeepAlives() {
			return errServed
		}
		c.nc.SetReadDeadline(after(cmp.Or(c.s.IdleTimeout, c.s.ReadTimeout)))
		if c.work.in.Buffered() == 0 && !c.decrypted() {
			err := c.flush()
			if c.s.WriteTimeout > 0 || c.known {
				c.nc.SetWriteDeadline(time.Time{})
			}
			return err
		}
		c.work.flushAhead()
	}
}

// flushAhead starts a coroutine that sends the buffered answers if the next
// request's handler waits. If the buffer belongs to another connection by then,
// it sends that connection's answers early.
func (w *work) flushAhead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out.Buffered() > 0 && !w.flusher {
		_, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.flusher = false
			w.out.Flush()
		}})
		if w.flusher = err == nil; err != nil {
			w.out.Flush()
		}
	}
}

// resetDelay is how long the peer has to read the answer before the reset that
// closes the connection, where it may still be sending; tests change it.
var resetDelay = 500 * time.Millisecond

// serveRequest calls the handler. It returns errServed if the connection is to
// be closed.
func (c *conn) serveRequest(w *response) error {
	if httpinfo.Counting() {
		w.began = clock.Now()
	}
	c.current.Store(w)
	if !w.call() {
		c.gone = true
		c.nc.Close()
		return nil
	}
	w.finish(true)
	c.current.Store(nil)
	if c.gone {
		return nil
	}
	if w.began != 0 {
		httpinfo.Served(netco.CurrentProcessor(), w.status, time.Duration(clock.Now()-w.began))
	}
	if c.writeTimed { // the deadline ends with the answer
		c.flush()
		c.nc.SetWriteDeadline(time.Time{})
		c.writeTimed = false
	}
	early := w.body != nil && w.body.early
	short := w.req.Method != MethodHead && w.contentLength != -1 && bodyAllowed(w.status) &&
		w.contentLength != w.written // the peer waits for the rest
	if !w.closeAfter && !short && !early && !c.failed.Load() {
		return nil
	}
	c.flush()
	if early { // the peer may still be sending
		if cw, ok := c.nc.(interface{ CloseWrite() error }); ok {
			cw.CloseWrite()
		}
		netco.Sleep(resetDelay)
	}
	return errServed
}

// handshake does the TLS handshake, and hands the connection over for HTTP/2.
func (c *conn) handshake() error {
	c.nc.SetDeadline(after(c.s.handshakeTimeout()))
	if err := c.tc.HandshakeContext(c.ctx); err != nil {
		reason := err.Error()
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil &&
			slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"},
				string(header.RecordHeader[:])) {
			io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP "+
				"request to an HTTPS server.\n")
			reason = "client sent an HTTP request to an HTTPS server"
		}
		c.s.logf("http: TLS handshake error from %s: %v", c.remote, reason)
		return err
	}
	c.nc.SetDeadline(time.Time{})
	c.tlsState = new(tls.ConnectionState)
	*c.tlsState = c.tc.ConnectionState()
	switch c.tlsState.NegotiatedProtocol {
	case "", "http/1.1", "http/1.0":
		return nil
	case "h2":
		return c.handOver(&c.s.h2, nil)
	}
	return errServed
}

// Read implements io.Reader, below the connection's buffer. It sends the unsent
// bytes first.
func (c *conn) Read(p []byte) (n int, err error) {
	if !c.hijacked.Load() {
		if err := c.flush(); err != nil && c.current.Load() == nil {
			return 0, err
		}
	}
	n, err = c.nc.Read(p)
	if w := c.current.Load(); err != nil && w != nil && !c.hijacked.Load() {
		w.finishContext()
	}
	return n, err
}

// Write implements io.Writer, below the connection's buffer. Precondition: the
// work's mu is held.
func (c *conn) Write(p []byte) (n int, err error) {
	n, err = c.nc.Write(p)
	if err != nil && !c.failed.Swap(true) {
		if w := c.current.Load(); w != nil {
			w.finishContext()
		}
	}
	return n, err
}
