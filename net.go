package netco

import (
	"context"
	"net"

	"github.com/netco-go/netco/socket"
)

// Listen announces on a local address, as net.Listen does and with its errors;
// accepts and the connections' reads and writes park coroutines and block
// ordinary goroutines. The network is tcp, tcp4, tcp6, unix or unixpacket; the
// result is a *socket.TCPListener or a *socket.UnixListener.
func Listen(network, address string) (net.Listener, error) {
	return new(socket.ListenConfig).Listen(context.Background(), network, address)
}

// Dial connects to an address, as net.Dial does and with its errors. The
// network is tcp, tcp4, tcp6, udp, udp4, udp6, unix, unixgram or unixpacket;
// the result is a *socket.TCPConn, *socket.UDPConn or *socket.UnixConn. A name
// is looked up, which parks as connecting does. [socket.Dialer] has settings,
// and ends with a context.
func Dial(network, address string) (net.Conn, error) {
	return new(socket.Dialer).Dial(network, address)
}
