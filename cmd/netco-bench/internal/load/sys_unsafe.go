package load

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// read and write go by RawSyscall: the sockets are non-blocking, so there is no
// reason to involve the Go scheduler, which costs 40 ns.
//
// Passing the buffers is sound: the conversion to uintptr stands in the
// argument list of a call to assembly, which keeps the memory alive and where
// it is (rule 4 of package unsafe).

// Preconditions: len(b) > 0.
func read(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])),
		uintptr(len(b)))
	return int(n), errno
}

// Preconditions: len(b) > 0. The fd is a socket whose peer may be gone: SIGPIPE
// is the Go runtime's to swallow (it does, for all fds but 1 and 2).
func write(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])),
		uintptr(len(b)))
	return int(n), errno
}

// waitNs is wait with a time-out in nanoseconds.
func waitNs(epfd int, events []unix.EpollEvent, ns int64) (int, error) {
	timeout := [2]int64{ns / 1e9, ns % 1e9} // the kernel's timespec, on every architecture
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epfd),
		uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	case unix.ENOSYS:
		return 0, fmt.Errorf("an open loop needs Linux 5.11: epoll_pwait2: %w", errno)
	}
	return 0, fmt.Errorf("epoll_pwait2: %w", errno)
}
