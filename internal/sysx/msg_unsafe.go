package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/inside"
)

// The calls here are for packets and for messages with ancillary data. A packet
// goes as a whole or not at all, so they move as much as they are asked to, and
// ignore an Injector's limit; a call for more than MaxIO goes through the Go
// scheduler, pinned.

// TryRecvPacket is TryRecv for one packet; it drops bytes that do not fit. It
// leaves the sender's address in from, which may be nil.
func TryRecvPacket(fd int, p []byte, from *RawAddr) (int, syscall.Errno) {
	pinned := pinLong(len(p))
	for {
		size, r, errno := uint32(unsafe.Sizeof(*from)), uintptr(0), refused(Recv, fd, len(p))
		switch {
		case errno != 0:
		case len(p) <= MaxIO:
			r, _, errno = syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(base(p)),
				uintptr(len(p)), unix.MSG_DONTWAIT,
				uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(&size)))
		default:
			r, _, errno = syscall.Syscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(base(p)),
				uintptr(len(p)), unix.MSG_DONTWAIT,
				uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(&size)))
		}
		if errno == 0 {
			received(fd, p, int(r))
		}
		if errno != unix.EINTR {
			pinned.Unpin()
			return moved(r, errno), errno
		}
	}
}

// TrySendPacket is TrySend for one packet, to an address, or to the peer if
// that is nil.
func TrySendPacket(fd int, p []byte, to *RawAddr) (int, syscall.Errno) {
	sending(p)
	size := unsafe.Sizeof(*to)
	if to == nil {
		size = 0
	}
	pinned := pinLong(len(p))
	for {
		r, errno := uintptr(0), refused(Send, fd, len(p))
		switch {
		case errno != 0:
		case len(p) <= MaxIO:
			r, _, errno = syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(base(p)),
				uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
				uintptr(unsafe.Pointer(to)), size)
		default:
			r, _, errno = syscall.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(base(p)),
				uintptr(len(p)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
				uintptr(unsafe.Pointer(to)), size)
		}
		if errno != unix.EINTR {
			pinned.Unpin()
			return moved(r, errno), errno
		}
	}
}

// TryRecvMsg receives one message, or the available bytes of a stream, with its
// ancillary data: n bytes go into p, oobn into oob, the sender's name, if it
// has one, into from. Fds among them are closed on exec. With an empty p and an
// oob it takes one byte of a stream and drops it, as package syscall does;
// flags are recvmsg's.
func TryRecvMsg(fd int, p, oob []byte, from *UnixName) (n, oobn, flags int, failed syscall.Errno) {
	var dummy byte
	iov, failed := payload(fd, p, oob, &dummy)
	if failed != 0 {
		return 0, 0, 0, failed
	}
	*from = UnixName{}
	msg := header(&iov, oob, unsafe.Pointer(&from.raw), uint32(unsafe.Sizeof(from.raw)))
	n, failed = exchange(Recv, unix.SYS_RECVMSG, fd, &msg, len(p),
		unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	if failed != 0 {
		return 0, 0, 0, failed
	}
	from.size = msg.Namelen
	received(fd, p, min(n, len(p)))
	return n, int(msg.Controllen), int(msg.Flags), 0
}

// TrySendMsg sends one message, or as much as a stream takes, with ancillary
// data oob. A nil or empty to is the peer. It returns how many bytes of p were
// sent. With an empty p and an oob it sends one byte to a stream, and returns
// 0.
func TrySendMsg(fd int, p, oob []byte, to *UnixName) (int, syscall.Errno) {
	var dummy byte
	iov, failed := payload(fd, p, oob, &dummy)
	if failed != 0 {
		return 0, failed
	}
	if to == nil {
		to = new(UnixName)
	}
	msg := header(&iov, oob, unsafe.Pointer(&to.raw), to.size)
	sending(p)
	n, errno := exchange(Send, unix.SYS_SENDMSG, fd, &msg, len(p),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return min(n, len(p)), errno
}

// payload returns the memory for the iovec of a message. Except on datagrams,
// ancillary data needs at least one byte of payload.
func payload(fd int, p, oob []byte, dummy *byte) (iov unix.Iovec, failed syscall.Errno) {
	iov = vectorOf(p)
	if len(p) == 0 && len(oob) > 0 {
		kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
		if err != nil {
			return iov, errnoOf(err)
		}
		if kind != unix.SOCK_DGRAM {
			iov.Base = dummy
			iov.SetLen(1)
		}
	}
	return iov, 0
}

// vectorOf returns the vector of one payload, which may be nil.
func vectorOf(p []byte) (v unix.Iovec) {
	if len(p) > 0 {
		v.Base = &p[0]
		v.SetLen(len(p))
	}
	return v
}

// header is the header of a message with an address of size bytes, which may be
// none. It is a value, and no other variable refers to the memory that it
// points at, so all of that may be on the stack.
func header(iov *unix.Iovec, oob []byte, addr unsafe.Pointer, size uint32) (msg unix.Msghdr) {
	if len(oob) > 0 {
		msg.Control = &oob[0]
		msg.SetControllen(len(oob))
	}
	msg.Iov = iov
	msg.SetIovlen(1)
	msg.Name, msg.Namelen = (*byte)(addr), size
	return msg
}

// exchange is recvmsg or sendmsg, repeated while it is interrupted. An Injector
// is asked for n.
func exchange(op Op, call uintptr, fd int, msg *unix.Msghdr, n, flags int) (int, syscall.Errno) {
	pinned := pinLong(n)
	for {
		r, errno := uintptr(0), refused(op, fd, n)
		switch {
		case errno != 0:
		case n <= MaxIO:
			r, _, errno = syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(msg)),
				uintptr(flags))
		default:
			r, _, errno = syscall.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(msg)),
				uintptr(flags))
		}
		if errno != unix.EINTR {
			pinned.Unpin()
			return moved(r, errno), errno
		}
	}
}

// moved returns a call's result as a number of bytes: 0 if it failed.
func moved(r uintptr, errno syscall.Errno) int {
	if errno != 0 {
		return 0
	}
	return int(r)
}

// pinLong pins the caller if a call that moves n bytes enters the Go scheduler.
// The call copies and does not wait, and the caller is about to count it for
// its Processor.
func pinLong(n int) inside.Pinned {
	if n <= MaxIO {
		return inside.Pinned{}
	}
	return inside.Pin()
}

func received(fd int, p []byte, n int) {
	if goruntime.RaceEnabled {
		raceReceived(fd)
		goruntime.RaceWriteRange(base(p), n)
	}
}

func sending(p []byte) {
	if goruntime.RaceEnabled {
		goruntime.RaceReadRange(base(p), len(p))
		raceSending()
	}
}

// Recvmsg is recvmsg(2) for sockets of any family, without blocking. from is
// nil for a family that package unix does not know.
func Recvmsg(fd int, p, oob []byte, flags int) (n, oobn, got int, from unix.Sockaddr,
	failed syscall.Errno) {
	for {
		if failed = refused(Recv, fd, len(p)); failed == unix.EINTR {
			continue
		} else if failed != 0 {
			return 0, 0, 0, nil, failed
		}
		n, oobn, got, from, err := unix.Recvmsg(fd, p, oob,
			flags|unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == nil || n >= 0 && err == unix.EAFNOSUPPORT: // the message was received
			if goruntime.RaceEnabled {
				raceReceived(fd)
			}
			return n, oobn, got, from, 0
		case err != unix.EINTR:
			return 0, 0, 0, nil, errnoOf(err)
		}
	}
}

// Sendmsg is sendmsg(2) for sockets of any family, without blocking and without
// SIGPIPE.
func Sendmsg(fd int, p, oob []byte, to unix.Sockaddr, flags int) (int, syscall.Errno) {
	sending(p)
	for {
		if errno := refused(Send, fd, len(p)); errno == unix.EINTR {
			continue
		} else if errno != 0 {
			return 0, errno
		}
		n, err := unix.SendmsgN(fd, p, oob, to, flags|unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err == nil {
			return n, 0
		}
		if err != unix.EINTR {
			return 0, errnoOf(err)
		}
	}
}

// errnoOf returns the number of an error of package unix, whose errors all have
// one.
func errnoOf(err error) syscall.Errno {
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return unix.EINVAL
}

// UnixName is the address of a Unix socket as the kernel writes it. The zero
// UnixName is none.
type UnixName struct {
	raw  unix.RawSockaddrUnix
	size uint32
}

// Set makes un the address of that name. A leading @ or NUL means an abstract
// name. The error is EINVAL for a name that is too long.
func (un *UnixName) Set(name string) syscall.Errno {
	*un = UnixName{}
	abstract := name != "" && (name[0] == '@' || name[0] == 0)
	if len(name) > len(un.raw.Path) || len(name) == len(un.raw.Path) && !abstract {
		return unix.EINVAL
	}
	un.raw.Family = unix.AF_UNIX
	for i := range len(name) {
		un.raw.Path[i] = int8(name[i])
	}
	un.size = uint32(unsafe.Offsetof(un.raw.Path)) + uint32(len(name))
	switch {
	case abstract:
		un.raw.Path[0] = 0
	case name != "":
		un.size++ // the NUL
	}
	return 0
}

// Name returns the name as package net writes it: an abstract name up to the
// next NUL, with @ in place of the first; @ for a socket without a name; "" if
// there is no address.
func (un *UnixName) Name() string {
	if un.raw.Family != unix.AF_UNIX {
		return ""
	}
	path := un.raw.Path
	if path[0] == 0 {
		path[0] = '@'
	}
	var name [len(path)]byte
	n := 0
	for n < len(path) && path[n] != 0 {
		name[n] = byte(path[n])
		n++
	}
	return string(name[:n])
}

// LocalName fills in the name that a socket is bound to.
func (un *UnixName) LocalName(fd int) syscall.Errno { return un.ask(unix.SYS_GETSOCKNAME, fd) }

// PeerName fills in the name of a socket's peer.
func (un *UnixName) PeerName(fd int) syscall.Errno { return un.ask(unix.SYS_GETPEERNAME, fd) }

func (un *UnixName) ask(call uintptr, fd int) (errno syscall.Errno) {
	*un = UnixName{size: uint32(unsafe.Sizeof(un.raw))}
	return askName(call, fd, unsafe.Pointer(&un.raw), &un.size)
}

// Unnamed reports whether a is the address of a Unix socket that has no name,
// as far as a RawAddr shows it.
func (a *RawAddr) Unnamed() bool { return a.raw.Family == unix.AF_UNIX && a.raw.Port == 0 }
