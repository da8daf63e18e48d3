package http

import (
	"cmp"
	"context"
	stdtls "crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"time"

	netconet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
	"github.com/netco-go/netco/tls"
)

// Server is net/http's Server with handlers in coroutines, on netco's
// connections. Package net/http documents the fields; they must not be changed
// once the Server serves. The zero value is useful.
type Server struct {
	Addr                         string
	Handler                      Handler
	DisableGeneralOptionsHandler bool
	TLSConfig                    *stdtls.Config
	ReadTimeout                  time.Duration
	ReadHeaderTimeout            time.Duration
	WriteTimeout                 time.Duration
	IdleTimeout                  time.Duration
	MaxHeaderBytes               int
	MaxHeaderValueCount          int // of Go 1.27; without effect before
	// The functions are called on goroutines, for ServeTLS and for listeners of
	// crypto/tls. A map that is not nil and has no "h2" turns HTTP/2 off.
	TLSNextProto map[string]func(*Server, *stdtls.Conn, Handler)
	// ConnState is called with the connection that the listener returned.
	ConnState             func(net.Conn, ConnState)
	ErrorLog              *log.Logger
	BaseContext           func(net.Listener) context.Context
	ConnContext           func(ctx context.Context, c net.Conn) context.Context
	HTTP2                 *HTTP2Config
	Protocols             *Protocols
	DisableClientPriority bool // of Go 1.27; without effect before

	inShutdown        atomic.Bool
	disableKeepAlives atomic.Bool

	once  stdsync.Once
	conns socket.Server   // constant once made
	base  context.Context // as conns: for connections without a BaseContext

	// The standard's servers. std runs the accept loop, and serves connections
	// that are not netco's or have requests that this package does not parse.
	// h2 serves HTTP/2 and treats its connections as unencrypted, even above
	// TLS.
	std, h2 http.Server

	habits    habits
	stayLimit time.Duration // constant once conns is: how long a goroutine awaits a request
}

// init makes the servers that serve connections, once.
func (s *Server) init() {
	s.once.Do(func() {
		s.stayLimit = cmp.Or(s.stayLimit, time.Second)
		s.base = context.WithValue(context.Background(), ServerContextKey, s)
		s.conns.Handle = func(sc *socket.ServerConn) error { return sc.Value.(*conn).handle() }
		s.conns.Opened = s.opened
		s.conns.Closed = func(sc *socket.ServerConn, _ error) {
			if c, ok := sc.Value.(*conn); ok {
				c.forget()
				c.setState(StateClosed)
			}
		}
		s.conns.Name = "http"
		s.initStandard(&s.std)
		if s.TLSNextProto != nil {
			s.std.TLSNextProto = map[string]func(*http.Server, *stdtls.Conn, Handler){}
		}
		for proto, f := range s.TLSNextProto {
			s.std.TLSNextProto[proto] = func(_ *http.Server, c *stdtls.Conn, h Handler) {
				f(s, c, h)
			}
		}
		s.initStandard(&s.h2)
		s.h2.Protocols = new(Protocols)
		s.h2.Protocols.SetUnencryptedHTTP2(true)
	})
}

// Serve accepts and serves connections from l until Accept fails, and closes l.
// netco's connections, with or without netco's TLS, are served in coroutines;
// net/http's own server serves all others on goroutines. After Shutdown, Close
// or the end of the Scheduler the error is ErrServerClosed, else Accept's.
// Parks.
func (s *Server) Serve(l net.Listener) error { return s.serve(l, nil) }

// ServeTLS is Serve with TLS. Package net/http documents the files. Its own
// server serves HTTP/2, on goroutines.
func (s *Server) ServeTLS(l net.Listener, certFile, keyFile string) error {
	config := cmp.Or(s.TLSConfig, &stdtls.Config{}).Clone()
	config.NextProtos = adjustNextProtos(config.NextProtos, s.protocols())
	if len(config.Certificates) == 0 && config.GetCertificate == nil &&
		config.GetConfigForClient == nil || certFile != "" || keyFile != "" {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return err
		}
		config.Certificates = []stdtls.Certificate{cert}
	}
	return s.serve(l, config)
}

// adjustNextProtos returns the protocols to offer by ALPN.
func adjustNextProtos(offered []string, p Protocols) []string {
	offered = slices.DeleteFunc(slices.Clone(offered), func(proto string) bool {
		return proto == "http/1.1" && !p.HTTP1() || proto == "h2" && !p.HTTP2()
	})
	if p.HTTP2() && !slices.Contains(offered, "h2") {
		offered = append(offered, "h2")
	}
	if p.HTTP1() && !slices.Contains(offered, "http/1.1") {
		offered = append(offered, "http/1.1")
	}
	return offered
}

// ListenAndServe listens on Addr, ":http" if that is empty, and serves. Parks.
func (s *Server) ListenAndServe() error { return s.listenAndServe(":http", s.Serve) }

// ListenAndServeTLS is ListenAndServe with TLS, on ":https" if Addr is empty.
func (s *Server) ListenAndServeTLS(certFile, keyFile string) error {
	return s.listenAndServe(":https", func(l net.Listener) error {
		defer l.Close()
		return s.ServeTLS(l, certFile, keyFile)
	})
}

func (s *Server) listenAndServe(addr string, serve func(net.Listener) error) error {
	if s.inShutdown.Load() {
		return ErrServerClosed
	}
	l, err := netconet.Listen("tcp", cmp.Or(s.Addr, addr))
	if err != nil {
		return err
	}
	return serve(l)
}

// Shutdown closes the listeners and the idle connections, and waits until
// requests under way are answered. If ctx ends first, it returns ctx's error.
// Hijacked connections are left alone. Parks.
func (s *Server) Shutdown(ctx context.Context) error {
	return s.end(func() error { return s.conns.Shutdown(ctx) },
		func(std *http.Server) error { return std.Shutdown(ctx) })
}

// Close closes the listeners and all connections but hijacked ones, at once.
func (s *Server) Close() error { return s.end(s.conns.Close, (*http.Server).Close) }

// end calls conns in the caller, and each for the standard's servers on
// goroutines meanwhile.
func (s *Server) end(conns func() error, each func(*http.Server) error) error {
	s.init()
	s.inShutdown.Store(true)
	std, h2 := sync.NewFuture[error](), sync.NewFuture[error]()
	go func() { std.Set(each(&s.std)) }()
	go func() { h2.Set(each(&s.h2)) }()
	own := conns()
	errStd, stopped := std.Get()
	errH2, stoppedToo := h2.Get()
	return cmp.Or(own, stopped, stoppedToo, errStd, errH2)
}

// RegisterOnShutdown has Shutdown, or the end of the Scheduler, call f on a
// goroutine of its own.
func (s *Server) RegisterOnShutdown(f func()) { s.std.RegisterOnShutdown(f) }

// SetKeepAlivesEnabled says whether connections serve more than one request;
// they do by default. false also closes idle connections.
func (s *Server) SetKeepAlivesEnabled(v bool) {
	s.disableKeepAlives.Store(!v)
	s.std.SetKeepAlivesEnabled(v)
	s.h2.SetKeepAlivesEnabled(v)
	open.mu.Lock()
	defer open.mu.Unlock()
	for c := range open.conns {
		if !v && c.s == s && c.idle.CompareAndSwap(true, false) {
			c.sc.SetReadDeadline(longAgo) // the connection wakes, and ends
		}
	}
}

var longAgo = time.Unix(1, 0)

// doKeepAlives reports whether a connection may serve another request. It does
// not check whether the Scheduler is ending.
func (s *Server) doKeepAlives() bool { return !s.disableKeepAlives.Load() && !s.inShutdown.Load() }

// draining reports whether the Scheduler of the caller is ending.
func draining() bool {
	p := processor.Current()
	return p != nil && p.Group().Phase() >= processor.Draining
}

func (s *Server) logf(format string, args ...any) {
	cmp.Or(s.ErrorLog, log.Default()).Printf(format, args...)
}

func (s *Server) protocols() (p Protocols) {
	if s.Protocols != nil {
		p = *s.Protocols
	} else {
		_, hasH2 := s.TLSNextProto["h2"]
		p.SetHTTP2(hasH2 || s.TLSNextProto == nil && !http2Off)
	}
	if s.Protocols == nil || p == (Protocols{}) {
		p.SetHTTP1(true)
	}
	return p
}

// http2Off is net/http's own switch.
var http2Off = slices.Contains(strings.Split(os.Getenv("GODEBUG"), ","), "http2server=0")

func (s *Server) readHeaderTimeout() time.Duration {
	return cmp.Or(s.ReadHeaderTimeout, s.ReadTimeout)
}

func (s *Server) handshakeTimeout() (least time.Duration) {
	for _, d := range []time.Duration{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout} {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

func (s *Server) handler() Handler { return cmp.Or[Handler](s.Handler, DefaultServeMux) }

// ListenAndServe listens on addr and serves, with DefaultServeMux if handler is
// nil. Parks.
func ListenAndServe(addr string, handler Handler) error {
	return (&Server{Addr: addr, Handler: handler}).ListenAndServe()
}

// ListenAndServeTLS is ListenAndServe with TLS.
func ListenAndServeTLS(addr, certFile, keyFile string, handler Handler) error {
	return (&Server{Addr: addr, Handler: handler}).ListenAndServeTLS(certFile, keyFile)
}

// Serve serves the connections that l accepts, as Server.Serve does.
func Serve(l net.Listener, handler Handler) error {
	return (&Server{Handler: handler}).Serve(l)
}

// ServeTLS is Serve with TLS.
func ServeTLS(l net.Listener, handler Handler, certFile, keyFile string) error {
	return (&Server{Handler: handler}).ServeTLS(l, certFile, keyFile)
}
