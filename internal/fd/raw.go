package fd

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Expose calls f with the fd, which f may duplicate.
func (s *FD) Expose(f func(fd uintptr)) error {
	return s.Control(func(fd int) error {
		s.shared.Store(true)
		f(uintptr(fd))
		return nil
	})
}

// MakeNonblocking sets O_NONBLOCK if it is not set: other fds may share the
// flag.
func MakeNonblocking(fd int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK == 0 {
		err = unix.SetNonblock(fd, true)
	}
	return os.NewSyscallError("fcntl", err)
}

// keepNonblocking makes the fd non-blocking before a system call that has no
// flag for that: blocked, the call would hold up the thread and with it the
// process's garbage collection. A child process that shares the open file
// description can make it blocking at any time, so each attempt checks. Sockets
// that are not shared pay nothing.
func (s *FD) keepNonblocking() syscall.Errno {
	if s.shared.Load() && MakeNonblocking(s.fd) != nil {
		return unix.EINVAL
	}
	return 0
}

// RawRead calls f until f returns true, and waits for an edge after each false.
// f may do anything with the fd, so its result says nothing about the receive
// queue. Parks.
func (s *FD) RawRead(f func(fd uintptr) bool) error {
	if !s.mu.Lock(Read) {
		return net.ErrClosed
	}
	defer func() { // f may panic
		s.queue = maybe
		s.Unlock(Read)
	}()
	s.queue = maybe
	return s.rawLocked(Read, f)
}

// RawWrite is RawRead for the other direction.
func (s *FD) RawWrite(f func(fd uintptr) bool) error {
	if !s.mu.Lock(Write) {
		return net.ErrClosed
	}
	defer s.Unlock(Write)
	return s.rawLocked(Write, f)
}

func (s *FD) rawLocked(m Mode, f func(fd uintptr) bool) (err error) {
	var refused syscall.Errno
	try := func(fd int) (int, bool, syscall.Errno) {
		if refused = s.keepNonblocking(); refused == 0 && !f(uintptr(fd)) {
			return 0, false, unix.EAGAIN
		}
		return 0, false, refused
	}
	if m == Read {
		err = s.readWithLocked("", try)
	} else {
		err = s.writeWithLocked("", try)
	}
	if refused != 0 {
		return refused
	}
	return err
}
