package fd

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Connect connects a socket that may be in use, or sets the peer of a datagram
// socket. The write deadline ends it. Parks.
func (f *FD) Connect(to unix.Sockaddr) error {
	if !f.mu.Lock(Write) {
		return net.ErrClosed
	}
	defer f.Unlock(Write)
	if v := f.check(Write); v != processor.Try {
		return verdictError(v)
	}
	if to == nil {
		return os.NewSyscallError("connect", unix.EFAULT)
	}
	if errno := f.keepNonblocking(); errno != 0 {
		return os.NewSyscallError("connect", errno)
	}
	switch err := sysx.StartConnect(f.fd, to); err {
	case unix.EINPROGRESS, unix.EALREADY, unix.EINTR:
		var peer sysx.RawAddr
		return f.AwaitConnected(&peer)
	default:
		return os.NewSyscallError("connect", err)
	}
}

// AwaitConnected waits until a connect under way succeeds or fails, and fills
// in the peer. Precondition: the caller has the write lock, or the socket is
// not shared yet.
func (f *FD) AwaitConnected(peer *sysx.RawAddr) error {
	for {
		if err := waitError(f.pd.Wait(f.fd, Write, coroutine.ReasonConnect, 0)); err != nil {
			return err
		}
		f.pd.Clear(Write)
		errno, err := unix.GetsockoptInt(f.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			return os.NewSyscallError("getsockopt", err)
		}
		switch errno := unix.Errno(errno); errno {
		case unix.EISCONN:
			peer.RemoteAddr(f.fd)
			return nil
		case unix.EINPROGRESS, unix.EALREADY, unix.EINTR:
		case 0:
			// No error and no peer: the wake was early.
			if peer.RemoteAddr(f.fd) == 0 {
				return nil
			}
		default:
			return os.NewSyscallError("connect", errno)
		}
	}
}
