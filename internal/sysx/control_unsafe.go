package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/inside"
)

// Add registers fd with epoll for events, and to read, edge-triggered. slot and
// generation come back with each event.
func Add(epfd, fd int, events uint32, slot, generation int32) error {
	if errno := refused(EpollCtl, fd, 1); errno != 0 {
		return errno
	}
	ev := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLET | events,
		Fd:     slot,
		Pad:    generation,
	}
	// Raw, for the stack more than for the time: this is the deepest call of a
	// coroutine that waits for a connection, and a few hundred bytes more would
	// double its stack.
	_, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epfd), unix.EPOLL_CTL_ADD,
		uintptr(fd), uintptr(unsafe.Pointer(&ev)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// NewSocket makes a non-blocking socket that is closed on exec.
func NewSocket(family, kind, proto int) (int, error) {
	if errno := refused(Socket, -1, 1); errno != 0 {
		return -1, errno
	}
	return unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, proto)
}

// StartConnect begins to connect, or returns the state of a connect under way.
// It does not wait, but may take long. It is pinned, as is CloseStream, because
// leaving a coroutine behind there gains nothing.
func StartConnect(fd int, to unix.Sockaddr) error {
	pinned := inside.Pin()
	defer pinned.Unpin()
	if errno := refused(Connect, fd, 1); errno != 0 {
		return errno
	}
	return unix.Connect(fd, to)
}

// CloseFD closes fd. On Linux an interrupted close has closed the fd, so
// CloseFD does not repeat it.
func CloseFD(fd int) { syscall.Close(fd) }

// CloseStream is CloseFD for a socket that may have SO_LINGER with a time, set
// by any process or inherited from its listener. close(2) would block the
// thread for up to that time until all data is sent, O_NONBLOCK or not. On
// Linux the option has no other effect: unsent data is sent in the background
// with it or without. So CloseStream turns it off first.
func CloseStream(fd int) {
	pinned := inside.Pin()
	defer pinned.Unpin()
	var l unix.Linger
	size := uint32(unsafe.Sizeof(l))
	_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET,
		unix.SO_LINGER, uintptr(unsafe.Pointer(&l)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 && l.Onoff != 0 && l.Linger != 0 {
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
	}
	CloseFD(fd)
}
