package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
)

// MaxIO is the most bytes that one call moves: some 20 µs of copying.
const MaxIO = 128 << 10

// ioSync orders a write before the read that it enables in the eyes of the race detector, as package syscall does.
var ioSync byte

// empty is what an empty slice points the kernel at.
var empty byte

func base(p []byte) unsafe.Pointer {
	if len(p) == 0 {
		return unsafe.Pointer(&empty)
	}
	return unsafe.Pointer(&p[0])
}

// TryRecv reads from a socket what is there, without blocking, repeating an interrupted call. It returns EAGAIN if
// nothing is there, and 0 bytes at the end of the stream. A result below min(len(p), MaxIO) emptied the socket.
func TryRecv(fd int, p []byte) (int, syscall.Errno) {
	n := min(len(p), MaxIO)
	if injector.Load() != nil {
		limit, errno := injected(Recv, fd, n)
		if errno != 0 {
			return 0, errno
		}
		n = limit
	}
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(base(p)), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			if goruntime.RaceEnabled {
				goruntime.RaceAcquire(unsafe.Pointer(&ioSync))
				goruntime.RaceWriteRange(base(p), int(r))
			}
			return int(r), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// TrySend writes what the socket takes, without blocking and without SIGPIPE, repeating an interrupted call. It returns
// EAGAIN if it takes nothing.
func TrySend(fd int, p []byte) (int, syscall.Errno) {
	n := min(len(p), MaxIO)
	if injector.Load() != nil {
		limit, errno := injected(Send, fd, n)
		if errno != 0 {
			return 0, errno
		}
		n = limit
	}
	if goruntime.RaceEnabled {
		goruntime.RaceReadRange(base(p), n)
		goruntime.RaceRelease(unsafe.Pointer(&ioSync))
	}
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(base(p)), uintptr(n),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(r), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// TryAccept accepts a connection if one is waiting; the new fd is non-blocking and closed on exec.
func TryAccept(fd int) (int, syscall.Errno) {
	if injector.Load() != nil {
		if _, errno := injected(Accept, fd, 1); errno != 0 {
			return -1, errno
		}
	}
	for {
		r, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		if errno == 0 {
			return int(r), 0
		}
		if errno != unix.EINTR {
			return -1, errno
		}
	}
}

// Poll asks epoll for events without waiting.
func Poll(epfd int, events []unix.EpollEvent) (int, syscall.Errno) {
	if injector.Load() != nil {
		limit, errno := injected(EpollWait, epfd, len(events))
		if errno != 0 {
			return 0, errno
		}
		events = events[:limit]
	}
	r, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// Wait waits in epoll until there is an event. The Go scheduler knows that the thread is blocked.
func Wait(epfd int, events []unix.EpollEvent) (int, syscall.Errno) {
	if injector.Load() != nil {
		limit, errno := injected(EpollWait, epfd, len(events))
		if errno != 0 {
			return 0, errno
		}
		events = events[:limit]
	}
	const forever = ^uintptr(0)
	r, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), forever, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// Ring adds one to an eventfd. It cannot block: the counter would have to be near 2^64.
func Ring(fd int) {
	one := uint64(1)
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}
