package http

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	stdhttp "net/http"
	"net/textproto"
	"os"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/internal/beside"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
	nctls "github.com/netco-go/netco/tls"
)

// persistConn is a connection to a server. One request at a time uses it.
type persistConn struct {
	t    *Transport           // constant
	key  connKey              // constant
	conn net.Conn             // constant
	tls  *tls.ConnectionState // constant; nil without TLS

	// The user's: a request's, or the pool's.
	br     *bufio.Reader
	reused bool      // it has served a request
	idleAt time.Time // since when it is idle; zero if it is new
	limit  int64     // how much more may be read
	sawEOF bool

	written atomic.Int64 // bytes
	closed  atomic.Bool
}

// dialConn makes a connection for w.
func (t *Transport) dialConn(w *want) (*persistConn, error) {
	if w.ctx.Err() != nil {
		return nil, w.ctx.Err()
	}
	pc := &persistConn{t: t, key: w.key}
	var err error
	if pc.conn, err = t.dial(w.ctx, w.key.addr); err != nil {
		return nil, err
	}
	switch pc.conn.(type) {
	case *net.TCPConn, *net.UnixConn, *tls.Conn:
		t.foreign.Store(true)
	}
	if w.key.scheme == "https" {
		if err := pc.addTLS(w.ctx); err != nil {
			return nil, err
		}
	}
	return pc, nil
}

func (t *Transport) dial(ctx context.Context, addr string) (c net.Conn, err error) {
	hook := "Dial"
	switch {
	case t.DialContext != nil:
		hook = "DialContext"
		c, err = t.DialContext(ctx, "tcp", addr)
	case t.Dial != nil:
		c, err = t.Dial("tcp", addr)
	default:
		return new(socket.Dialer).DialContext(ctx, "tcp", addr)
	}
	if c == nil && err == nil {
		err = fmt.Errorf("net/http: Transport.%s hook returned (nil, nil)", hook)
	}
	return c, err
}

// addTLS shakes hands.
func (pc *persistConn) addTLS(ctx context.Context) error {
	if pc.t.mayUseHTTP2() {
		pc.t.std().CloseIdleConnections() // from now on it does not change the config
	}
	config := pc.t.TLSClientConfig.Clone() // of nil: nil
	if config == nil {
		config = new(tls.Config)
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(pc.key.addr)
	}
	if d := pc.t.TLSHandshakeTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, handshakeTimeoutError{})
		defer cancel()
	}
	trace := traceOf(ctx)
	if f := trace.TLSHandshakeStart; f != nil {
		f()
	}
	c := nctls.Client(pc.conn, config)
	var state tls.ConnectionState
	err := c.HandshakeContext(ctx)
	if err == nil {
		state = c.ConnectionState()
	} else if context.Cause(ctx) == (handshakeTimeoutError{}) {
		err = handshakeTimeoutError{}
	}
	if f := trace.TLSHandshakeDone; f != nil {
		f(state, err)
	}
	if err != nil {
		pc.conn.Close()
		return err
	}
	pc.tls, pc.conn = &state, c
	return nil
}

type handshakeTimeoutError struct{}

func (handshakeTimeoutError) Timeout() bool   { return true }
func (handshakeTimeoutError) Temporary() bool { return true }
func (handshakeTimeoutError) Error() string   { return "net/http: TLS handshake timeout" }

// close closes the connection. Any thread.
func (pc *persistConn) close() {
	if pc.release() {
		pc.conn.Close()
	}
}

// release takes the connection from the Transport, for good. It reports false
// if that has happened. Any thread.
func (pc *persistConn) release() bool {
	if pc.closed.Swap(true) {
		return false
	}
	pc.t.dropped(pc.key)
	return true
}

// spoilt reports whether something has come on an idle connection: its end, or
// what was not asked for.
func (pc *persistConn) spoilt() bool {
	c, ok := pc.conn.(interface{ Readable() bool })
	return ok && c.Readable()
}

// Read reads from the connection within the limit.
func (pc *persistConn) Read(p []byte) (n int, err error) {
	if pc.limit <= 0 {
		return 0, fmt.Errorf("read limit of %d bytes exhausted", pc.maxHeader())
	}
	if int64(len(p)) > pc.limit {
		p = p[:pc.limit]
	}
	n, err = pc.conn.Read(p)
	pc.sawEOF = pc.sawEOF || err == io.EOF
	pc.limit -= int64(n)
	return n, err
}

func (pc *persistConn) maxHeader() int64 {
	if n := pc.t.MaxResponseHeaderBytes; n > 0 {
		return n
	}
	return 10 << 20
}

// readers are buffers that idle connections do not hold.
var readers = stdsync.Pool{New: func() any { return bufio.NewReader(nil) }}

func (pc *persistConn) acquireBuffer() {
	if pc.br == nil && pc.t.ReadBufferSize > 0 {
		pc.br = bufio.NewReaderSize(pc, pc.t.ReadBufferSize)
	} else if pc.br == nil {
		pc.br = readers.Get().(*bufio.Reader)
		pc.br.Reset(pc)
	}
}

func (pc *persistConn) releaseBuffer() {
	if pc.br != nil && pc.t.ReadBufferSize <= 0 {
		pc.br.Reset(nil)
		readers.Put(pc.br)
		pc.br = nil
	}
}

// maxInline is the size of a body up to which it is sent in one piece with the
// head, before the response is read.
const maxInline = 16 << 10

// roundTrip sends a request and reads its response's head. The response's body
// ends x.
func (pc *persistConn) roundTrip(x *trip, req *stdhttp.Request) (*stdhttp.Response, error) {
	pc.acquireBuffer()
	pc.limit = pc.maxHeader()
	out := &sending{pc: pc, x: x, began: pc.written.Load()}
	if out.inline(req) {
		out.send(req)
	} else {
		out.done = sync.NewFuture[struct{}]()
		if req.GetBody == nil {
			x.body.flush = out.flush
		}
		beside.Go(func() { out.send(req) }, func() { out.done.Set(struct{}{}) }, 0)
	}
	var resp *stdhttp.Response
	err := out.failed()
	if err == nil {
		resp, err = pc.readResponse(x, req)
	}
	if err != nil {
		return nil, pc.failed(out, err)
	}
	pc.deliver(x, req, resp, out)
	return resp, nil
}

// failed ends the connection after an error, and returns the one to return.
func (pc *persistConn) failed(out *sending, err error) error {
	if pc.limit <= 0 {
		err = fmt.Errorf("net/http: server response headers exceeded %d bytes; aborted",
			pc.maxHeader())
	}
	broken := pc.closed.Load()
	pc.close()
	if out.done != nil {
		out.done.Get() // the caller may change its request from now on
	}
	x := out.x
	if cancelled := x.cancelled(); cancelled != nil {
		return cancelled
	}
	x.stop()
	if x.body != nil && x.body.failed != nil {
		return x.body.failed
	}
	if sent := out.failed(); sent != nil && (broken || out.done == nil) {
		err, broken = sent, true // it came first
	}
	var reading readFromServerError
	switch {
	case pc.t.ResponseHeaderTimeout > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return errTimeout
	case pc.written.Load() == out.began && (broken || errors.As(err, &reading)):
		return nothingWrittenError{err}
	case errors.As(err, &reading) && !broken:
		return err
	case broken:
		return fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err)
	}
	return err
}

// shouldRetry reports whether a request that has failed is sent again, on
// another connection.
func (pc *persistConn) shouldRetry(req *stdhttp.Request, err error) bool {
	if !pc.reused {
		return false
	}
	if _, ok := err.(nothingWrittenError); ok {
		return req.Body == nil || req.Body == stdhttp.NoBody || req.GetBody != nil
	}
	if !isReplayable(req) {
		return false
	}
	_, ok := err.(readFromServerError)
	return ok
}

func isReplayable(req *stdhttp.Request) bool {
	if req.Body != nil && req.Body != stdhttp.NoBody && req.GetBody == nil {
		return false
	}
	switch req.Method {
	case "", "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	_, a := req.Header["Idempotency-Key"]
	_, b := req.Header["X-Idempotency-Key"]
	return a || b
}

// readResponse reads the response's head, after those of status 1xx.
func (pc *persistConn) readResponse(x *trip, req *stdhttp.Request) (*stdhttp.Response, error) {
	if _, err := pc.br.Peek(1); err != nil {
		return nil, readFromServerError{err}
	}
	if f := x.trace.GotFirstResponseByte; f != nil {
		f()
	}
	for {
		resp, err := stdhttp.ReadResponse(pc.br, req)
		if err != nil {
			return nil, err
		}
		code := resp.StatusCode
		if code < 100 || code > 199 || code == stdhttp.StatusSwitchingProtocols {
			resp.TLS = pc.tls
			return resp, nil
		}
		if f := x.trace.Got1xxResponse; f != nil {
			if err := f(code, textproto.MIMEHeader(resp.Header)); err != nil {
				return nil, err
			}
			pc.limit = pc.maxHeader() // whoever asks for them bounds their number
		}
	}
}

// deliver makes the response's body end x and release the connection.
func (pc *persistConn) deliver(x *trip, req *stdhttp.Request, resp *stdhttp.Response,
	out *sending) {
	pc.limit = math.MaxInt64
	out.headCame()
	switches := resp.StatusCode == stdhttp.StatusSwitchingProtocols &&
		len(resp.Header["Upgrade"]) > 0 && listsToken(resp.Header.Get("Connection"), "upgrade")
	b := &responseBody{x: x, pc: pc, out: out, body: resp.Body}
	b.keep = !resp.Close && !req.Close && resp.StatusCode > 199
	switch {
	case switches:
		read, _ := pc.br.Peek(pc.br.Buffered())
		resp.Body = &begun{pc.conn, bytes.Clone(read)}
		pc.releaseBuffer()
		x.stop()
		pc.release()
		x.end()
	case req.Method == "HEAD" || resp.ContentLength == 0:
		b.finish(true)
	default:
		resp.Body = b
		if x.gzip && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
			resp.Body = &gzipBody{body: b}
			resp.Header.Del("Content-Encoding")
			resp.Header.Del("Content-Length")
			resp.ContentLength, resp.Uncompressed = -1, true
		}
	}
}

// sending is a request on its way out.
type sending struct {
	pc    *persistConn
	x     *trip
	began int64                  // constant: pc.written before it
	done  *sync.Future[struct{}] // constant: nil if the caller sends
	came  atomic.Bool            // atomic: the head of the response is there

	// The sender's, until done.
	w   *bufio.Writer
	err error // why it was not sent
}

// writers are buffers of requests: for a body that is sent inline, and a head.
var writers = stdsync.Pool{New: func() any {
	return bufio.NewWriterSize(nil, maxInline+4<<10)
}}

// inline reports whether the caller can send it: that will not wait long, and
// the response cannot come before. A body that GetBody can give again is in
// memory, or as good as that.
func (s *sending) inline(req *stdhttp.Request) bool {
	if s.x.body == nil {
		return true
	}
	_, sock := s.pc.conn.(socket.Stream)
	return sock && req.GetBody != nil && req.ContentLength > 0 && req.ContentLength <= maxInline
}

// send sends the request.
func (s *sending) send(req *stdhttp.Request) {
	if n := s.pc.t.WriteBufferSize; n > 0 {
		s.w = bufio.NewWriterSize(written{s.pc}, n)
	} else {
		s.w = writers.Get().(*bufio.Writer)
		s.w.Reset(written{s.pc})
		defer func() {
			s.w.Reset(nil)
			writers.Put(s.w)
		}()
	}
	if s.err = req.Write(s); s.err == nil {
		s.err = s.w.Flush()
	}
	switch d := s.pc.t.ResponseHeaderTimeout; {
	case s.err != nil && s.done != nil:
		s.pc.close() // ends the wait for the response
	case s.err == nil && d > 0:
		s.pc.conn.SetReadDeadline(time.Now().Add(d))
		if s.came.Load() {
			s.pc.conn.SetReadDeadline(time.Time{})
		}
	}
}

// headCame removes the deadline for the head of the response.
func (s *sending) headCame() {
	s.came.Store(true)
	if s.pc.t.ResponseHeaderTimeout > 0 {
		s.pc.conn.SetReadDeadline(time.Time{})
	}
}

// failed returns why it was not sent, once the sender has ended; nil before.
func (s *sending) failed() error {
	if s.done != nil && !s.done.Done() {
		return nil
	}
	return s.err
}

// sent waits a moment for the end of the sending, and reports whether all was
// sent, so that the connection can be used on.
func (s *sending) sent() bool {
	if s.done != nil {
		if _, err := s.done.GetTimeout(maxSendWait); err != nil {
			return false
		}
	}
	return s.err == nil
}

// maxSendWait is how long a response that came early waits for the rest of the
// request to be sent. After that its connection is given up.
const maxSendWait = 50 * time.Millisecond

// The methods of a buffer that net/http needs to write into it, without
// ReadFrom: a body's Read flushes it.

func (s *sending) Write(p []byte) (int, error)          { return s.w.Write(p) }
func (s *sending) WriteString(text string) (int, error) { return s.w.WriteString(text) }
func (s *sending) WriteByte(c byte) error               { return s.w.WriteByte(c) }
func (s *sending) flush() error                         { return s.w.Flush() }

// written counts what is written to a connection.
type written struct{ pc *persistConn }

func (w written) Write(p []byte) (int, error) {
	n, err := w.pc.conn.Write(p)
	w.pc.written.Add(int64(n))
	return n, err
}
