package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

func (s *socket) write(p []byte) (int, error) {
	if !s.mu.lock(writing) {
		return 0, net.ErrClosed
	}
	n, err := s.writeLocked(p)
	if s.mu.unlock(writing) {
		s.destroy()
	}
	return n, err
}

func (s *socket) writeLocked(p []byte) (int, error) {
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, verdictError(v)
	}
	done := 0
	for {
		n, errno := s.trySend(p[done:])
		done += n
		switch {
		case errno == 0:
			s.spendWrite(n)
			if done == len(p) {
				return done, nil
			}
		case errno != unix.EAGAIN:
			return done, os.NewSyscallError("write", errno)
		default:
			if err := s.awaitWritableLocked(); err != nil {
				return done, err
			}
		}
	}
}

func (s *socket) trySend(p []byte) (n int, errno syscall.Errno) {
	if s.kind.isPackets() {
		n, errno = sysx.TrySendPacket(s.fd, p)
	} else {
		n, errno = sysx.TrySend(s.fd, p)
	}
	processor.CurrentIO().CountWrite(n, errno)
	return n, errno
}

// writeWith is readWith for an operation that puts into the socket.
func (s *socket) writeWith(call string, try func(fd int) (n int, errno syscall.Errno)) error {
	if !s.mu.lock(writing) {
		return net.ErrClosed
	}
	err := s.writeWithLocked(call, try)
	if s.mu.unlock(writing) {
		s.destroy()
	}
	return err
}

func (s *socket) writeWithLocked(call string, try func(fd int) (n int, errno syscall.Errno)) error {
	if v := s.check(processor.Write); v != processor.Ready {
		return verdictError(v)
	}
	for {
		n, errno := try(s.fd)
		switch {
		case errno == 0:
			s.spendWrite(n)
			return nil
		case errno != unix.EAGAIN:
			return os.NewSyscallError(call, errno)
		}
		if err := s.awaitWritableLocked(); err != nil {
			return err
		}
	}
}

// awaitWritableLocked waits for space in the send buffer after an attempt that
// found none. It returns at once after an edge that may be newer than the
// attempt.
func (s *socket) awaitWritableLocked() error {
	if s.pd.Clear(processor.Write) {
		return nil
	}
	s.writeBudget = 0
	v, err := s.pd.Wait(s.fd, processor.Write, coroutine.ReasonWrite, 0)
	if v != processor.Ready || err != nil {
		return waitError(v, err)
	}
	return nil
}
