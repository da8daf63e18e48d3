package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
)

// fewFDs is how many fds poll(2) checks in some 10 µs. With more fds the call
// goes through the Go scheduler.
const fewFDs = 128

// TryPoll calls poll(2) for fds without waiting, repeating an interrupted call,
// and returns how many have events.
func TryPoll(fds []unix.PollFd) (int, syscall.Errno) {
	at := unsafe.Pointer(&empty)
	if len(fds) > 0 {
		at = unsafe.Pointer(&fds[0])
	}
	var now unix.Timespec
	for {
		r, errno := uintptr(0), syscall.Errno(0)
		if injector.Load() != nil {
			_, errno = injectedIf(len(fds) > fewFDs, PollFDs, -1, len(fds))
		}
		switch {
		case errno != 0:
		case len(fds) <= fewFDs:
			r, _, errno = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(at), uintptr(len(fds)),
				uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		default:
			r, _, errno = syscall.Syscall6(unix.SYS_PPOLL, uintptr(at), uintptr(len(fds)),
				uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		}
		if errno == 0 && goruntime.RaceEnabled && len(fds) > 0 {
			goruntime.RaceWriteRange(at, len(fds)*int(unsafe.Sizeof(fds[0])))
		}
		if errno != unix.EINTR {
			return moved(r, errno), errno
		}
	}
}

// NewEpoll makes an epoll instance that is closed on exec.
func NewEpoll() (int, error) {
	if errno := refused(EpollCreate, -1, 1); errno != 0 {
		return -1, errno
	}
	return unix.EpollCreate1(unix.EPOLL_CLOEXEC)
}

// ControlEpoll adds fd to epoll for some events, level-triggered, or changes
// the events, if op is EPOLL_CTL_MOD.
func ControlEpoll(epfd, op, fd int, events uint32) syscall.Errno {
	if errno := refused(EpollCtl, fd, 1); errno != 0 {
		return errno
	}
	ev := unix.EpollEvent{Events: events, Fd: int32(fd)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epfd), uintptr(op), uintptr(fd),
		uintptr(unsafe.Pointer(&ev)), 0, 0)
	return errno
}

// Read reads once from a file, repeating an interrupted call. It goes through
// the Go scheduler: whether it blocks depends on a flag that other processes
// may share and change.
func Read(fd int, p []byte) (int, syscall.Errno) { return fileIO(FileRead, fd, p) }

// Write writes once to a file, otherwise like Read.
func Write(fd int, p []byte) (int, syscall.Errno) { return fileIO(FileWrite, fd, p) }

// fileIO calls package syscall's functions, which report to the race detector.
func fileIO(op Op, fd int, p []byte) (n int, failed syscall.Errno) {
	for {
		if injector.Load() != nil && len(p) > 0 {
			limit, errno := injectedOpen(op, fd, len(p))
			if errno == unix.EINTR {
				continue
			}
			if errno != 0 {
				return 0, errno
			}
			p = p[:limit]
		}
		var err error
		if op == FileRead {
			n, err = syscall.Read(fd, p)
		} else {
			n, err = syscall.Write(fd, p)
		}
		if err == nil {
			return n, 0
		}
		if err != unix.EINTR {
			return 0, errnoOf(err)
		}
	}
}
