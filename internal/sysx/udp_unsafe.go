package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TryRecvDatagram is TryRecvPacket for a datagram of IPv4 or IPv6, with control
// messages, which it leaves in oob, and the flags of recvmsg. An Injector is
// asked for one datagram.
func TryRecvDatagram(fd int, p, oob []byte, from *RawAddr) (n, oobn, flags int,
	failed syscall.Errno) {
	vector := vectorOf(p)
	msg := header(&vector, oob, unsafe.Pointer(from), uint32(unsafe.Sizeof(*from)))
	n, failed = exchange(Recv, unix.SYS_RECVMSG, fd, &msg, 1, unix.MSG_DONTWAIT)
	if failed != 0 {
		return 0, 0, 0, failed
	}
	received(fd, p, n)
	received(fd, oob, int(msg.Controllen))
	return n, int(msg.Controllen), int(msg.Flags), 0
}

// TrySendDatagram is TrySendPacket with control messages; to is nil for the
// peer of a connected socket.
func TrySendDatagram(fd int, p, oob []byte, to *RawAddr) (int, syscall.Errno) {
	sending(p)
	sending(oob)
	vector, size := vectorOf(p), uint32(unsafe.Sizeof(*to))
	if to == nil {
		size = 0
	}
	msg := header(&vector, oob, unsafe.Pointer(to), size)
	return exchange(Send, unix.SYS_SENDMSG, fd, &msg, 1, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
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
