package http

import (
	"bufio"
	"cmp"
	"compress/gzip"
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
	"slices"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/socket"
)

// persistConn is a connection to a server. One request at a time uses it.
type persistConn struct {
	t    *Transport // constant
	key  string     // constant: the address
	conn net.Conn   // constant

	// Guarded by the user: a request, or the pool.
	br     *bufio.Reader
	reused bool      // pc has served a request
	idleAt time.Time // when it last became idle
	limit  int64     // how many more bytes may be read
	sent   int       // how many bytes of the request
	silent bool      // nothing of the response has come
	late   bool      // the last read met its deadline

	closed atomic.Bool
}

// dialConn makes a connection to the address key.
func (t *Transport) dialConn(ctx context.Context, key string) (*persistConn, error) {
	dial := t.DialContext
	if dial == nil {
		dial = new(socket.Dialer).DialContext
	}
	c, err := dial(ctx, "tcp", key)
	if err != nil {
		return nil, err
	}
	switch c.(type) {
	case nil:
		return nil, errors.New("net/http: Transport.DialContext hook returned (nil, nil)")
	case *net.TCPConn, *net.UnixConn, *tls.Conn:
		t.foreign.Store(true)
	}
	return &persistConn{t: t, key: key, conn: c}, nil
}

// close closes the connection. Any thread.
func (pc *persistConn) close() {
	if !pc.closed.Swap(true) {
		pc.conn.Close()
	}
}

// spoilt reports whether an idle connection has ended, or has received bytes
// that no request asked for.
func (pc *persistConn) spoilt() bool {
	c, ok := pc.conn.(interface{ Readable() bool })
	return ok && c.Readable()
}

// Read reads from the connection within the limit.
func (pc *persistConn) Read(p []byte) (n int, err error) {
	if pc.limit <= 0 {
		return 0, fmt.Errorf("read limit of %d bytes exhausted", pc.maxHeader())
	}
	n, err = pc.conn.Read(p[:min(int64(len(p)), pc.limit)])
	pc.limit -= int64(n)
	pc.late = errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// Write counts the written bytes.
func (pc *persistConn) Write(p []byte) (int, error) {
	n, err := pc.conn.Write(p)
	pc.sent += n
	return n, err
}

func (pc *persistConn) maxHeader() int64 {
	return cmp.Or(max(0, pc.t.MaxResponseHeaderBytes), 10<<20)
}

// maxInline is the largest body that is sent together with the head, before the
// response is read. Requests with larger bodies go to the standard's Transport.
const maxInline = 16 << 10

// Buffers are pooled: idle connections hold none. A writer's buffer has room
// for a head and an inline body.
var (
	readers = stdsync.Pool{New: func() any { return bufio.NewReader(nil) }}
	writers = stdsync.Pool{New: func() any { return bufio.NewWriterSize(nil, maxInline+4<<10) }}
)

func (pc *persistConn) releaseBuffer() {
	if pc.br != nil {
		pc.br.Reset(nil)
		readers.Put(pc.br)
		pc.br = nil
	}
}

// roundTrip sends the request and reads its response's head. The end of the
// response's body ends t.
func (t *trip) roundTrip() (*stdhttp.Response, error) {
	pc := t.pc
	if pc.br == nil {
		pc.br = readers.Get().(*bufio.Reader)
		pc.br.Reset(pc)
	}
	pc.limit, pc.sent, pc.silent = pc.maxHeader(), 0, false
	w := writers.Get().(*bufio.Writer)
	w.Reset(pc)
	err := t.req.Write(w) // reading its body does not wait
	if err == nil {
		err = w.Flush()
	}
	w.Reset(nil)
	writers.Put(w)
	if err != nil {
		return nil, t.failed(err)
	}
	timeout := t.t.ResponseHeaderTimeout
	if timeout > 0 {
		pc.conn.SetReadDeadline(time.Now().Add(timeout))
	}
	resp, err := t.readResponse()
	if err != nil {
		return nil, t.failed(err)
	}
	if timeout > 0 {
		pc.conn.SetReadDeadline(time.Time{})
	}
	t.deliver(resp)
	return resp, nil
}

// failed closes the connection after an error, and returns the error for the
// caller.
func (t *trip) failed(err error) error {
	pc := t.pc
	pc.close()
	cancelled := t.cancelled()
	t.stop()
	switch {
	case cancelled != nil:
		return cancelled
	case t.t.ResponseHeaderTimeout > 0 && pc.late: // err may be of a line cut short
		return errTimeout
	case pc.limit <= 0:
		err = fmt.Errorf("net/http: server response headers exceeded %d bytes; aborted",
			pc.maxHeader())
	case pc.sent == 0 || pc.silent:
		return err
	}
	return fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", err)
}

// shouldRetry reports whether the request, which failed with err, is sent again
// on another connection.
func (t *trip) shouldRetry(err error) bool {
	pc := t.pc
	return pc.reused && err != errTimeout && (pc.sent == 0 || pc.silent && isReplayable(&t.req))
}

func isReplayable(req *stdhttp.Request) bool {
	return slices.Contains([]string{"", "GET", "HEAD", "OPTIONS", "TRACE"}, req.Method) ||
		has(req.Header, "Idempotency-Key") || has(req.Header, "X-Idempotency-Key")
}

// readResponse reads the response's head, after any heads of status 1xx.
func (t *trip) readResponse() (*stdhttp.Response, error) {
	pc := t.pc
	if _, err := pc.br.Peek(1); err != nil {
		pc.silent = true
		return nil, err
	}
	for {
		resp, err := stdhttp.ReadResponse(pc.br, &t.req)
		if err != nil {
			return nil, err
		}
		code := resp.StatusCode
		if code < 100 || code > 199 || code == stdhttp.StatusSwitchingProtocols {
			return resp, nil
		}
		if hook := httptrace.ContextClientTrace(t.ctx); hook != nil && hook.Got1xxResponse != nil {
			if err := hook.Got1xxResponse(code, textproto.MIMEHeader(resp.Header)); err != nil {
				return nil, err
			}
			pc.limit = pc.maxHeader() // the hook bounds the number of 1xx heads
		}
	}
}

// deliver makes the response's body end t and release the connection.
func (t *trip) deliver(resp *stdhttp.Response) {
	pc := t.pc
	pc.limit = math.MaxInt64
	t.body, t.keep = resp.Body, !resp.Close && !t.req.Close && resp.StatusCode > 199
	switch {
	case switches(resp.StatusCode, resp.Header):
		read, _ := pc.br.Peek(pc.br.Buffered())
		resp.Body = newBegun(pc.conn, read, nil)
		pc.releaseBuffer()
		t.stop()
		t.end()
	case t.req.Method == "HEAD" || resp.ContentLength == 0:
		t.finish(true)
	case t.gzip && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip"):
		t.body = &gunzip{in: resp.Body}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.Body, resp.ContentLength, resp.Uncompressed = t, -1, true
	default:
		resp.Body = t
	}
}

// Read implements io.Reader of the response's body. The body's end, its Close
// and the end of the request's context each release the connection.
func (t *trip) Read(p []byte) (n int, err error) {
	switch {
	case t.closed.Load():
		return 0, errReadOnClosedBody
	case t.err != nil:
		return 0, t.err
	}
	n, err = t.body.Read(p)
	if err == nil {
		return n, nil
	}
	if cancelled := t.cancelled(); err != io.EOF && cancelled != nil && !t.done.Load() {
		err = cancelled
	}
	t.err = err
	t.finish(err == io.EOF)
	return n, err
}

// Close implements io.Closer of the response's body.
func (t *trip) Close() error {
	t.closed.Store(true)
	t.finish(false)
	return nil
}

// finish releases the connection, once. whole means that the whole response was
// read.
func (t *trip) finish(whole bool) {
	if t.done.Swap(true) {
		return
	}
	pc := t.pc
	if t.stop() && whole && t.keep && pc.br.Buffered() == 0 {
		t.t.putOrClose(pc)
	} else {
		pc.close()
	}
	t.end()
}

// gunzip decompresses a response's body, up to the first error.
type gunzip struct {
	in io.Reader    // constant
	zr *gzip.Reader // nil before the first Read, and after the last
}

var gzips = stdsync.Pool{New: func() any { return new(gzip.Reader) }}

func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.zr == nil {
		g.zr = gzips.Get().(*gzip.Reader)
		err = g.zr.Reset(g.in)
	}
	if err == nil {
		n, err = g.zr.Read(p)
	}
	if err != nil {
		gzips.Put(g.zr)
		g.zr = nil
	}
	return n, err
}
