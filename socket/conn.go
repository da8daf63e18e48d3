package socket

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
)

// conn is what the connections of all networks have in common. Errors are
// *net.OpError with net's contents, except io.EOF.
type conn struct {
	s fd.FD
	endpoints
}

// role says which type a descriptor is part of.
type role uint8

const (
	roleConn role = iota
	roleListener
	roleSocket // of a Socket
	roleFile   // of a File, in a fileDescriptor
)

// newDescriptor returns the descriptor of a new fd. The network is noNetwork
// for a Socket and a File.
func newDescriptor(n network, r role) *fd.Descriptor {
	return &fd.Descriptor{
		Label: fd.Label{Network: uint8(n), Role: uint8(r)}, Linger: r == roleSocket || n.isTCP(),
	}
}

// init makes a conn of an fd, which it owns from then on.
func (c *conn) init(fd int, n network) {
	c.initKept(fd, n)
	c.s.CloseWhenLost()
}

// initKept is init for a connection that its owner always closes, as a Server
// does: that saves the memory of a cleanup.
func (c *conn) initKept(fd int, n network) {
	c.network = n
	c.s.Init(newDescriptor(n, roleConn), fd, n.kind())
}

// Read reads into p, waiting if need be: at least one byte of a stream, or
// io.EOF at its end; or one packet, dropping bytes that do not fit. Parks. It
// does not allocate.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.s.Read(p)
	if err == io.EOF {
		return n, err
	}
	return n, c.opError("read", err)
}

// WaitReadable waits until a Read will probably return without a wait: with
// data, at the end of the stream, or with an error. It holds no buffer
// meanwhile. It returns the error of a deadline or Close as Read does. Parks.
// It does not allocate.
func (c *conn) WaitReadable() error { return c.opError("read", c.s.WaitReadable()) }

// Readable reports whether a Read would return at once, with bytes, the end of
// the stream or an error; false if a Read is under way. It is for connections
// that should be silent, such as idle ones in a pool: it asks the kernel only
// if there may be data. It does not park.
func (c *conn) Readable() bool { return c.s.Readable() }

// Write writes all of p, waiting for room if need be. With an error, n is how
// many bytes were written. Parks. It does not allocate.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.s.Write(p)
	return n, c.opError("write", err)
}

// Close closes the connection. Operations under way end with net.ErrClosed. A
// second Close returns net.ErrClosed. It does not park; a goroutine may wait
// for up to 0.1 s for operations in the middle of a system call.
func (c *conn) Close() error { return c.opError("close", c.s.Close()) }

func (c *conn) shutdown(how int) error {
	return c.opError("close", c.s.Control(func(fd int) error {
		return sysError("shutdown", unix.Shutdown(fd, how))
	}))
}

// SetDeadline sets when reads and writes, present and future, end with
// os.ErrDeadlineExceeded. The zero time is never. Setting a deadline takes no
// timer and no system call; waiting under one takes a timer.
func (c *conn) SetDeadline(t time.Time) error {
	return c.setError("set", c.s.SetDeadline(t, fd.Read, fd.Write))
}

// SetReadDeadline is SetDeadline for reads only.
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.setError("set", c.s.SetDeadline(t, fd.Read))
}

// SetWriteDeadline is SetDeadline for writes only.
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.setError("set", c.s.SetDeadline(t, fd.Write))
}

// SetReadBuffer sets the size of the kernel's receive buffer in bytes.
func (c *conn) SetReadBuffer(bytes int) error {
	return c.setError("set", c.s.SetInt(unix.SOL_SOCKET, unix.SO_RCVBUF, bytes))
}

// SetWriteBuffer sets the size of the kernel's send buffer in bytes.
func (c *conn) SetWriteBuffer(bytes int) error {
	return c.setError("set", c.s.SetInt(unix.SOL_SOCKET, unix.SO_SNDBUF, bytes))
}

// SyscallConn gives access to the fd while it is sure to be open. Read and
// Write call their function again after each event for as long as it returns
// false, and park in between; the function should return false only if the fd
// has returned EAGAIN. Deadlines and Close end them as they end reads and
// writes.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	return rawConn{&c.s, c.setError, c.opError}, nil
}

// File returns an os.File of a duplicate of the fd. Closing one does not close
// the other, but they are one socket: options and mode are shared. It stays
// non-blocking even if the file's Fd method is called, unlike net's.
func (c *conn) File() (*os.File, error) {
	f, err := c.file(&c.s)
	return f, c.opError("file", err)
}

// SyscallConn gives access to the fd while it is sure to be open, by Control.
// Read and Write return EINVAL, as net's do.
func (l *listener) SyscallConn() (syscall.RawConn, error) {
	return rawListener{rawConn{&l.s.FD, l.at.setError, nil}}, nil
}

// File returns an os.File of a duplicate of the fd, to be handed to another
// process. Closing one does not close the other: both accept from one queue of
// connections. It stays non-blocking even if the file's Fd method is called,
// unlike net's.
func (l *listener) File() (*os.File, error) {
	f, err := l.at.file(&l.s.FD)
	return f, l.at.setError("file", err)
}

// file makes an os.File with the name that net gives it.
func (e *endpoints) file(s *fd.FD) (*os.File, error) {
	var dup int
	err := s.Control(func(fd int) (err error) {
		s.Share()
		dup, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return os.NewSyscallError("fcntl", err)
	})
	if err != nil {
		return nil, err
	}
	text := func(a net.Addr) string {
		if a == nil {
			return ""
		}
		return a.String()
	}
	return os.NewFile(uintptr(dup), e.network.String()+":"+text(e.LocalAddr())+"->"+
		text(e.RemoteAddr())), nil
}

// rawConn is a syscall.RawConn, with functions that wrap the errors of Control
// and of Read and Write.
type rawConn struct {
	s                 *fd.FD
	setError, opError func(op string, err error) error
}

func (r rawConn) Control(f func(fd uintptr)) error {
	return r.setError("raw-control", r.s.Expose(f))
}

func (r rawConn) Read(f func(fd uintptr) bool) error {
	r.s.Share()
	return r.opError("raw-read", r.s.RawRead(f))
}

func (r rawConn) Write(f func(fd uintptr) bool) error {
	r.s.Share()
	return r.opError("raw-write", r.s.RawWrite(f))
}

type rawListener struct{ rawConn }

func (rawListener) Read(func(fd uintptr) bool) error  { return syscall.EINVAL }
func (rawListener) Write(func(fd uintptr) bool) error { return syscall.EINVAL }

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
