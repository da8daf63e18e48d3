package socket

import (
	"fmt"
	"net"
	"reflect"
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

// connOf returns the connection that c is, or nil if c is another type that
// embeds one, or none.
func connOf(c Stream) *conn {
	switch c := c.(type) {
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
// idle the Server waits for its socket, and cannot know what a type around it
// has decrypted or buffered.
func refuseConn(c net.Conn) error {
	if s, ok := c.(Stream); ok && connOf(s) != nil {
		return nil
	}
	if limited, ok := c.(*limitedConn); ok {
		c = limited.Conn
	}
	return fmt.Errorf("netco: a Server serves a *socket.TCPConn or *socket.UnixConn itself, not "+
		"a %T", c)
}

// refuseListener is refuseConn for what is sure to return such connections. Of
// an unknown type its first connection is checked.
func refuseListener(l net.Listener) error {
	if limited, ok := l.(*limitedListener); ok {
		return refuseListener(limited.Listener)
	}
	t := reflect.TypeOf(l)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.PkgPath() {
	case "crypto/tls":
		return fmt.Errorf("netco: a Server cannot serve TLS: a %T's connections wait for each "+
			"other's mutexes; serve it with a goroutine for each", l)
	case "net":
		return fmt.Errorf("netco: a Server serves listeners of package socket, not a %T: use "+
			"socket.Listen or socket.FileListener", l)
	}
	return nil
}
