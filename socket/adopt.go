package socket

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
)

// take makes a socket of this package from a socket of package net at an
// address, and always closes net's. op is for the error.
func take[T any](op string, n network, theirs interface {
	syscall.Conn
	io.Closer
}, at net.Addr, ours func(fd int) T) (made T, err error) {
	defer theirs.Close()
	fd, err := duplicate(theirs)
	if err != nil {
		return made, &net.OpError{Op: op, Net: n.String(), Addr: at, Err: err}
	}
	return ours(fd), nil
}

// takeConn is take for a connection or packet connection. dialled says that a
// UDPConn or UnixConn with a peer sends only to that peer. There is no type for
// raw IP here: an IPConn is returned as it is.
func takeConn(op string, n network, dialled bool, theirs net.Conn) (net.Conn, error) {
	at := theirs.LocalAddr()
	switch c := theirs.(type) {
	case *net.TCPConn:
		return as[net.Conn](take(op, n, c, at, func(fd int) *TCPConn {
			c := newKeptTCPConn(fd, n)
			c.s.CloseWhenLost()
			c.remote.RemoteAddr(fd)
			return c
		}))
	case *net.UDPConn:
		return as[net.Conn](take(op, n, c, at, func(fd int) *UDPConn {
			u := newUDPConn(fd, n, dialled)
			if to, _ := theirs.RemoteAddr().(*net.UDPAddr); dialled && to != nil {
				u.rawFromUDP(&u.remote, to) // the kernel reports no peer with port 0
			}
			return u
		}))
	case *net.UnixConn:
		return as[net.Conn](take(op, n, c, at, func(fd int) *UnixConn {
			u := newKeptUnixConn(fd, n, localName(fd, n), peerName(fd, n))
			u.s.CloseWhenLost()
			u.connected = dialled && u.RemoteAddr() != nil
			return u
		}))
	}
	return theirs, nil
}

// taken is takeConn for the results of a function of package net, whose
// networks are all known here.
func taken[C any, T net.Conn](op, network string, dialled bool, theirs T,
	err error) (none C, _ error) {
	if err != nil {
		return none, err
	}
	n, _ := parseNetwork(network)
	return as[C](takeConn(op, n, dialled, theirs))
}

// duplicate duplicates the fd of a socket or file of package net or os; -1 with
// an error. An error other than fcntl's means that the socket or file is
// closed.
func duplicate(c syscall.Conn) (fd int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	if cerr := raw.Control(func(theirs uintptr) {
		fd, err = unix.FcntlInt(theirs, unix.F_DUPFD_CLOEXEC, 0)
	}); cerr != nil {
		return -1, cerr
	}
	return fd, os.NewSyscallError("fcntl", err)
}

// netFileConn is net.FileConn: a *TCPConn, *UDPConn, *UnixConn or *net.IPConn
// of a duplicate of f's fd. The socket is non-blocking from then on, for f too.
// AdoptSocket takes a socket of any other family or type.
func netFileConn(f *os.File) (net.Conn, error) { return takeFile(f, net.FileConn) }

// netFilePacketConn is net.FilePacketConn. Otherwise it is like netFileConn.
func netFilePacketConn(f *os.File) (net.PacketConn, error) {
	return as[net.PacketConn](takeFile(f, net.FilePacketConn))
}

func takeFile[C any](f *os.File, nets func(f *os.File) (C, error)) (net.Conn, error) {
	theirs, err := as[net.Conn](ofDuplicate(f, nets))
	if err != nil {
		return nil, err
	}
	n, _ := parseNetwork(theirs.LocalAddr().Network())
	c, err := takeConn("file", n, false, theirs) // as with net, WriteTo is allowed even with a peer
	if own, ok := c.(interface{ base() *conn }); ok {
		own.base().s.Share()
	}
	return c, err
}

// netFileListener is net.FileListener: a *TCPListener or *UnixListener, whose
// file stays when it is closed. As with net, Accept finds out whether the
// socket listens, and TCP connections get net's options (TCP_NODELAY,
// keep-alive every 15 s) whatever the socket's own are. Otherwise it is like
// netFileConn.
func netFileListener(f *os.File) (net.Listener, error) {
	theirs, err := ofDuplicate(f, net.FileListener)
	if err != nil {
		return nil, err
	}
	n, _ := parseNetwork(theirs.Addr().Network())
	if u, ok := theirs.(*net.UnixListener); ok {
		return as[net.Listener](take("file", n, u, u.Addr(), func(fd int) *UnixListener {
			l := newUnixListener(fd, n)
			l.s.Share()
			return l
		}))
	}
	return as[net.Listener](take("file", n, theirs.(*net.TCPListener), theirs.Addr(),
		func(fd int) *TCPListener {
			l := newTCPListener(fd, n)
			l.adopted = true
			l.s.Share()
			return l
		}))
}

// ofDuplicate calls a function of package net with a file of a duplicate of f's
// fd: the function calls Fd, which might make f's own fd blocking.
func ofDuplicate[T any](f *os.File, nets func(f *os.File) (T, error)) (T, error) {
	if fd, err := duplicate(f); err == nil { // else net returns the error
		f = os.NewFile(uintptr(fd), f.Name())
		defer f.Close()
	}
	return nets(f)
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
	return kernelNetworks[[2]int{domain, kind}], nil
}

var kernelNetworks = map[[2]int]network{
	{unix.AF_INET, unix.SOCK_STREAM}:    tcp,
	{unix.AF_INET6, unix.SOCK_STREAM}:   tcp,
	{unix.AF_INET, unix.SOCK_DGRAM}:     udp,
	{unix.AF_INET6, unix.SOCK_DGRAM}:    udp,
	{unix.AF_UNIX, unix.SOCK_STREAM}:    unixNet,
	{unix.AF_UNIX, unix.SOCK_DGRAM}:     unixgram,
	{unix.AF_UNIX, unix.SOCK_SEQPACKET}: unixpacket,
}

// listens reports whether a socket listens.
func listens(fd int) bool {
	yes, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	return err == nil && yes != 0
}
