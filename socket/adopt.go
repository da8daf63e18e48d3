package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
)

// adopted is an fd that came from elsewhere, and its network.
type adopted struct {
	fd      int
	network network
}

// adopt finds out fd's network and makes it non-blocking. It does not close it.
// Errors are net's.
func adopt(fd int) (adopted, error) {
	n, err := kernelNetwork(fd)
	switch {
	case err != nil:
		return adopted{}, os.NewSyscallError("getsockopt", err)
	case n == noNetwork:
		return adopted{}, syscall.EPROTONOSUPPORT
	}
	return adopted{fd, n}, makeNonblocking(fd)
}

// makeNonblocking sets O_NONBLOCK if it is not set.
var makeNonblocking = fd.MakeNonblocking

// kernelNetwork asks the kernel for the network of a socket; noNetwork if it is
// none of net's.
func kernelNetwork(fd int) (network, error) {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return noNetwork, err
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return noNetwork, err
	}
	return networkOf(domain, kind), nil
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
		c := newKeptTCPConn(a.fd, a.network)
		c.s.CloseWhenLost()
		c.s.Share()
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
	c.s.Share()
	c.remote.RemoteAddr(a.fd)
	return c
}

func (a adopted) unixConn() *UnixConn {
	c := newUnixConn(a.fd, a.network, localName(a.fd, a.network), peerName(a.fd, a.network))
	c.s.Share()
	return c
}

// listener makes a listener of it. It is not UDP.
func (a adopted) listener() net.Listener {
	if a.network.isUnix() {
		l := newUnixListener(a.fd, a.network)
		l.s.Share()
		return l
	}
	l := &TCPListener{adopted: true}
	l.init(a.fd, a.network)
	l.at.local.LocalAddr(a.fd)
	l.s.Share()
	return l
}

// listens reports whether a socket is one that listens.
func listens(fd int) bool {
	yes, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && yes != 0
}

// netFileConn returns a connection of a duplicate of f's fd: a *TCPConn,
// *UDPConn or *UnixConn. Both are to be closed, each by its owner. The socket
// is non-blocking from then on, for f too. Errors are net's: ENOTSOCK for any
// other file, EPROTONOSUPPORT for a socket of any other family or type, for
// which there is AdoptSocket.
func netFileConn(f *os.File) (net.Conn, error) {
	a, err := adoptFile(f, func(network) bool { return false })
	if err != nil {
		return nil, err
	}
	return a.conn(), nil
}

// netFileListener returns a listener of a duplicate of f's fd: a *TCPListener
// or *UnixListener. As with net, whether the socket listens is for Accept to
// find out, TCP connections get net's options (TCP_NODELAY, keep-alive every 15
// s) whatever the socket's own are, and closing a UnixListener does not remove
// its file. The rest is as for netFileConn. Errors are *net.OpError with net's
// contents.
func netFileListener(f *os.File) (net.Listener, error) {
	a, err := adoptFile(f, network.isUDP)
	if err != nil {
		return nil, err
	}
	return a.listener(), nil
}

// netFilePacketConn returns a packet connection of a duplicate of f's fd: a
// *UDPConn or *UnixConn. The rest is as for netFileConn.
func netFilePacketConn(f *os.File) (net.PacketConn, error) {
	a, err := adoptFile(f, network.isTCP)
	if err != nil {
		return nil, err
	}
	return a.packetConn(), nil
}

// fileAddr is the address in errors about a file.
type fileAddr string

func (fileAddr) Network() string  { return "file+net" }
func (a fileAddr) String() string { return string(a) }

// adoptFile duplicates f's fd, of a network that is not refused.
func adoptFile(f *os.File, refused func(network) bool) (a adopted, err error) {
	fd, err := duplicate(f) // f.Fd might make it blocking
	if err == nil {
		if a, err = adopt(fd); err == nil && refused(a.network) {
			err = syscall.EINVAL
		}
		if err == nil {
			return a, nil
		}
		sysx.CloseStream(fd)
	} else if _, open := err.(*os.SyscallError); !open {
		err = os.NewSyscallError("fcntl", unix.EBADF)
	}
	return a, &net.OpError{Op: "file", Net: "file+net", Addr: fileAddr(f.Name()), Err: err}
}
