// Package socket has the names that the tests need.
package socket

import "net"

type (
	TCPConn    struct{ net.Conn }
	ServerConn struct{}
	Server     struct {
		Handle func(c *ServerConn) error
		Opened func(c *ServerConn) error
	}
	Buffered struct{}
)

func (c *TCPConn) Read(p []byte) (int, error)         { return 0, nil }
func (c *TCPConn) Write(p []byte) (int, error)        { return 0, nil }
func (c *TCPConn) CloseWrite() error                  { return nil }
func (c *TCPConn) SetNoDelay(on bool) error           { return nil }
func (b *Buffered) ReadLine() ([]byte, error)         { return nil, nil }
func (b *Buffered) Write(p []byte) (int, error)       { return 0, nil }
func (b *Buffered) WriteString(s string) (int, error) { return 0, nil }
func (b *Buffered) Flush() error                      { return nil }
func (c *ServerConn) Buffered() *Buffered             { return nil }
