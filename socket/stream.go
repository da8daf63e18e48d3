package socket

import "net"

// Stream is a stream connection of this package: a *TCPConn or a *UnixConn of network "unix".
type Stream interface {
	net.Conn
	WaitReadable() error
	CloseRead() error
	CloseWrite() error

	base() *conn
}

func (c *conn) base() *conn { return c }
