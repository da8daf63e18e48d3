package sysx

import (
	"sync/atomic"
	"syscall"

	"github.com/netco-go/netco/internal/inside"
)

// Op names a system call.
type Op uint8

// The calls that an Injector decides about.
const (
	Recv Op = iota
	Send
	Accept
	Connect
	EpollWait
	EpollCtl
	Socket
	EpollCreate
	PollFDs
	FileRead
	FileWrite
	Sendv
	SpliceIn  // from a socket into a pipe
	SpliceOut // from a pipe into a socket
	Sendfile
	Pipe
)

// Injector decides what happens to a call before it is made: an errno other
// than 0 is returned in its place; otherwise at most limit bytes are moved
// (limit is what was asked for, and may be lowered, not below 1).
type Injector func(op Op, fd int, asked int) (limit int, errno syscall.Errno)

var injector atomic.Pointer[Injector]

// Inject installs an Injector and returns a function that removes it. For
// tests.
func Inject(f Injector) (remove func()) {
	injector.Store(&f)
	return func() { injector.Store(nil) }
}

// injected asks the Injector. It is kept out of line: the caller's path without
// one is a load and a branch. As in a raw system call, the caller cannot be
// left behind meanwhile.
func injected(op Op, fd, asked int) (limit int, errno syscall.Errno) {
	defer inside.Pin().Unpin()
	return injectedOpen(op, fd, asked)
}

// injectedOpen is injected for a call that enters the Go scheduler, in which
// the caller can be left behind.
func injectedOpen(op Op, fd, asked int) (limit int, errno syscall.Errno) {
	f := injector.Load()
	if f == nil {
		return asked, 0
	}
	limit, errno = (*f)(op, fd, asked)
	return max(1, min(limit, asked)), errno
}

// injectedIf is injectedOpen if the call enters the Go scheduler, else
// injected.
func injectedIf(enters bool, op Op, fd, asked int) (limit int, errno syscall.Errno) {
	if enters {
		return injectedOpen(op, fd, asked)
	}
	return injected(op, fd, asked)
}

// asked asks the Injector, if there is one, about a call that may do less than
// asked.
func asked(op Op, fd, n int) (limit int, errno syscall.Errno) {
	if injector.Load() == nil {
		return n, 0
	}
	return injected(op, fd, n)
}

// refused asks the Injector about a call that does everything or nothing.
func refused(op Op, fd, asked int) syscall.Errno {
	if injector.Load() == nil {
		return 0
	}
	_, errno := injected(op, fd, asked)
	return errno
}
