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
	"net/http/httptrace"
	"net/textproto"
	"os"
	"reflect"
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
	if pc.key.onlyHTTP1 {
		config.NextProtos = nil
	}
	if d := pc.t.TLSHandshakeTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, handshakeTimeoutError{})
		defer cancel()
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	c := nctls.Client(pc.conn, config)
	err := c.HandshakeContext(ctx)
	if err != nil {
		pc.conn.Close()
		if context.Cause(ctx) == (handshakeTimeoutError{}) {
			err = handshakeTimeoutError{}
		}
		if trace != nil && trace.TLSHandshakeDone != nil {
			trace.TLSHandshakeDone(tls.ConnectionState{}, err)
		}
		return err
	}
	state := c.ConnectionState()
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(state, nil)
	}
	pc.tls, pc.conn = &state, c
	return nil
}

type handshakeTimeoutError struct{}

func (handshakeTimeoutError) Timeout() bool   { return true }
func (handshakeTimeoutError) Temporary() bool { return true }
func (handshakeTimeoutError) Error() string   { return "net/http: TLS handshake timeout" }

// close closes the connection. Any thread. why is for debugging.
func (pc *persistConn) close(why error) {
	if pc.closed.Swap(true) {
		return
	}
	pc.t.dropped(pc.key)
	if why != errCallerOwnsConn {
		pc.conn.Close()
	}
}

// errCallerOwnsConn: the body of a 101 response is the connection.
var errCallerOwnsConn = errors.New("the caller owns the connection")

func (pc *persistConn) isBroken() bool { return pc.closed.Load() }

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
	gzipped := !pc.t.DisableCompression && len(req.Header["Accept-Encoding"]) == 0 &&
		len(req.Header["Range"]) == 0 && req.Method != "HEAD"
	out := &sending{pc: pc, x: x, began: pc.written.Load(), gzip: gzipped}
	out.closes = pc.t.DisableKeepAlives && !req.Close &&
		!tokenIn(req.Header.Get("Connection"), "close") && len(req.Header["Upgrade"]) == 0
	if out.continues(req); out.inline(req) {
		out.send(req)
	} else {
		out.done = sync.NewFuture[struct{}]()
		beside.Go(func() { out.send(req) }, func() { out.done.Set(struct{}{}) }, 0)
	}
	var resp *stdhttp.Response
	err := out.failed()
	if err == nil {
		resp, err = pc.readResponse(x, req, out)
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
	pc.close(err)
	out.answered(false)
	if out.done != nil {
		out.done.Get() // the caller may change its request from now on
	}
	x := out.x
	if cancelled := x.cancelled(); cancelled != nil {
		return cancelled
	}
	x.uses(nil, nil)
	if x.body != nil && x.body.failed != nil {
		return x.body.failed
	}
	if sent := out.failed(); sent != nil && (broken || out.done == nil) {
		err, broken = sent, true // it came first
	}
	var reading readFromServerError
	switch {
	case out.limited() && errors.Is(err, os.ErrDeadlineExceeded):
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
func (pc *persistConn) readResponse(x *trip, req *stdhttp.Request,
	out *sending) (*stdhttp.Response, error) {
	if _, err := pc.br.Peek(1); err != nil {
		return nil, readFromServerError{err}
	}
	if x.trace != nil && x.trace.GotFirstResponseByte != nil {
		x.trace.GotFirstResponseByte()
	}
	for {
		resp, err := stdhttp.ReadResponse(pc.br, req)
		if err != nil {
			return nil, err
		}
		code := resp.StatusCode
		if code == stdhttp.StatusContinue && out.waits.Load() {
			if x.trace != nil && x.trace.Got100Continue != nil {
				x.trace.Got100Continue()
			}
			out.answered(true)
		}
		if code < 100 || code > 199 || code == stdhttp.StatusSwitchingProtocols {
			// Without a 100 the body is sent if the connection is used on.
			out.answered(!resp.Close && !req.Close)
			resp.TLS = pc.tls
			return resp, nil
		}
		if x.trace != nil && x.trace.Got1xxResponse != nil {
			if err := x.trace.Got1xxResponse(code, textproto.MIMEHeader(resp.Header)); err != nil {
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
	b.keep = !resp.Close && !req.Close && resp.StatusCode > 199 && !switches
	switch {
	case switches:
		b.body, b.why = nil, errCallerOwnsConn
		c := &switched{Conn: pc.conn}
		if pc.br.Buffered() > 0 {
			c.br = pc.br
		} else {
			pc.releaseBuffer()
		}
		resp.Body = c
		b.finish(true)
	case req.Method == "HEAD" || resp.ContentLength == 0:
		b.finish(true)
	default:
		resp.Body = b
		if out.gzip && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
			resp.Body = &gzipBody{body: b}
			resp.Header.Del("Content-Encoding")
			resp.Header.Del("Content-Length")
			resp.ContentLength, resp.Uncompressed = -1, true
		}
	}
}

// sending is a request on its way out. What is written is collected, and sent
// by flush.
type sending struct {
	pc    *persistConn
	x     *trip
	began int64 // constant: pc.written before it
	// Constant: what the head has beyond the request's own fields.
	gzip, closes bool

	// The sender's, until done.
	buf     *bytes.Buffer
	err     error // why it was not sent
	refused bool  // the body is not wanted

	waits atomic.Bool            // for 100 Continue
	goes  *sync.Future[bool]     // whether to send the body; nil unless it waits
	done  *sync.Future[struct{}] // nil if the caller sends

	mu   stdsync.Mutex
	late bool // under mu: a deadline is set for the head of the response
	came bool // under mu: that is there
}

// limitHead sets the deadline for the head of the response, once the request is
// sent.
func (s *sending) limitHead() {
	d := s.pc.t.ResponseHeaderTimeout
	s.mu.Lock()
	defer s.mu.Unlock()
	if d > 0 && !s.came {
		s.late = true
		s.pc.conn.SetReadDeadline(time.Now().Add(d))
	}
}

// headCame removes it.
func (s *sending) headCame() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = true
	if s.late {
		s.pc.conn.SetReadDeadline(time.Time{})
	}
}

func (s *sending) limited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

// outgoing are buffers of requests.
var outgoing = stdsync.Pool{New: func() any { return new(bytes.Buffer) }}

// continues notes whether the body waits for the server's consent.
func (s *sending) continues(req *stdhttp.Request) {
	if s.x.body != nil && tokenIn(req.Header.Get("Expect"), "100-continue") {
		s.goes = new(sync.Future[bool])
		s.waits.Store(true)
	}
}

// answered says whether the body is to be sent, if that waits.
func (s *sending) answered(send bool) {
	if s.goes != nil {
		s.goes.Set(send)
		s.waits.Store(false)
	}
}

// inline reports whether the caller can send it: that will not wait long, and
// the response cannot come before.
func (s *sending) inline(req *stdhttp.Request) bool {
	if s.x.body == nil {
		return true
	}
	_, sock := s.pc.conn.(socket.Stream)
	return sock && s.goes == nil && req.ContentLength > 0 && req.ContentLength <= maxInline &&
		inMemory(s.x.body.ReadCloser)
}

// inMemory reports whether a body is of bytes that are there.
func inMemory(body io.Reader) bool {
	if v := reflect.ValueOf(body); v.Type() == nopCloser || v.Type() == nopCloserWriterTo {
		body, _ = v.Field(0).Interface().(io.Reader)
	}
	switch body.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	}
	return false
}

var (
	nopCloser         = reflect.TypeOf(io.NopCloser(nil))
	nopCloserWriterTo = reflect.TypeOf(io.NopCloser(struct {
		io.Reader
		io.WriterTo
	}{}))
)

// send sends the request.
func (s *sending) send(req *stdhttp.Request) {
	s.buf = outgoing.Get().(*bytes.Buffer)
	defer func() {
		if s.buf.Cap() <= 64<<10 {
			s.buf.Reset()
			outgoing.Put(s.buf)
		}
		s.buf = nil
	}()
	body := s.x.body
	if body != nil {
		body.flush = s.beforeBody
		if s.goes == nil && inMemory(body.ReadCloser) {
			body.flush = nil
		}
	}
	err := s.write(req)
	if err == nil {
		err = s.flush()
	}
	switch {
	case s.refused:
	case s.err == nil: // else it is the connection's
		s.err = err
	}
	if s.err == nil {
		s.limitHead()
	} else if s.done != nil {
		s.pc.close(s.err) // ends the wait for the response
	}
}

// errNotContinued ends a request whose body the server does not want.
var errNotContinued = errors.New("the server does not want the body")

// write has net/http write the request, with the fields that are this
// package's.
func (s *sending) write(req *stdhttp.Request) error {
	if !s.gzip && !s.closes {
		return req.Write(s)
	}
	if s.x.body == nil && s.x.trace == nil {
		if err := req.Write(s); err != nil {
			return err
		}
		s.buf.Truncate(s.buf.Len() - len("\r\n")) // the empty line
		if s.gzip {
			s.WriteString("Accept-Encoding: gzip\r\n")
		}
		if s.closes {
			s.WriteString("Connection: close\r\n")
		}
		s.WriteString("\r\n")
		return nil
	}
	r := *req
	r.Header = make(stdhttp.Header, len(req.Header)+2)
	for name, values := range req.Header {
		r.Header[name] = values
	}
	if s.gzip {
		r.Header["Accept-Encoding"] = []string{"gzip"}
	}
	if s.closes {
		r.Header["Connection"] = append(r.Header["Connection"][:0:0], "close")
	}
	return r.Write(s)
}

// beforeBody is called before each part of the body is read: what precedes is
// sent, so that the server has it while the body is waited for.
func (s *sending) beforeBody() error {
	if err := s.flush(); err != nil || s.goes == nil {
		return err
	}
	if s.x.trace != nil && s.x.trace.Wait100Continue != nil && !s.goes.Done() {
		s.x.trace.Wait100Continue()
	}
	send, err := s.goes.GetTimeout(max(s.pc.t.ExpectContinueTimeout, 1))
	if s.refused = err == nil && !send; s.refused {
		return errNotContinued
	}
	s.waits.Store(false)
	s.x.body.flush = s.flush
	return nil
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

// Write collects p.
func (s *sending) Write(p []byte) (int, error) {
	if s.buf.Len() > 0 && s.buf.Len()+len(p) > s.limit() {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) >= s.limit() {
		return s.put(p)
	}
	return s.buf.Write(p)
}

// WriteString is for net/http, which writes a head by it.
func (s *sending) WriteString(text string) (int, error) { return s.buf.WriteString(text) }

// WriteByte also keeps net/http from a buffer of its own.
func (s *sending) WriteByte(c byte) error { return s.buf.WriteByte(c) }

// limit is how much is collected.
func (s *sending) limit() int {
	if s.x.body == nil {
		return math.MaxInt // write changes the end
	}
	if s.pc.t.WriteBufferSize > 0 {
		return s.pc.t.WriteBufferSize
	}
	return maxInline + 4<<10
}

func (s *sending) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	_, err := s.put(s.buf.Bytes())
	s.buf.Reset()
	return err
}

// ReadFrom copies a body, and leaves a file to the connection, which has the
// kernel send it.
func (s *sending) ReadFrom(r io.Reader) (int64, error) {
	limited, _ := r.(*io.LimitedReader)
	to, ok := s.pc.conn.(io.ReaderFrom)
	if limited != nil && limited.R == s.x.body && ok && s.goes == nil {
		if file, ok := s.x.body.ReadCloser.(*os.File); ok {
			s.x.body.begun = true
			if err := s.flush(); err != nil {
				return 0, err
			}
			n, err := to.ReadFrom(&io.LimitedReader{R: file, N: limited.N})
			limited.N -= n
			s.pc.written.Add(n)
			return n, err
		}
	}
	buf := copyBuffers.Get().(*[blockSize]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(writerOnly{s}, r, buf[:])
}

func (s *sending) put(p []byte) (int, error) {
	n, err := s.pc.conn.Write(p)
	s.pc.written.Add(int64(n))
	if err != nil && s.err == nil {
		s.err = err
	}
	return n, err
}
