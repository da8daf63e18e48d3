package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopted is an fd that came from elsewhere, and what it has been found to be.
type adopted struct {
	fd      int
	network network
}

// adopt finds out what fd is and makes it non-blocking. It does not close it.
// Errors are net's.
func adopt(fd int) (adopted, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return adopted{}, os.NewSyscallError("getsockopt", err)
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return adopted{}, os.NewSyscallError("getsockopt", err)
	}
	n := networkOf(domain, kind)
	if n == noNetwork {
		return adopted{}, syscall.EPROTONOSUPPORT
	}
	return adopted{fd, n}, makeNonblocking(fd)
}

// networkOf is the network of a kind of socket, if there is one.
func networkOf(domain, kind int) network {
	inet := domain == unix.AF_INET || domain == unix.AF_INET6
	switch {
	case inet && kind == unix.SOCK_STREAM:
		return tcp
	case inet && kind == unix.SOCK_DGRAM:
		return udp
	case domain != unix.AF_UNIX:
		return noNetwork
	}
	for _, n := range []network{unixNet, unixgram, unixpacket} {
		if n.socktype() == kind {
			return n
		}
	}
	return noNetwork
}

// conn makes a connection of it.
func (a adopted) conn() net.Conn {
	switch {
	case a.network.isTCP():
		setDefaults(a.fd)
		c := newTCPConn(a.fd, a.network)
		c.s.shared.Store(true)
		c.remote.RemoteAddr(a.fd)
		return c
	case a.network.isUDP():
		return a.udpConn()
	}
	return a.unixConn()
}

// packetConn makes a packet connection of it. It is not TCP.
func (a adopted) packetConn() net.PacketConn {
	if a.network.isUDP() {
		return a.udpConn()
	}
	return a.unixConn()
}

func (a adopted) udpConn() *UDPConn {
	c := newUDPConn(a.fd, a.network, false) // as with net WriteTo is allowed, peer or not
	c.s.shared.Store(true)
	c.remote.RemoteAddr(a.fd)
	return c
}

func (a adopted) unixConn() *UnixConn {
	c := newUnixConn(a.fd, a.network, localName(a.fd, a.network), peerName(a.fd, a.network))
	c.s.shared.Store(true)
	return c
}

// listener makes a listener of it. It is not UDP.
func (a adopted) listener() net.Listener {
	if a.network.isUnix() {
		l := newUnixListener(a.fd, a.network)
		l.s.shared.Store(true)
		return l
	}
	l := &TCPListener{adopted: true}
	l.init(a.fd, a.network)
	l.at.local.LocalAddr(a.fd)
	l.s.shared.Store(true)
	return l
}

// listens reports whether a socket is one that listens.
func listens(fd int) bool {
	yes, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && yes != 0
}

// connected reports whether a socket has a peer.
func connected(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err == nil || err == unix.EAFNOSUPPORT // of a family that package unix does not know
}
