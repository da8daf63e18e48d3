package http

import (
	"bytes"
	"context"
	stdtls "crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/tls"
)

// serve is Serve, with TLS if config is not nil. The standard's server accepts.
func (s *Server) serve(l net.Listener, config *stdtls.Config) error {
	s.init()
	sorts := &sorter{Listener: l, s: s, config: config, base: s.base}
	sorts.closed = sync.OnceValue(l.Close)
	if p := processor.Current(); p != nil {
		defer p.Group().OnDraining(func() { sorts.Close() })()
	}
	err := s.std.Serve(sorts)
	if errors.Is(err, coroutine.ErrShutdown) || draining() {
		s.Shutdown(context.Background())
	}
	if s.inShutdown.Load() {
		return ErrServerClosed
	}
	return err
}

// sorter is the listener that the standard's server gets in place of the
// user's. It keeps netco's connections from that server.
type sorter struct {
	net.Listener
	s      *Server
	config *stdtls.Config  // nil without TLS
	closed func() error    // closes the listener, once
	base   context.Context // parent of the contexts of its connections
}

// Close implements net.Listener. The listener may be closed: by s.conns.
func (so *sorter) Close() error {
	if err := so.closed(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Accept implements net.Listener. It serves the connections of netco.
func (so *sorter) Accept() (net.Conn, error) {
	s := so.s
	switch so.Listener.(type) {
	case *socket.TCPListener, *socket.UnixListener:
		if so.config == nil && s.BaseContext == nil && s.ConnContext == nil && s.ConnState == nil {
			return nil, s.conns.Serve(so.Listener) // connections cost less memory
		}
	}
	for {
		c, err := so.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c = so.serveConn(c); c != nil {
			return c, nil
		}
	}
}

// serveConn serves one connection and returns nil at once, or returns the
// connection for the standard's server.
func (so *sorter) serveConn(nc net.Conn) net.Conn {
	s := so.s
	raw, tc := ownConn(nc)
	if raw == nil || so.config != nil && len(s.TLSNextProto) > 0 {
		if so.config != nil {
			nc = stdtls.Server(nc, so.config)
		}
		return nc
	}
	if so.config != nil && tc == nil {
		tc = tls.Server(raw, so.config)
		nc = tc
	}
	c := &conn{s: s, nc: nc, tc: tc, ctx: so.base, known: true}
	if s.ConnContext != nil {
		if c.ctx = s.ConnContext(so.base, nc); c.ctx == nil {
			panic("ConnContext returned nil")
		}
	}
	c.setState(StateNew)
	if s.conns.ServeConn(raw, c) != nil {
		c.setState(StateClosed)
	}
	return nil
}

// ownConn returns netco's connection below c, and c itself if it is netco's
// TLS. It returns nil if c is not netco's.
func ownConn(c net.Conn) (socket.Stream, *tls.Conn) {
	tc, _ := c.(*tls.Conn)
	if tc != nil {
		c = tc.NetConn()
	}
	switch c.(type) {
	case *socket.TCPConn, *socket.UnixConn:
		return c.(socket.Stream), tc
	}
	return nil, nil
}

// oneConn is a listener that returns one connection, and then fails.
type oneConn struct {
	net.Listener // nil: its Addr is not called
	conn         net.Conn
}

func (o *oneConn) Accept() (c net.Conn, err error) {
	if c, o.conn = o.conn, nil; c == nil {
		err = net.ErrClosed
	}
	return c, err
}

func (o *oneConn) Close() error { return nil }

// ownKey is the key of a context's value: the *conn that had the connection
// before the standard's server.
type ownKey struct{}

// initStandard gives one of net/http's servers the settings and the handler of
// s.
func (s *Server) initStandard(std *http.Server) {
	copyFields(std, s)
	std.TLSConfig = nil // the connections have their own TLS
	std.ErrorLog = log.New((*errorLog)(s), "", 0)
	std.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if ctx.Value(ServerContextKey) != any(s) { // HTTP/2 puts std there
			r = r.WithContext(context.WithValue(ctx, ServerContextKey, s))
		}
		if own, ok := ctx.Value(ownKey{}).(*conn); ok {
			r.TLS = own.tlsState
		}
		s.handler().ServeHTTP(w, r)
	})
	std.BaseContext = func(l net.Listener) context.Context {
		sorts, ok := l.(*sorter)
		if !ok || s.BaseContext == nil {
			return s.base
		}
		base := s.BaseContext(sorts.Listener)
		if base != nil { // else the standard's server panics
			sorts.base = context.WithValue(base, ServerContextKey, s)
		}
		return base
	}
	std.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if c, ok := c.(*begun); ok {
			return context.WithValue(c.own.ctx, ownKey{}, c.own)
		}
		ctx = context.WithValue(ctx, ServerContextKey, s)
		if s.ConnContext != nil {
			ctx = s.ConnContext(ctx, c)
		}
		return ctx
	}
	if s.ConnState != nil {
		std.ConnState = func(c net.Conn, state ConnState) {
			if own, ok := c.(*begun); !ok {
				s.ConnState(c, state)
			} else if state != StateNew {
				s.ConnState(own.Conn, state)
			}
		}
	}
}

// errorLog is a Server as the writer of an inner server's log. It reads
// ErrorLog at each line, since that may be set later.
type errorLog Server

func (l *errorLog) Write(p []byte) (int, error) {
	(*Server)(l).logf("%s", p)
	return len(p), nil
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

// begun is a connection from which bytes have been read already: on its way to
// one of the standard's servers, or as the body of a 101 response. It hides TLS
// from net/http's server, which looks for crypto/tls.
type begun struct {
	net.Conn
	in  io.Reader
	own *conn // had the connection before; nil for a 101 response
}

// newBegun returns a connection that first yields the bytes already read from
// c, and then end, or the rest of c if end is nil.
func newBegun(c net.Conn, read []byte, end error) *begun {
	rest := io.Reader(c)
	if end != nil {
		rest = readerFunc(func([]byte) (int, error) { return 0, end })
	}
	return &begun{Conn: c, in: io.MultiReader(bytes.NewReader(bytes.Clone(read)), rest)}
}

func (b *begun) Read(p []byte) (int, error) { return b.in.Read(p) }

// CloseWrite closes the writing half of the connection, if it has halves.
func (b *begun) CloseWrite() error {
	if w, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", ErrNotSupported)
}

// handOver gives a connection that speaks HTTP/2, or has a request that this
// package does not parse, to one of the standard's servers. The server first
// gets the bytes that were read and not used, and then the error end, if it is
// not nil.
func (c *conn) handOver(std *http.Server, end error) error {
	if c.failed.Load() {
		return errServed
	}
	var read []byte
	if x := c.work; x != nil {
		c.flush()
		read, _ = x.in.Peek(x.in.Buffered())
	}
	rest := newBegun(c.nc, read, end)
	rest.own = c
	c.end()
	c.gone = true
	c.sc.Detach()
	c.forget()
	c.nc.SetDeadline(time.Time{})
	l := &oneConn{conn: rest}
	if std.Serve(l); l.conn != nil { // std is closed, and has not accepted it
		c.nc.Close()
		c.setState(StateClosed)
	}
	return nil
}
