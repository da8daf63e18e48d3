package socket

import (
	"fmt"
	"net"
	"reflect"
	"time"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/serving"
)

// Stream is a stream connection of this package: a *TCPConn or a *UnixConn of
// network "unix". A type that embeds one has its methods and is a Stream to the
// compiler, but Server and NewBuffered refuse it: they go past its Read and
// Write, to the socket.
type Stream interface {
	net.Conn
	WaitReadable() error
	CloseRead() error
	CloseWrite() error

	base() *conn
}

func (c *conn) base() *conn { return c }

// connOf returns v's connection, or nil if v is another type. It checks the
// type itself, not an interface: a type that embeds a connection may have a
// Read or Write of its own.
func connOf(v any) *conn {
	switch c := v.(type) {
	case *TCPConn:
		if c != nil {
			return &c.conn
		}
	case *UnixConn:
		if c != nil {
			return &c.conn
		}
	case *ServerConn:
		if c != nil {
			return connOf(c.Stream)
		}
	}
	return nil
}

// refuseConn returns why a Server cannot serve c, or nil. While a connection is
// idle the Server waits for its socket, and cannot know which bytes a type
// around it has decrypted or buffered.
func refuseConn(c net.Conn) error {
	if connOf(c) != nil {
		return nil
	}
	if limited, ok := c.(*limitedConn); ok {
		c = limited.Conn
	}
	return refusal(c, "a *socket.TCPConn or *socket.UnixConn itself")
}

// refuseListener is refuseConn for a listener whose type is sure to return
// refused connections. A listener of unknown type has its first connection
// checked.
func refuseListener(l net.Listener) error {
	if limited, ok := l.(*limitedListener); ok {
		return refuseListener(limited.Listener)
	}
	if pkg := packageOf(l); pkg == "net" || isTLS(pkg) {
		return refusal(l, "a listener of netco.Listen or netco/net")
	}
	return nil
}

// refusal is the error for a listener or connection of a type that a Server
// cannot serve.
func refusal(given any, want string) error {
	cure := ""
	if isTLS(packageOf(given)) {
		cure = ": serve the connections below, and call netco/tls's Server in Opened, see its " +
			"package comment"
	}
	return fmt.Errorf("netco: a Server serves %s, not a %T%s", want, given, cure)
}

func isTLS(pkg string) bool {
	return pkg == "crypto/tls" || pkg == "github.com/netco-go/netco/tls"
}

// packageOf returns the path of the package of v's type.
func packageOf(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

func init() { serving.Register(beginServing, requestAnswered, serveOnGoroutine) }

// servable returns the socket of a connection that may have a handler, or nil.
func servable(c net.Conn) *fd.FD {
	for {
		switch x := c.(type) {
		case interface{ base() *conn }:
			if s := &x.base().s; s.Made() && !s.HasPackets() {
				return s
			}
			return nil
		case *limitedConn:
			c = x.Conn
		case interface{ NetConn() net.Conn }:
			c = x.NetConn()
		default:
			return nil
		}
	}
}

// beginServing implements serving.Begin.
func beginServing(c net.Conn) {
	if s := servable(c); s != nil {
		s.BeginServing()
	}
}

// requestAnswered implements serving.Answered.
func requestAnswered(c net.Conn) {
	if s := servable(c); s != nil {
		s.RequestAnswered()
	}
}

// serveOnGoroutine implements serving.OnGoroutine.
func serveOnGoroutine(c net.Conn, idle time.Duration, serve func() bool) {
	servable(c).ServeOnGoroutine(int64(idle), serve)
}
