package fd

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Expose calls fn with the fd, which fn may duplicate.
func (f *FD) Expose(fn func(fd uintptr)) error {
	return f.Control(func(fd int) error {
		f.shared.Store(true)
		fn(uintptr(fd))
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
// flag for that: a call that blocks would hold up the thread and with it the
// process's garbage collection. A child process that shares the open file
// description can make the fd blocking at any time, so each attempt checks.
// Sockets that are not shared pay nothing.
func (f *FD) keepNonblocking() syscall.Errno {
	if f.shared.Load() && MakeNonblocking(f.fd) != nil {
		return unix.EINVAL
	}
	return 0
}

// RawRead calls fn until fn returns true, and waits for an edge after each
// false. fn may do anything with the fd, so its result says nothing about the
// receive queue. Parks.
func (f *FD) RawRead(fn func(fd uintptr) bool) error {
	if !f.mu.Lock(Read) {
		return net.ErrClosed
	}
	defer func() { // fn may panic
		f.queue = maybe
		f.Unlock(Read)
	}()
	f.queue = maybe
	return f.rawLocked(Read, fn)
}

// RawWrite is RawRead for the other direction.
func (f *FD) RawWrite(fn func(fd uintptr) bool) error {
	if !f.mu.Lock(Write) {
		return net.ErrClosed
	}
	defer f.Unlock(Write)
	return f.rawLocked(Write, fn)
}

func (f *FD) rawLocked(m Mode, fn func(fd uintptr) bool) (err error) {
	var refused syscall.Errno
	try := func(fd int) (int, bool, syscall.Errno) {
		if refused = f.keepNonblocking(); refused == 0 && !fn(uintptr(fd)) {
			return 0, false, unix.EAGAIN
		}
		return 0, false, refused
	}
	if m == Read {
		err = f.readWithLocked("", try)
	} else {
		err = f.writeWithLocked("", try)
	}
	if refused != 0 {
		return refused
	}
	return err
}
