package netco

import (
	"net"

	"github.com/netco-go/netco/socket"
)

// Listen announces on a local TCP address, as net.Listen does and with its errors; accepts and the connections' reads and
// writes park coroutines and block ordinary goroutines. The network is "tcp", "tcp4" or "tcp6". The result is a
// *socket.Listener, its connections are *socket.Conn.
func Listen(network, address string) (net.Listener, error) {
	l, err := socket.Listen(network, address)
	if err != nil {
		return nil, err // not l: a nil *socket.Listener is not a nil net.Listener
	}
	return l, nil
}

// Dial connects to a TCP address, as net.Dial does and with its errors. The result is a *socket.Conn. Parks.
func Dial(network, address string) (net.Conn, error) {
	c, err := socket.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return c, nil
}
