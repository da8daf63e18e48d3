package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Datagrams of IPv4 and IPv6. An Injector is asked for so many datagrams, not
// bytes: none is ever cut or split.

// TryRecvFrom takes one datagram from a socket, without blocking, repeating an
// interrupted call. It returns EAGAIN if there is none. What does not fit into
// p is lost. It leaves the sender's address in from.
func TryRecvFrom(fd int, p []byte, from *RawAddr) (int, syscall.Errno) {
	for {
		if errno := refused(Recv, fd, 1); errno == unix.EINTR {
			continue
		} else if errno != 0 {
			return 0, errno
		}
		size := uint32(unsafe.Sizeof(*from))
		r, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(base(p)),
			uintptr(len(p)), unix.MSG_DONTWAIT,
			uintptr(unsafe.Pointer(from)), uintptr(unsafe.Pointer(&size)))
		if errno == 0 {
			received(fd, p, int(r))
			return int(r), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// TrySendTo sends p as one datagram to an address, without blocking, repeating
// an interrupted call. It returns EAGAIN if the socket cannot take it.
func TrySendTo(fd int, p []byte, to *RawAddr) syscall.Errno {
	sending(p)
	for {
		if errno := refused(Send, fd, 1); errno == unix.EINTR {
			continue
		} else if errno != 0 {
			return errno
		}
		_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(base(p)),
			uintptr(len(p)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, uintptr(unsafe.Pointer(to)), unsafe.Sizeof(*to))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// TryRecvDatagram is TryRecvFrom with control messages, which it leaves in oob,
// and the flags of recvmsg.
func TryRecvDatagram(fd int, p, oob []byte, from *RawAddr) (n, oobn, flags int,
	failed syscall.Errno) {
	for {
		if errno := refused(Recv, fd, 1); errno == unix.EINTR {
			continue
		} else if errno != 0 {
			return 0, 0, 0, errno
		}
		header, vector := describe(p, oob, from)
		header.Iov = &vector
		r, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd),
			uintptr(unsafe.Pointer(&header)), unix.MSG_DONTWAIT)
		if errno == 0 {
			received(fd, p, int(r))
			received(fd, oob, int(header.Controllen))
			return int(r), int(header.Controllen), int(header.Flags), 0
		}
		if errno != unix.EINTR {
			return 0, 0, 0, errno
		}
	}
}

// TrySendDatagram is TrySendTo with control messages; to is nil for the peer of
// a connected socket.
func TrySendDatagram(fd int, p, oob []byte, to *RawAddr) (int, syscall.Errno) {
	sending(p)
	sending(oob)
	for {
		if errno := refused(Send, fd, 1); errno == unix.EINTR {
			continue
		} else if errno != 0 {
			return 0, errno
		}
		header, vector := describe(p, oob, to)
		header.Iov = &vector
		r, _, errno := syscall.RawSyscall(unix.SYS_SENDMSG, uintptr(fd),
			uintptr(unsafe.Pointer(&header)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errno == 0 {
			return int(r), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// describe returns the vector and, but for the pointer to that, the header of
// one datagram. It returns them, rather than fill them in, so that what they
// point at may stay on the caller's stack.
func describe(p, oob []byte, addr *RawAddr) (h unix.Msghdr, v unix.Iovec) {
	if len(p) > 0 {
		v.Base = &p[0]
		v.SetLen(len(p))
	}
	h.SetIovlen(1)
	if addr != nil {
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(addr)), uint32(unsafe.Sizeof(*addr))
	}
	if len(oob) > 0 {
		h.Control = &oob[0]
		h.SetControllen(len(oob))
	}
	return h, v
}

// BindTo binds a socket to an address.
func BindTo(fd int, a *RawAddr) syscall.Errno {
	_, _, errno := syscall.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(a)),
		unsafe.Sizeof(*a))
	return errno
}

// ConnectTo gives a datagram socket its peer, which cannot block.
func ConnectTo(fd int, a *RawAddr) syscall.Errno {
	if errno := refused(Connect, fd, 1); errno != 0 {
		return errno
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(a)),
		unsafe.Sizeof(*a))
	return errno
}

// Set4 makes a an IPv4 address and port.
func (a *RawAddr) Set4(ip [4]byte, port uint16) {
	a.raw = unix.RawSockaddrInet6{}
	v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.raw))
	v4.Family, v4.Addr = unix.AF_INET, ip
	setPort(&v4.Port, port)
}

// Set6 makes a an IPv6 address and port; zone is the number of an interface, or
// 0.
func (a *RawAddr) Set6(ip [16]byte, port uint16, zone uint32) {
	a.raw = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: ip, Scope_id: zone}
	setPort(&a.raw.Port, port)
}

// setPort stores a port in network byte order.
func setPort(p *uint16, port uint16) {
	b := (*[2]byte)(unsafe.Pointer(p))
	b[0], b[1] = byte(port>>8), byte(port)
}

// Is6 reports whether a is of the family of IPv6, which includes IPv4 addresses
// mapped into it.
func (a *RawAddr) Is6() bool { return a.raw.Family == unix.AF_INET6 }
