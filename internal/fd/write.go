package fd

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Write sends all of p, waiting for room if need be. The error is bare.
func (f *FD) Write(p []byte) (int, error) {
	if !f.mu.Lock(Write) {
		return 0, net.ErrClosed
	}
	n, err := f.WriteLocked(p)
	f.Unlock(Write)
	return n, err
}

// WriteLocked is Write for a caller that has the write lock.
func (f *FD) WriteLocked(p []byte) (int, error) {
	if v := f.check(Write); v != processor.Try {
		return 0, verdictError(v)
	}
	done := 0
	for {
		n, errno := f.TrySend(p[done:])
		done += n
		switch {
		case errno == 0:
			f.spendWrite(n)
			if done == len(p) {
				return done, nil
			}
		case errno != unix.EAGAIN:
			return done, os.NewSyscallError("write", errno)
		default:
			if err := f.awaitWritableLocked(); err != nil {
				return done, err
			}
		}
	}
}

// TrySend makes one attempt to send. Under the write lock.
func (f *FD) TrySend(p []byte) (n int, errno syscall.Errno) {
	if f.HasPackets() {
		n, errno = sysx.TrySendPacket(f.fd, p, nil)
	} else {
		n, errno = sysx.TrySend(f.fd, p)
	}
	processor.CurrentIO().CountWrite(n, errno)
	return n, errno
}

// WriteWith runs try as Write runs its own attempts. try makes one attempt to
// write without blocking: its n is the number of bytes moved, for the budget,
// and more means that it has to be called again for the rest. After EAGAIN it
// is called again when there may be room. The error is that of call, or of the
// wait. Parks. It does not allocate unless try does.
func (f *FD) WriteWith(call string,
	try func(fd int) (n int, more bool, errno syscall.Errno)) error {
	if !f.mu.Lock(Write) {
		return net.ErrClosed
	}
	err := f.writeWithLocked(call, try)
	f.Unlock(Write)
	return err
}

func (f *FD) writeWithLocked(call string,
	try func(fd int) (n int, more bool, errno syscall.Errno)) error {
	if v := f.check(Write); v != processor.Try {
		return verdictError(v)
	}
	for {
		n, more, errno := try(f.fd)
		switch {
		case errno == 0:
			f.spendWrite(n)
			if !more {
				return nil
			}
		case errno != unix.EAGAIN:
			return os.NewSyscallError(call, errno)
		default:
			if err := f.awaitWritableLocked(); err != nil {
				return err
			}
		}
	}
}

// awaitWritableLocked waits for space in the send buffer after an attempt that
// found none. It returns at once after an edge that may be newer than the
// attempt.
func (f *FD) awaitWritableLocked() error {
	if f.pd.Clear(Write) {
		return nil
	}
	f.writeBudget = 0
	return waitError(f.pd.Wait(f.fd, Write, coroutine.ReasonWrite, 0))
}
