package http

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// response is a request under way: the handler's ResponseWriter, the request's
// context and its body. Each request has a new response, so a handler that
// keeps one cannot reach another request. Owner, unless a field says otherwise:
// the handler.
type response struct {
	c    *conn   // constant
	req  Request // the handler's to change
	url  url.URL // req.URL points here as a rule
	body *body   // constant: the initial req.Body, nil for NoBody
	// Constant: of the request.
	method, target, proto string

	wroteHeader bool        // WriteHeader was called
	headerSent  bool        // the header is in the connection's buffer
	chunking    bool        // the body is sent in chunks
	closeAfter  bool        // the connection is to be closed
	fullDuplex  bool        // EnableFullDuplex was called
	done        atomic.Bool // the handler has returned
	aside       atomic.Bool // the handler runs on a goroutine

	header        Header // the handler's
	sent          Header // header as WriteHeader found it, then as sent
	status        int
	written       int64
	contentLength int64 // as declared, or -1
	began         int64 // constant: when the handler was called, 0 if not measured

	ctxMu    sync.Mutex         // held for a moment
	ended    bool               // under ctxMu
	wanted   bool               // under ctxMu: the handler asked for the end
	watched  bool               // under ctxMu: startRead was called, or must not be
	bodyRead bool               // under ctxMu: nothing is left of the body
	inner    context.Context    // under ctxMu: a standard context, once needed
	cancel   context.CancelFunc // under ctxMu: of inner

	values [8]string // of the request's header
}

// Header implements http.ResponseWriter.
func (w *response) Header() Header {
	if w.header == nil {
		w.header = Header{}
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(code int) {
	switch {
	case w.c.hijacked.Load():
		w.c.s.logf("http: response.WriteHeader on hijacked connection from %s", caller())
		return
	case w.wroteHeader:
		w.c.s.logf("http: superfluous response.WriteHeader call from %s", caller())
		return
	case code < 100 || code > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", code))
	}
	if code <= 199 && code != StatusSwitchingProtocols {
		w.writeInformation(code)
		return
	}
	w.wroteHeader = true
	w.status = code
	w.sent = w.header.Clone()
	if cl := w.header.Get("Content-Length"); cl != "" {
		v, err := strconv.ParseInt(cl, 10, 64)
		if err == nil && v >= 0 {
			w.contentLength = v
		} else {
			w.c.s.logf("http: invalid Content-Length of %q", cl)
			w.header.Del("Content-Length")
		}
	}
}

// framing are the fields that no 1xx header has.
var framing = map[string]bool{"Content-Length": true, "Transfer-Encoding": true}

// writeInformation sends a 1xx header.
func (w *response) writeInformation(code int) {
	x := w.c.work
	x.mu.Lock()
	defer x.mu.Unlock()
	x.out.Write(appendStatus(x.out.AvailableBuffer(), w.proto, code))
	w.header.WriteSubset(x.out, framing)
	x.out.WriteString("\r\n")
	x.out.Flush()
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if err := w.beforeWrite(len(p)); err != nil || len(p) == 0 {
		return 0, err
	}
	return w.c.work.body.Write(p)
}

// WriteString implements io.StringWriter.
func (w *response) WriteString(s string) (int, error) {
	if err := w.beforeWrite(len(s)); err != nil || len(s) == 0 {
		return 0, err
	}
	return w.c.work.body.WriteString(s)
}

var errDone = errors.New("http: Write after the handler has returned")

// beforeWrite begins the answer, and accounts for n bytes of the body.
func (w *response) beforeWrite(n int) error {
	switch {
	case w.c.hijacked.Load():
		if n > 0 {
			w.c.s.logf("http: response.Write on hijacked connection from %s", caller())
		}
		return ErrHijacked
	case w.done.Load():
		return errDone
	}
	if !w.wroteHeader {
		w.WriteHeader(StatusOK)
	}
	if n == 0 {
		return nil
	}
	if !bodyAllowed(w.status) {
		return ErrBodyNotAllowed
	}
	w.written += int64(n)
	if w.contentLength != -1 && w.written > w.contentLength {
		return ErrContentLength
	}
	return nil
}

var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// writerOnly hides ReadFrom.
type writerOnly struct{ io.Writer }

// ReadFrom implements io.ReaderFrom: a file goes to the socket by sendfile.
func (w *response) ReadFrom(src io.Reader) (n int64, err error) {
	buf := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buf)
	direct, ok := w.c.nc.(io.ReaderFrom)
	if !ok || w.c.hijacked.Load() || w.done.Load() {
		return io.CopyBuffer(writerOnly{w}, src, buf[:])
	}
	if !w.headerSent {
		n, err = io.CopyBuffer(writerOnly{w}, io.LimitReader(src, sniffLen), buf[:])
		if err != nil || n < sniffLen {
			return n, err
		}
	}
	if err := w.FlushError(); err != nil {
		return n, err
	}
	if w.chunking || w.contentLength == -1 || !bodyAllowed(w.status) ||
		w.req.Method == MethodHead {
		m, err := io.CopyBuffer(writerOnly{w}, src, buf[:])
		return n + m, err
	}
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: src, N: math.MaxInt64}
	}
	excess := max(limited.N-(w.contentLength-w.written), 0)
	limited.N -= excess // what is declared, and no more
	m, err := direct.ReadFrom(limited)
	w.written += m
	if limited.N += excess; err == nil && excess > 0 {
		if more, _ := limited.Read([]byte{0}); more > 0 {
			err = ErrContentLength
		}
	}
	return n + m, err
}

// Flush implements http.Flusher.
func (w *response) Flush() { w.FlushError() }

// FlushError is Flush with its error, for http.ResponseController.
func (w *response) FlushError() error {
	if err := w.beforeWrite(0); err != nil {
		return err
	}
	err := w.c.work.body.Flush()
	_, flushed := w.put(nil, false, true)
	return cmp.Or(err, flushed)
}

// SetReadDeadline is for http.ResponseController.
func (w *response) SetReadDeadline(t time.Time) error { return w.c.nc.SetReadDeadline(t) }

// SetWriteDeadline is for http.ResponseController.
func (w *response) SetWriteDeadline(t time.Time) error {
	w.c.writeTimed = true
	return w.c.nc.SetWriteDeadline(t)
}

// EnableFullDuplex is for http.ResponseController.
func (w *response) EnableFullDuplex() error {
	w.fullDuplex = true
	return nil
}

// finish ends the response after its handler. If the handler has returned
// without a panic, finish sends the answer, or leaves it in the buffer if the
// next request has arrived. It leaves a hijacked connection alone.
func (w *response) finish(returned bool) {
	w.done.Store(!w.c.gone)
	w.finishContext()
	if w.c.gone {
		return
	}
	w.stopRead()
	w.body.endRead()
	if returned {
		if !w.wroteHeader {
			w.WriteHeader(StatusOK)
		}
		x := w.c.work
		w.put(x.bodyBuf[:x.body.Buffered()], true, false)
	}
	w.body.Close()
	if w.req.MultipartForm != nil {
		w.req.MultipartForm.RemoveAll()
	}
}

// Hijack implements http.Hijacker. It returns netco's connection: a coroutine
// that waits on it parks. The reader has the bytes that the Server read ahead.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.done.Load() {
		panic("net/http: Hijack called after ServeHTTP finished")
	}
	c := w.c
	if c.hijacked.Load() {
		return nil, nil, ErrHijacked
	}
	if w.wroteHeader {
		w.put(nil, false, true)
	} else {
		c.flush()
	}
	c.hijacked.Store(true) // so the end of the read does not end the context
	w.stopRead()
	c.nc.SetDeadline(time.Time{})
	x := c.work
	c.work, x.body, c.gone = nil, nil, true
	x.mu.Lock()
	out := x.out
	x.out = new(bufio.Writer) // for flushAhead's coroutine, which may still come
	x.mu.Unlock()
	out.Reset(c.nc)
	c.sc.Detach()
	c.forget()
	c.setState(StateHijacked)
	return c.nc, bufio.NewReadWriter(x.in, out), nil
}

// caller returns the innermost call from outside this package.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "net/http.") &&
			!strings.HasPrefix(frame.Function, "github.com/netco-go/netco/net/http.") || !more {
			return fmt.Sprintf("%s (%s:%d)", frame.Function, path.Base(frame.File), frame.Line)
		}
	}
}
