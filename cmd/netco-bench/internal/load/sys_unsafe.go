package load

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// read and write go by RawSyscall: the sockets are non-blocking, so there is
// nothing to tell the scheduler about, and telling it costs 40 ns.
//
// Passing the buffers is sound: they are heap memory that the worker keeps
// alive, the collector does not move it, and the conversion to uintptr stands in
// the call's argument list (rule 4 of package unsafe).

// Preconditions: len(b) > 0.
func read(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return int(n), errno
}

// Preconditions: len(b) > 0. The fd is a socket whose peer may be gone: SIGPIPE
// is the Go runtime's to swallow (it does, for all fds but 1 and 2).
func write(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return int(n), errno
}
