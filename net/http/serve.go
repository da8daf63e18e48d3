package http

import (
	"bytes"
	"cmp"
	"context"
	stdtls "crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/httpinfo"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/tls"
)

// onceListener closes its listener once.
type onceListener struct {
	net.Listener
	once sync.Once
	err  error
}

// Close implements net.Listener.
func (l *onceListener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// serve is Serve, with TLS if config is not nil.
func (s *Server) serve(accepts net.Listener, config *stdtls.Config) error {
	s.init()
	l := &onceListener{Listener: accepts}
	defer l.Close()
	if !s.track(l) {
		return ErrServerClosed
	}
	defer s.untrack(l)
	base := s.base
	if s.BaseContext != nil {
		if base = s.BaseContext(accepts); base == nil {
			panic("BaseContext returned a nil context")
		}
		base = context.WithValue(base, ServerContextKey, s)
	}
	ends := func() bool { return false }
	if p := processor.Current(); p != nil {
		group := p.Group()
		defer group.OnDraining(func() { l.Close() })()
		ends = func() bool { return group.Phase() >= processor.Draining }
	}
	accept := l.Accept
	switch accepts.(type) {
	case *socket.TCPListener, *socket.UnixListener:
		if config == nil && s.plain() { // connections cost less memory
			accept = func() (net.Conn, error) { return nil, s.conns.Serve(accepts) }
		}
	}
	var delay time.Duration
	for {
		c, err := accept()
		if err != nil {
			var ne net.Error
			switch {
			case s.shuttingDown():
				return ErrServerClosed
			case errors.Is(err, coroutine.ErrShutdown) || ends():
				s.drain()
				return ErrServerClosed
			case errors.As(err, &ne) && ne.Temporary(): //lint:ignore SA1019 as net/http
				delay = min(max(2*delay, 5*time.Millisecond), time.Second)
				s.logf("http: Accept error: %v; retrying in %v", err, delay)
				netco.Sleep(delay)
				continue
			}
			return err
		}
		delay = 0
		s.serveConn(base, c, config)
	}
}

func (s *Server) track(l *onceListener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shuttingDown() {
		return false
	}
	if s.listeners == nil {
		s.listeners = map[*onceListener]struct{}{}
	}
	s.listeners[l] = struct{}{}
	s.serving.Add(1)
	return true
}

func (s *Server) untrack(l *onceListener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	s.serving.Done()
}

// drain is Shutdown when the Scheduler ends, which waits for the coroutines by
// itself. Precondition: the caller is an accept loop.
func (s *Server) drain() {
	s.beginShutdown()
	for _, inner := range s.inner() {
		await(aside(func() error { return inner.Shutdown(context.Background()) }))
	}
}

// serveConn serves one connection, and returns at once.
func (s *Server) serveConn(base context.Context, nc net.Conn, config *stdtls.Config) {
	raw, tc := ownConn(nc)
	if raw == nil || config != nil && len(s.TLSNextProto) > 0 {
		if config != nil {
			nc = stdtls.Server(nc, config)
		}
		s.handToStandard(s.standard(&s.foreign), &oneConn{nc, base})
		return
	}
	if config != nil && tc == nil {
		tc = tls.Server(raw, config)
		nc = tc
	}
	if tc == nil && s.plain() {
		s.conns.ServeConn(raw)
		return
	}
	c := &conn{s: s, nc: nc, ctx: base}
	if s.ConnContext != nil {
		if c.ctx = s.ConnContext(base, nc); c.ctx == nil {
			panic("ConnContext returned nil")
		}
	}
	c.setState(StateNew)
	s.pending.Store(raw, c)
	if s.conns.ServeConn(raw) != nil {
		s.pending.Delete(raw)
		c.setState(StateClosed)
	}
}

// plain reports whether nothing of the user's is called with connections or for
// them.
func (s *Server) plain() bool {
	return s.BaseContext == nil && s.ConnContext == nil && s.ConnState == nil
}

// ownConn returns the connection of netco below c, and c if that is netco's
// TLS; nil if c is another's.
func ownConn(c net.Conn) (socket.Stream, *tls.Conn) {
	tc, _ := c.(*tls.Conn)
	if tc != nil {
		c = tc.NetConn()
	}
	switch raw := c.(type) {
	case *socket.TCPConn:
		return raw, tc
	case *socket.UnixConn:
		return raw, tc
	}
	return nil, nil
}

// oneConn is a listener that returns one connection, and then fails.
type oneConn struct {
	conn net.Conn
	base context.Context
}

// Accept implements net.Listener.
func (l *oneConn) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, net.ErrClosed
	}
	c := l.conn
	l.conn = nil
	return c, nil
}

// Close implements net.Listener.
func (l *oneConn) Close() error { return nil }

// Addr implements net.Listener.
func (l *oneConn) Addr() net.Addr { return nil }

// handToStandard has one of net/http's servers serve a connection, on a
// goroutine.
func (s *Server) handToStandard(inner *http.Server, l *oneConn) {
	c := l.conn
	if inner.Serve(l) == ErrServerClosed {
		c.Close()
	}
}

// ownKey is the key of a context's value: the *conn which had the connection
// before the standard's server.
type ownKey struct{}

// standard returns one of net/http's servers, and makes it if need be. Both
// have the settings of s, and its handler. That for HTTP/2 gets connections
// that have begun: it takes them as unencrypted HTTP/2, whatever is below.
func (s *Server) standard(which **http.Server) *http.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *which != nil {
		return *which
	}
	inner := &http.Server{}
	copyFields(inner, s)
	inner.TLSConfig = nil // the connections have theirs
	inner.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		own, _ := ctx.Value(ownKey{}).(*conn)
		if ctx.Value(ServerContextKey) != any(s) { // HTTP/2 puts the inner one there
			r = r.WithContext(context.WithValue(ctx, ServerContextKey, s))
		}
		if own != nil {
			r.TLS = own.tlsState
		}
		if sw, ok := w.(standardWriter); ok && httpinfo.Counting() {
			x := &counted{standardWriter: sw, began: clock.Now()}
			defer x.count()
			w = x
		}
		s.handler().ServeHTTP(w, r)
	})
	if which == &s.foreign && s.TLSNextProto != nil {
		inner.TLSNextProto = map[string]func(*http.Server, *stdtls.Conn, http.Handler){}
		for proto, f := range s.TLSNextProto {
			inner.TLSNextProto[proto] = func(_ *http.Server, c *stdtls.Conn, h http.Handler) {
				f(s, c, h)
			}
		}
	}
	inner.BaseContext = func(l net.Listener) context.Context { return l.(*oneConn).base }
	inner.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		ctx = context.WithValue(ctx, ServerContextKey, s)
		if ctx.Value(ownKey{}) == nil && s.ConnContext != nil {
			ctx = s.ConnContext(ctx, c)
		}
		return ctx
	}
	if which == &s.h2 {
		inner.Protocols = new(Protocols)
		inner.Protocols.SetUnencryptedHTTP2(true)
	}
	if s.ConnState != nil {
		inner.ConnState = func(c net.Conn, state ConnState) {
			if own, ok := c.(*begun); !ok {
				s.ConnState(c, state)
			} else if state != StateNew {
				s.ConnState(own.Conn, state)
			}
		}
	}
	if s.disableKeepAlives.Load() {
		inner.SetKeepAlivesEnabled(false)
	}
	*which = inner
	return inner
}

// standardWriter is the standard's ResponseWriter for HTTP/1.
type standardWriter interface {
	http.ResponseWriter
	http.Hijacker
	io.ReaderFrom
	io.StringWriter
	http.CloseNotifier //lint:ignore SA1019 as net/http
	Flush()
	FlushError() error
}

// counted is such a ResponseWriter whose request is counted.
type counted struct {
	standardWriter
	status int // 0 is 200
	began  int64
}

// WriteHeader implements http.ResponseWriter.
func (w *counted) WriteHeader(status int) {
	if w.status < 200 {
		w.status = status
	}
	w.standardWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *counted) Unwrap() http.ResponseWriter { return w.standardWriter }

func (w *counted) count() {
	httpinfo.Served(netco.CurrentProcessor(), cmp.Or(w.status, http.StatusOK),
		time.Duration(clock.Now()-w.began))
}

// copyFields sets the exported fields of a struct to those of another that have
// the same name and type. Both are pointers.
func copyFields(to, from any) {
	src, dst := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range dst.NumField() {
		field := dst.Type().Field(i)
		f := src.FieldByName(field.Name)
		if field.IsExported() && f.IsValid() && f.Type() == field.Type {
			dst.Field(i).Set(f)
		}
	}
}

// begun is a connection of which something was read already: on its way to one
// of the standard's servers, or the body of a 101 response. It hides TLS:
// net/http's server looks for its own.
type begun struct {
	net.Conn
	read []byte // owner, its reader: comes first
	end  error  // constant: follows, or nil
}

// Read implements net.Conn.
func (c *begun) Read(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		c.read = c.read[n:]
		return n, nil
	}
	if c.end != nil {
		return 0, c.end
	}
	return c.Conn.Read(p)
}

// CloseWrite ends the half of the connection that the caller writes, if there
// are halves.
func (c *begun) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", ErrNotSupported)
}

// handOver gives a connection to one of the standard's servers, with what was
// read of it and not taken, and the error that followed, if one did: a
// connection that speaks HTTP/2, or has a request that this package does not
// parse.
func (c *conn) handOver(which **http.Server, end error) error {
	var read []byte
	if x := c.work; x != nil {
		c.flush()
		read, _ = x.in.Peek(x.in.Buffered())
		read = bytes.Clone(read)
		c.end()
	}
	c.gone = true
	c.sc.Detach()
	c.forget()
	c.nc.SetDeadline(time.Time{})
	base := context.WithValue(c.ctx, ownKey{}, c)
	c.s.handToStandard(c.s.standard(which), &oneConn{&begun{c.nc, read, end}, base})
	return nil
}
