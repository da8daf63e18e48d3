package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// netFileConn returns a connection of a duplicate of f's fd: a *TCPConn,
// *UDPConn or *UnixConn. Both are to be closed, each by its owner. The socket
// is non-blocking from then on, for f too. Errors are net's: ENOTSOCK for what
// is no socket, EPROTONOSUPPORT for one of a family or type that is not here,
// for which there is AdoptSocket.
func netFileConn(f *os.File) (net.Conn, error) {
	a, err := adoptFile(f)
	if err != nil {
		return nil, fileError(f, err)
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
	a, err := adoptFile(f)
	if err != nil {
		return nil, fileError(f, err)
	}
	if a.network.isUDP() {
		sysx.CloseStream(a.fd)
		return nil, fileError(f, syscall.EINVAL)
	}
	return a.listener(), nil
}

// netFilePacketConn returns a packet connection of a duplicate of f's fd: a
// *UDPConn or *UnixConn. The rest is as for netFileConn.
func netFilePacketConn(f *os.File) (net.PacketConn, error) {
	a, err := adoptFile(f)
	if err != nil {
		return nil, fileError(f, err)
	}
	if a.network.isTCP() {
		sysx.CloseStream(a.fd)
		return nil, fileError(f, syscall.EINVAL)
	}
	return a.packetConn(), nil
}

// fileAddr is the address in errors about a file.
type fileAddr string

func (fileAddr) Network() string  { return "file+net" }
func (a fileAddr) String() string { return string(a) }

func fileError(f *os.File, err error) error {
	return &net.OpError{Op: "file", Net: "file+net", Addr: fileAddr(f.Name()), Err: err}
}

// adoptFile duplicates f's fd.
func adoptFile(f *os.File) (adopted, error) {
	raw, err := f.SyscallConn() // f.Fd might make it blocking
	if err != nil {
		return adopted{}, err
	}
	fd := -1
	err = raw.Control(func(theirs uintptr) {
		fd, err = unix.FcntlInt(theirs, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil {
		return adopted{}, os.NewSyscallError("fcntl", unix.EBADF) // it is closed
	}
	if fd < 0 {
		return adopted{}, os.NewSyscallError("fcntl", err)
	}
	a, err := adopt(fd)
	if err != nil {
		sysx.CloseStream(fd)
	}
	return a, err
}
