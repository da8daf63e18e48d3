package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// These run any operation as read and write run theirs, for those that are not worth a loop of their own. try makes one
// attempt, without blocking, and is called again after an edge when it has answered EAGAIN; n is the bytes it moved, for the pace
// at which others get their turn. The error is that of call, or of the wait.

// readWith does an operation that takes from the socket. Parks. It does not allocate unless try does.
func (s *socket) readWith(call string, try func(fd int) (n int, errno syscall.Errno)) error {
	if !s.mu.lock(reading) {
		return net.ErrClosed
	}
	err := s.readWithLocked(call, try)
	if s.mu.unlock(reading) {
		s.destroy()
	}
	return err
}

func (s *socket) readWithLocked(call string, try func(fd int) (n int, errno syscall.Errno)) error {
	if v := s.check(processor.Read); v != processor.Ready {
		return verdictError(v)
	}
	for {
		if s.queue == unknown || s.unread != nil || s.pd.Edge(processor.Read) {
			s.pd.Clear(processor.Read)
			n, errno := try(s.fd)
			s.queue = emptinessAfter(false, errno)
			if errno == 0 {
				s.pace(&s.readBurst, n)
				return nil
			}
			if errno != unix.EAGAIN {
				return os.NewSyscallError(call, errno)
			}
		}
		if err := s.awaitReadableLocked(); err != nil {
			return err
		}
	}
}

// awaitReadableLocked waits for an edge, or until the wait is to end.
func (s *socket) awaitReadableLocked() error {
	here := processor.Here()
	s.beforeWait(here.IO())
	v, err := s.pd.WaitFrom(here, s.fd, processor.Read, coroutine.ReasonRead, 0)
	if err != nil {
		s.queue = unknown // it is in no epoll, so no edge will tell
	}
	if v != processor.Ready || err != nil {
		return waitError(v, err)
	}
	s.queue = unknown
	return nil
}

// writeWith does an operation that puts into the socket. Parks. It does not allocate unless try does.
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
			s.wrote(n)
			return nil
		case errno != unix.EAGAIN:
			return os.NewSyscallError(call, errno)
		}
		if err := s.awaitWritableLocked(); err != nil {
			return err
		}
	}
}

// wrote paces writes that did not park.
func (s *socket) wrote(n int) {
	if parks := s.readParks.Load(); parks != s.parksSeen {
		s.parksSeen, s.writeBurst = parks, 0 // request and answer: it waits often enough
	}
	s.pace(&s.writeBurst, n)
}

// awaitWritableLocked waits for room after an attempt that found none. It returns at once if an edge has come that may be
// newer than the attempt.
func (s *socket) awaitWritableLocked() error {
	if s.pd.Clear(processor.Write) {
		return nil
	}
	s.writeBurst = 0
	v, err := s.pd.Wait(s.fd, processor.Write, coroutine.ReasonWrite, 0)
	if v != processor.Ready || err != nil {
		return waitError(v, err)
	}
	return nil
}
