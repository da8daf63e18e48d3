package socket

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Socket is a socket of any family and type that the kernel has, also those
// that package net does not know: netlink, vsock, packet, raw IP and so on. Its
// methods are the system calls of the same name. A call that would block parks
// the coroutine, and blocks an ordinary goroutine. Calls may be concurrent;
// reads are serialised among themselves, as are writes.
//
// Errors are *net.OpError with network "socket" and without addresses: a system
// call's, net.ErrClosed, os.ErrDeadlineExceeded or netco.ErrShutdown. All the
// kernel's errors are returned, except EINTR, and EAGAIN if the call waits.
type Socket struct {
	s fd.FD
}

// NewSocket makes a socket as socket(2) does, non-blocking and closed on exec.
// It does not park.
func NewSocket(domain, typ, proto int) (*Socket, error) {
	fd, err := sysx.NewSocket(domain, typ, proto)
	if err != nil {
		return nil, rawError("socket", os.NewSyscallError("socket", err))
	}
	typ &^= unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	return newSocket(fd, kindOf(typ)), nil
}

// AdoptSocket makes a Socket of an fd, which it owns from then on, unless it
// returns an error. It makes it non-blocking and closed on exec.
func AdoptSocket(fd int) (*Socket, error) {
	typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return nil, rawError("file", os.NewSyscallError("getsockopt", err))
	}
	if err := makeNonblocking(fd); err != nil {
		return nil, rawError("file", err)
	}
	unix.CloseOnExec(fd)
	x := newSocket(fd, kindOf(typ))
	x.s.Share()
	if listens(fd) {
		x.s.SetListener()
	}
	return x, nil
}

func newSocket(sysfd int, k fd.Kind) *Socket {
	x := new(Socket)
	x.s.Init(newDescriptor(noNetwork, roleSocket), sysfd, k)
	x.s.CloseWhenLost()
	return x
}

// kindOf returns the meaning of a read's result on sockets of a type. It
// assumes of a stream only that it has an end.
func kindOf(typ int) fd.Kind {
	switch typ {
	case unix.SOCK_STREAM:
		return fd.UnixStream
	case unix.SOCK_SEQPACKET:
		return fd.SeqPackets
	}
	return fd.Packets
}

func rawError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "socket", Err: err}
}

// call makes a system call that does not wait.
func (s *Socket) call(op, name string, do func(fd int) error) error {
	return rawError(op, s.s.Control(func(fd int) error { return os.NewSyscallError(name, do(fd)) }))
}

// Bind gives the socket its address.
func (s *Socket) Bind(to unix.Sockaddr) error {
	return s.call("bind", "bind", func(fd int) error {
		if to == nil {
			// What the kernel says to a nil pointer; package unix would follow
			// it.
			return unix.EFAULT
		}
		return unix.Bind(fd, to)
	})
}

// Listen makes the socket accept connections, with a queue of the given length.
// Call it before the first Accept. Once the scheduler is draining, Accept
// returns netco.ErrShutdown.
func (s *Socket) Listen(backlog int) error {
	return s.call("listen", "listen", func(fd int) error {
		s.s.SetListener()
		return unix.Listen(fd, backlog)
	})
}

// Accept waits for the next connection and returns it and its peer's address,
// which is nil if package unix does not know the family. A connection that
// ended while it waited is skipped. Unlike the listeners' Accept, it fails when
// there is no fd or memory left. Parks.
func (s *Socket) Accept() (*Socket, unix.Sockaddr, error) {
	var from sysx.RawAddr
	got := -1
	err := s.s.ReadWith("accept4", func(int) (int, bool, syscall.Errno) {
		for {
			var errno syscall.Errno
			if got, errno = s.s.TryAccept(&from); errno != unix.ECONNABORTED {
				return 0, false, errno
			}
		}
	})
	if err != nil {
		return nil, nil, rawError("accept", err)
	}
	peer, _ := unix.Getpeername(got)
	return newSocket(got, s.s.Kind()), peer, nil
}

// Connect connects the socket to addr, or sets the peer of a datagram socket. A
// write deadline ends it. Parks.
func (s *Socket) Connect(to unix.Sockaddr) error { return rawError("connect", s.s.Connect(to)) }

// Read takes available bytes, or one packet, and returns io.EOF at the end of a
// socket that has an end. Parks. It does not allocate.
func (s *Socket) Read(p []byte) (int, error) {
	n, err := s.s.Read(p)
	return n, rawError("read", err)
}

// Write sends all of p to the peer, as one packet if the type has packets.
// Parks. It does not allocate.
func (s *Socket) Write(p []byte) (int, error) {
	n, err := s.s.Write(p)
	return n, rawError("write", err)
}

// Recvmsg is recvmsg(2): n bytes go into p, oobn bytes of control messages into
// oob; got are the received flags; from is the sender: nil if the socket has a
// peer or package unix does not know the family. With MSG_DONTWAIT among flags
// it does not wait, and the error is EAGAIN. 0 bytes are no error, also at the
// end. Received fds are closed on exec. Parks.
func (s *Socket) Recvmsg(p, oob []byte, flags int) (n, oobn, got int, from unix.Sockaddr,
	err error) {
	var failed syscall.Errno
	const special = unix.MSG_DONTWAIT | unix.MSG_ERRQUEUE | unix.MSG_OOB | unix.MSG_PEEK
	if flags&special == 0 {
		err = s.s.ReadWith("recvmsg", func(fd int) (int, bool, syscall.Errno) {
			n, oobn, got, from, failed = sysx.Recvmsg(fd, p, oob, flags)
			processor.CountRead(n, failed)
			return n, false, failed
		})
	} else {
		// With these flags, EAGAIN does not mean that there is nothing to read.
		err = s.s.RawRead(func(fd uintptr) bool {
			n, oobn, got, from, failed = sysx.Recvmsg(int(fd), p, oob, flags)
			if flags&(unix.MSG_PEEK|unix.MSG_ERRQUEUE) != 0 {
				processor.CountRead(0, failed) // no incoming data was taken
			} else {
				processor.CountRead(n, failed)
			}
			return failed != unix.EAGAIN || flags&unix.MSG_DONTWAIT != 0
		})
		if err == nil && failed != 0 {
			err = os.NewSyscallError("recvmsg", failed)
		}
	}
	if err != nil {
		return 0, 0, 0, nil, rawError("read", err)
	}
	return n, oobn, got, from, nil
}

// Sendmsg is sendmsg(2): it sends p and control messages oob to an address, or
// to the peer if the address is nil. It returns how many bytes of p were sent,
// on a stream perhaps not all. With MSG_DONTWAIT among flags it does not wait,
// and the error is EAGAIN. It never raises SIGPIPE. Parks.
func (s *Socket) Sendmsg(p, oob []byte, to unix.Sockaddr, flags int) (n int, err error) {
	var failed syscall.Errno
	err = s.s.RawWrite(func(fd uintptr) bool {
		n, failed = sysx.Sendmsg(int(fd), p, oob, to, flags)
		processor.CountWrite(n, failed)
		return failed != unix.EAGAIN || flags&unix.MSG_DONTWAIT != 0
	})
	if err == nil && failed != 0 {
		err = os.NewSyscallError("sendmsg", failed)
	}
	if err != nil {
		return 0, rawError("write", err)
	}
	return n, nil
}

// WaitReadable waits until a Read or Accept will probably return without a
// wait. Parks. It does not allocate.
func (s *Socket) WaitReadable() error { return rawError("read", s.s.WaitReadable()) }

// SetsockoptInt sets an option.
func (s *Socket) SetsockoptInt(level, name, value int) error {
	return s.call("set", "setsockopt", func(fd int) error {
		return unix.SetsockoptInt(fd, level, name, value)
	})
}

// GetsockoptInt returns an option.
func (s *Socket) GetsockoptInt(level, name int) (value int, err error) {
	err = s.call("get", "getsockopt", func(fd int) (err error) {
		value, err = unix.GetsockoptInt(fd, level, name)
		return err
	})
	return value, err
}

// Getsockname returns the socket's own address.
func (s *Socket) Getsockname() (at unix.Sockaddr, err error) {
	err = s.call("get", "getsockname", func(fd int) (err error) {
		at, err = unix.Getsockname(fd)
		return err
	})
	return at, err
}

// Getpeername returns the peer's address.
func (s *Socket) Getpeername() (at unix.Sockaddr, err error) {
	err = s.call("get", "getpeername", func(fd int) (err error) {
		at, err = unix.Getpeername(fd)
		return err
	})
	return at, err
}

// Shutdown ends one direction or both: unix.SHUT_RD, SHUT_WR or SHUT_RDWR.
func (s *Socket) Shutdown(how int) error {
	return s.call("close", "shutdown", func(fd int) error { return unix.Shutdown(fd, how) })
}

// Close closes the socket. Operations under way end with net.ErrClosed. A
// second Close returns net.ErrClosed.
func (s *Socket) Close() error { return rawError("close", s.s.Close()) }

// SetDeadline sets when operations, present and future, end with
// os.ErrDeadlineExceeded. The zero time is never.
func (s *Socket) SetDeadline(t time.Time) error {
	return rawError("set", s.s.SetDeadline(t, fd.Read, fd.Write))
}

// SetReadDeadline is SetDeadline for Read, Recvmsg, Accept and WaitReadable.
func (s *Socket) SetReadDeadline(t time.Time) error {
	return rawError("set", s.s.SetDeadline(t, fd.Read))
}

// SetWriteDeadline is SetDeadline for Write, Sendmsg and Connect.
func (s *Socket) SetWriteDeadline(t time.Time) error {
	return rawError("set", s.s.SetDeadline(t, fd.Write))
}

// SyscallConn gives access to the fd while it is sure to be open, for calls
// that Socket lacks. See UnixConn.SyscallConn.
func (s *Socket) SyscallConn() (syscall.RawConn, error) {
	return rawConn{&s.s, rawError, rawError}, nil
}
