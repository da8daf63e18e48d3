package netco

import (
	"net"

	"github.com/netco-go/netco/socket"
)

// Listen announces on a local TCP address, as net.Listen does and with its errors; accepts and the connections' reads and
// writes park coroutines and block ordinary goroutines. The network is "tcp", "tcp4" or "tcp6". The result is a
// *socket.TCPListener, its connections are *socket.TCPConn.
func Listen(network, address string) (net.Listener, error) {
	return socket.Listen(network, address)
}

// Dial connects to a TCP address, as net.Dial does and with its errors. The result is a *socket.TCPConn. Parks.
func Dial(network, address string) (net.Conn, error) {
	return socket.Dial(network, address)
}
