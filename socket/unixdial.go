package socket

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// socktype is the kernel's type of a network's sockets.
func (n network) socktype() int {
	switch {
	case n == unixpacket:
		return unix.SOCK_SEQPACKET
	case n == unixgram || n.isUDP():
		return unix.SOCK_DGRAM
	}
	return unix.SOCK_STREAM
}

// netDialUnix is net.DialUnix: see Dialer.DialUnix.
func netDialUnix(network string, laddr, raddr *net.UnixAddr) (*UnixConn, error) {
	n, err := parseNetwork(network)
	if err == nil && !n.isUnix() {
		err = net.UnknownNetworkError(network)
	}
	var c *UnixConn
	if err == nil {
		c, err = dialUnix(n, laddr, raddr, nil)
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Source: unixAddr(laddr),
			Addr: unixAddr(raddr), Err: err}
	}
	return c, nil
}

// dialUnix makes a socket and connects it. control, if it is not nil, is called
// with the fd before it is bound.
func dialUnix(n network, laddr, raddr *net.UnixAddr, control func(fd int) error) (*UnixConn,
	error) {
	if laddr != nil && laddr.Name == "" {
		laddr = nil
	}
	if raddr != nil && raddr.Name == "" {
		raddr = nil
	}
	if raddr == nil && (n != unixgram || laddr == nil) {
		return nil, errMissingAddress
	}
	fd, err := sysx.NewSocket(unix.AF_UNIX, n.socktype(), 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	made := false
	defer func() {
		if !made { // also when control unwinds
			sysx.CloseFD(fd)
		}
	}()
	if control != nil {
		err = control(fd)
	}
	if err == nil && laddr != nil {
		err = nameCall("bind", sysx.BindUnix, fd, laddr.Name)
	}
	if err == nil && raddr != nil {
		err = nameCall("connect", sysx.ConnectUnix, fd, raddr.Name)
	}
	if err != nil {
		return nil, err
	}
	made = true
	peer := peerName(fd, n)
	if peer == nil {
		peer = raddr
	}
	c := newUnixConn(fd, n, localName(fd, n), peer)
	c.connected = raddr != nil
	return c, nil
}

// nameCall is bind or connect. A name that cannot be one is net's error:
// EINVAL, and of no system call when it is bind's.
func nameCall(call string, do func(fd int, to *sysx.UnixName) (errno unix.Errno), fd int,
	name string) error {
	var to sysx.UnixName
	errno := to.Set(name)
	if errno == 0 {
		errno = do(fd, &to)
	}
	if errno != 0 {
		return os.NewSyscallError(call, errno)
	}
	return nil
}

// localName is the name that a socket is bound to; nil if the kernel has
// none.
func localName(fd int, n network) *net.UnixAddr {
	var a sysx.UnixName
	if a.LocalName(fd) != 0 {
		return nil
	}
	return &net.UnixAddr{Name: a.Name(), Net: n.String()}
}

// peerName is the name of a socket's peer; nil if there is none.
func peerName(fd int, n network) *net.UnixAddr {
	var a sysx.UnixName
	if a.PeerName(fd) != 0 {
		return nil
	}
	return &net.UnixAddr{Name: a.Name(), Net: n.String()}
}
