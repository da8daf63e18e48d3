package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
)

// MaxVec is the most pieces that one call of TrySendv takes: the kernel's
// UIO_MAXIOV.
const MaxVec = 1024

// MaxSplice is the most bytes that one splice is asked to move. It moves
// references to pages and copies nothing, so this is more than MaxIO in about
// the same time.
const MaxSplice = 256 << 10

// MaxSendfile is the most bytes that one sendfile is asked to move. It moves
// references to pages, too, but takes the protocol's time besides, some 90 µs
// on loopback. With a quarter of that size a server of files takes 5 % more CPU
// time.
const MaxSendfile = 512 << 10

// AppendVec appends p, which is not empty, to a vector for TrySendv.
func AppendVec(v []unix.Iovec, p []byte) []unix.Iovec {
	iov := unix.Iovec{Base: &p[0]}
	iov.SetLen(len(p))
	return append(v, iov)
}

// TrySendv writes what the socket takes of the pieces in v. An Injector's limit
// shortens v.
//
// Precondition: v has 1 to MaxVec pieces and, on a stream, not much more than
// MaxIO bytes.
func TrySendv(fd int, v []unix.Iovec) (int, syscall.Errno) {
	if goruntime.RaceEnabled {
		for i := range v {
			goruntime.RaceReadRange(unsafe.Pointer(v[i].Base), int(v[i].Len))
		}
		raceSending()
	}
	for {
		if injector.Load() != nil {
			limit, errno := injected(Sendv, fd, vecLen(v))
			if errno == unix.EINTR {
				continue
			}
			if errno != 0 {
				return 0, errno
			}
			v = shorten(v, limit)
		}
		msg := unix.Msghdr{Iov: &v[0]}
		msg.SetIovlen(len(v))
		r, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd),
			uintptr(unsafe.Pointer(&msg)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errno != unix.EINTR {
			return moved(r, errno), errno
		}
	}
}

func vecLen(v []unix.Iovec) (n int) {
	for i := range v {
		n += int(v[i].Len)
	}
	return n
}

// shorten cuts v down to n bytes.
func shorten(v []unix.Iovec, n int) []unix.Iovec {
	for i := range v {
		if int(v[i].Len) >= n {
			v[i].SetLen(n)
			return v[:i+1]
		}
		n -= int(v[i].Len)
	}
	return v
}

// TrySpliceIn moves up to n bytes from a non-blocking socket into a
// non-blocking pipe, and 0 at the end of the stream. A result below n does not
// mean that the socket is empty: the pipe may have no more slots.
func TrySpliceIn(pipe, fd, n int) (int, syscall.Errno) { return splice(SpliceIn, fd, fd, pipe, n) }

// TrySpliceOut moves up to n bytes from a non-blocking pipe into a non-blocking
// socket. The kernel has no MSG_NOSIGNAL for it: the thread is sent a SIGPIPE
// when the peer has gone, which the Go runtime ignores.
func TrySpliceOut(fd, pipe, n int) (int, syscall.Errno) {
	return splice(SpliceOut, fd, pipe, fd, n)
}

func splice(op Op, socket, from, to, n int) (int, syscall.Errno) {
	n = min(n, MaxSplice)
	if goruntime.RaceEnabled && op == SpliceOut {
		raceSending()
	}
	for {
		m, errno := asked(op, socket, n)
		r := uintptr(0)
		if errno == 0 {
			r, _, errno = syscall.RawSyscall6(unix.SYS_SPLICE, uintptr(from), 0, uintptr(to), 0,
				uintptr(m), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		}
		if errno == 0 && goruntime.RaceEnabled && op == SpliceIn {
			raceReceived(socket)
		}
		if errno != unix.EINTR {
			return moved(r, errno), errno
		}
	}
}

// TrySendfile moves up to n bytes from a file, at its position, into a
// non-blocking socket, 0 at the end of the file, and moves the position by what
// it sent. It blocks while the disk is read, so it goes through the Go
// scheduler.
func TrySendfile(fd, file, n int) (int, syscall.Errno) {
	n = min(n, MaxSendfile)
	if goruntime.RaceEnabled {
		raceSending()
	}
	for {
		m, errno := injectedOpen(Sendfile, fd, n)
		r := uintptr(0)
		if errno == 0 {
			r, _, errno = syscall.Syscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file), 0,
				uintptr(m), 0, 0)
		}
		if errno != unix.EINTR {
			return moved(r, errno), errno
		}
	}
}

// NewPipe makes a pipe, non-blocking and closed on exec, with a capacity of
// size bytes if the kernel allows that.
func NewPipe(size int) (r, w int, failed syscall.Errno) {
	if errno := refused(Pipe, -1, 1); errno != 0 {
		return -1, -1, errno
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return -1, -1, errnoOf(err)
	}
	// The kernel refuses it to a user with many pipes. A smaller pipe works
	// too, with more calls.
	syscall.RawSyscall(unix.SYS_FCNTL, uintptr(fds[0]), unix.F_SETPIPE_SZ, uintptr(size))
	return fds[0], fds[1], 0
}
