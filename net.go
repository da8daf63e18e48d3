package netco

import (
	"context"
	"net"
	"time"

	"github.com/netco-go/netco/socket"
)

// Listen announces on a local address, as net.Listen does and with its errors;
// accepts and the connections' reads and writes park coroutines and block
// ordinary goroutines. The network is tcp, tcp4, tcp6, unix or unixpacket; the
// result is a *socket.TCPListener or a *socket.UnixListener.
func Listen(network, address string) (net.Listener, error) {
	return socket.Listen(network, address)
}

// ListenPacket announces on a local UDP or Unix datagram address, as
// net.ListenPacket does and with its errors; reads park coroutines and block
// ordinary goroutines. The network is udp, udp4, udp6 or unixgram; the result
// is a *socket.UDPConn or a *socket.UnixConn.
func ListenPacket(network, address string) (net.PacketConn, error) {
	return socket.ListenPacket(network, address)
}

// Dial connects to an address, as net.Dial does and with its errors. The
// network is tcp, tcp4, tcp6, udp, udp4, udp6, unix, unixgram or unixpacket;
// the result is a *socket.TCPConn, *socket.UDPConn or *socket.UnixConn. A name
// is looked up, which parks as connecting does. [socket.Dialer] has settings.
func Dial(network, address string) (net.Conn, error) {
	return socket.Dial(network, address)
}

// DialContext is Dial that ends when ctx does. A connection that it has
// returned does not depend on ctx any more.
func DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return socket.DialContext(ctx, network, address)
}

// DialTimeout is Dial that gives up after a time, with an error whose Timeout
// method returns true; 0 is no limit of netco's own.
func DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	return socket.DialTimeout(network, address, timeout)
}
