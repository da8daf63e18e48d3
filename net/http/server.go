package http

import (
	"context"
	stdtls "crypto/tls"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is net/http's.
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
	MaxHeaderValueCount          int
	TLSNextProto                 map[string]func(*Server, *stdtls.Conn, Handler)
	ConnState                    func(net.Conn, ConnState)
	ErrorLog                     *log.Logger
	BaseContext                  func(net.Listener) context.Context
	ConnContext                  func(ctx context.Context, c net.Conn) context.Context
	HTTP2                        *HTTP2Config
	Protocols                    *Protocols
	DisableClientPriority        bool

	once sync.Once
	std  *http.Server
}

func (s *Server) standard() *http.Server {
	s.once.Do(func() {
		s.std = &http.Server{
			Addr:                         s.Addr,
			Handler:                      s.Handler,
			DisableGeneralOptionsHandler: s.DisableGeneralOptionsHandler,
			TLSConfig:                    s.TLSConfig,
			ReadTimeout:                  s.ReadTimeout,
			ReadHeaderTimeout:            s.ReadHeaderTimeout,
			WriteTimeout:                 s.WriteTimeout,
			IdleTimeout:                  s.IdleTimeout,
			MaxHeaderBytes:               s.MaxHeaderBytes,
			ConnState:                    s.ConnState,
			ErrorLog:                     s.ErrorLog,
			BaseContext:                  s.BaseContext,
			ConnContext:                  s.ConnContext,
			HTTP2:                        s.HTTP2,
			Protocols:                    s.Protocols,
		}
	})
	return s.std
}

// Serve accepts connections from l and serves them.
func (s *Server) Serve(l net.Listener) error { return s.standard().Serve(l) }

// ServeTLS is Serve with TLS.
func (s *Server) ServeTLS(l net.Listener, certFile, keyFile string) error {
	return s.standard().ServeTLS(l, certFile, keyFile)
}

// ListenAndServe listens on Addr and serves.
func (s *Server) ListenAndServe() error { return s.standard().ListenAndServe() }

// ListenAndServeTLS is ListenAndServe with TLS.
func (s *Server) ListenAndServeTLS(certFile, keyFile string) error {
	return s.standard().ListenAndServeTLS(certFile, keyFile)
}

// Shutdown ends the server, and waits for requests under way.
func (s *Server) Shutdown(ctx context.Context) error { return s.standard().Shutdown(ctx) }

// Close ends the server at once.
func (s *Server) Close() error { return s.standard().Close() }

// RegisterOnShutdown registers a function for Shutdown to start.
func (s *Server) RegisterOnShutdown(f func()) { s.standard().RegisterOnShutdown(f) }

// SetKeepAlivesEnabled says whether connections serve more than one request.
func (s *Server) SetKeepAlivesEnabled(v bool) { s.standard().SetKeepAlivesEnabled(v) }

// ListenAndServe listens on addr and serves.
func ListenAndServe(addr string, handler Handler) error {
	return (&Server{Addr: addr, Handler: handler}).ListenAndServe()
}

// ListenAndServeTLS is ListenAndServe with TLS.
func ListenAndServeTLS(addr, certFile, keyFile string, handler Handler) error {
	return (&Server{Addr: addr, Handler: handler}).ListenAndServeTLS(certFile, keyFile)
}

// Serve serves what l accepts.
func Serve(l net.Listener, handler Handler) error {
	return (&Server{Handler: handler}).Serve(l)
}

// ServeTLS is Serve with TLS.
func ServeTLS(l net.Listener, handler Handler, certFile, keyFile string) error {
	return (&Server{Handler: handler}).ServeTLS(l, certFile, keyFile)
}
