package net

import (
	"context"
	stdnet "net"
)

// Listen announces on a local address: the result is a *TCPListener or a
// *UnixListener. A name in the address is looked up, which parks.
func Listen(network, address string) (Listener, error) {
	return new(ListenConfig).Listen(context.Background(), network, address)
}

// ListenIP makes a raw IP socket, the standard's.
func ListenIP(network string, laddr *IPAddr) (*IPConn, error) {
	return stdnet.ListenIP(network, laddr)
}

// ListenMulticastUDP listens for a group on an interface; the system chooses
// the interface if ifi is nil.
func ListenMulticastUDP(network string, ifi *Interface, gaddr *UDPAddr) (*UDPConn, error) {
	return names.ListenMulticastUDP(network, ifi, gaddr)
}

// ListenPacket announces on a local address: the result is a *UDPConn,
// *UnixConn or *IPConn. A name in the address is looked up, which parks, except
// for an IPConn's networks.
func ListenPacket(network, address string) (PacketConn, error) {
	if isRaw(network) {
		return stdnet.ListenPacket(network, address)
	}
	return new(ListenConfig).ListenPacket(context.Background(), network, address)
}

// ListenTCP is Listen for an address; nil is any address and a free port.
func ListenTCP(network string, laddr *TCPAddr) (*TCPListener, error) {
	return names.ListenTCP(network, laddr)
}

// ListenUDP is ListenPacket for an address; nil is any address and a free port.
func ListenUDP(network string, laddr *UDPAddr) (*UDPConn, error) {
	return names.ListenUDP(network, laddr)
}

// ListenUnix is Listen for the name of a Unix socket.
func ListenUnix(network string, laddr *UnixAddr) (*UnixListener, error) {
	return names.ListenUnix(network, laddr)
}

// ListenUnixgram is ListenPacket for the name of a Unix socket.
func ListenUnixgram(network string, laddr *UnixAddr) (*UnixConn, error) {
	return names.ListenUnixgram(network, laddr)
}
