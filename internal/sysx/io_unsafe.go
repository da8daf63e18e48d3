package sysx

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
)

// MaxIO is the most bytes that one call moves: some 20 µs of copying.
const MaxIO = 128 << 10

// empty is the memory that the kernel gets for an empty slice.
var empty byte

func base(p []byte) unsafe.Pointer {
	if len(p) == 0 {
		return unsafe.Pointer(&empty)
	}
	return unsafe.Pointer(&p[0])
}

// TryRecv reads from a socket: 0 bytes at the end of the stream. short means
// that it got less than it asked for: the socket had no more at that moment.
func TryRecv(fd int, p []byte) (got int, short bool, failed syscall.Errno) {
	n := min(len(p), MaxIO)
	for {
		m, errno := asked(Recv, fd, n)
		r := uintptr(0)
		if errno == 0 {
			r, _, errno = syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(base(p)),
				uintptr(m), unix.MSG_DONTWAIT, 0, 0)
		}
		if errno == 0 {
			received(fd, p, int(r))
			return int(r), int(r) < m, 0
		}
		if errno != unix.EINTR {
			return 0, false, errno
		}
	}
}

// TryRecvAll is TryRecv from a TCP connection on which ReportUnread has
// succeeded. all means that it has emptied the receive queue and the peer has
// not closed its side; without ReportUnread it is false.
func TryRecvAll(fd int, p []byte) (got int, all bool, failed syscall.Errno) {
	var inq struct { // a control message of one int
		unix.Cmsghdr
		unread int32
		_      int32
	}
	n := min(len(p), MaxIO)
	for {
		m, errno := asked(Recv, fd, n)
		r := uintptr(0)
		if errno == 0 {
			iov := unix.Iovec{Base: (*byte)(base(p))}
			iov.SetLen(m)
			msg := unix.Msghdr{Iov: &iov, Control: (*byte)(unsafe.Pointer(&inq))}
			msg.SetIovlen(1)
			msg.SetControllen(int(unsafe.Sizeof(inq)))
			r, _, errno = syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd),
				uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT)
		}
		if errno == 0 {
			received(fd, p, int(r))
			known := inq.Level == unix.SOL_TCP && inq.Type == unix.TCP_CM_INQ
			return int(r), known && inq.unread == 0, 0
		}
		if errno != unix.EINTR {
			return 0, false, errno
		}
	}
}

// ReportUnread makes the kernel say with each recvmsg from a TCP connection how
// much is left to read (TCP_INQ, Linux 4.18), for TryRecvAll.
func ReportUnread(fd int) {
	on := int32(1)
	syscall.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_TCP, unix.TCP_INQ,
		uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
}

// TrySend writes what the socket takes.
func TrySend(fd int, p []byte) (int, syscall.Errno) {
	p = p[:min(len(p), MaxIO)]
	sending(p)
	for {
		m, errno := asked(Send, fd, len(p))
		r := uintptr(0)
		if errno == 0 {
			r, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(base(p)),
				uintptr(m), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		}
		if errno != unix.EINTR {
			return moved(r, errno), errno
		}
	}
}

// TryAccept accepts a connection if one is waiting; the new fd is non-blocking
// and closed on exec. It leaves the peer's address in from.
func TryAccept(fd int, from *RawAddr) (int, syscall.Errno) {
	for {
		size, r, errno := uint32(unsafe.Sizeof(*from)), uintptr(0), refused(Accept, fd, 1)
		if errno == 0 {
			r, _, errno = syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd),
				uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(&size)),
				unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		}
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
	n, errno := asked(EpollWait, epfd, len(events))
	if errno != 0 {
		return 0, errno
	}
	r, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(&events[0])), uintptr(n), 0, 0, 0)
	return moved(r, errno), errno
}

// Wait waits in epoll until there is an event. The Go scheduler knows that the
// thread is blocked.
func Wait(epfd int, events []unix.EpollEvent) (int, syscall.Errno) {
	n, errno := asked(EpollWait, epfd, len(events))
	if errno != 0 {
		return 0, errno
	}
	r, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(&events[0])), uintptr(n), ^uintptr(0), 0, 0) // no timeout
	return moved(r, errno), errno
}

// WaitLong is Wait, and gives the caller's P to other goroutines at once.
func WaitLong(epfd int, events []unix.EpollEvent) (int, syscall.Errno) {
	n, errno := asked(EpollWait, epfd, len(events))
	if errno != 0 {
		return 0, errno
	}
	r, errno := blockedWait(epfd, &events[0], n)
	return moved(r, errno), errno
}

//go:norace
//go:nosplit
func blockedWait(epfd int, events *unix.EpollEvent, n int) (uintptr, syscall.Errno) {
	goruntime.EnterBlocked()
	r, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(events)), uintptr(n), ^uintptr(0), 0, 0)
	goruntime.ExitBlocked()
	return r, errno
}

// Ring adds one to an eventfd. It cannot block: the counter would have to be
// near 2^64.
func Ring(fd int) {
	one := uint64(1)
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}

// ThreadCPU returns how many ns of CPU time the calling thread has used.
func ThreadCPU() int64 {
	var ts unix.Timespec
	syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID,
		uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// RawAddr is an IPv4 or IPv6 address and port as the kernel writes it.
type RawAddr struct{ raw unix.RawSockaddrInet6 }

// LocalAddr fills in the address that a socket is bound to.
func (a *RawAddr) LocalAddr(fd int) syscall.Errno { return a.ask(unix.SYS_GETSOCKNAME, fd) }

// RemoteAddr fills in the address that a socket is connected to.
func (a *RawAddr) RemoteAddr(fd int) syscall.Errno { return a.ask(unix.SYS_GETPEERNAME, fd) }

func (a *RawAddr) ask(call uintptr, fd int) syscall.Errno {
	size := uint32(unsafe.Sizeof(*a))
	return askName(call, fd, unsafe.Pointer(a), &size)
}

// askName is getsockname or getpeername.
func askName(call uintptr, fd int, at unsafe.Pointer, size *uint32) syscall.Errno {
	_, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(at), uintptr(unsafe.Pointer(size)))
	return errno
}

// AddrPort returns the address and port, and the number of the IPv6 zone (an
// interface) or 0. An IPv4 address stays one. The result is invalid if the
// address was never filled in or is of another family.
func (a *RawAddr) AddrPort() (ap netip.AddrPort, zone uint32) {
	port := func(p *uint16) uint16 { // kept in network byte order
		b := (*[2]byte)(unsafe.Pointer(p))
		return uint16(b[0])<<8 | uint16(b[1])
	}
	switch a.raw.Family {
	case unix.AF_INET:
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.raw))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), port(&v4.Port)), 0
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.raw.Addr), port(&a.raw.Port)), a.raw.Scope_id
	}
	return netip.AddrPort{}, 0
}
