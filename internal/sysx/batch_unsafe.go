package sysx

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
)

// Batch is the memory that describes several datagrams to the kernel: headers,
// vectors, addresses, and control messages of its own. It has one user at a
// time, grows as needed and is reused, so that it allocates only while it
// grows.
//
//	Reset, Set for each, Recv or Send, Result for each, Forget
type Batch struct {
	headers []mmsghdr
	vectors []unix.Iovec
	addrs   []RawAddr
	control []byte
	bytes   int // of payload
	held    int // the first held datagrams may refer to memory that Forget is to drop
}

// mmsghdr is struct mmsghdr. Go pads it as C does: to the alignment of the
// pointers in it.
type mmsghdr struct {
	unix.Msghdr
	moved uint32
}

// Reset prepares n datagrams and some bytes of control messages, whose memory
// it returns.
func (b *Batch) Reset(n, control int) []byte {
	if n > cap(b.headers) {
		b.held = 0
		b.headers = make([]mmsghdr, n)
		b.vectors = make([]unix.Iovec, n)
		b.addrs = make([]RawAddr, n)
	}
	if control > cap(b.control) {
		b.control = make([]byte, control)
	}
	b.headers, b.bytes = b.headers[:n], 0
	b.held = max(b.held, n)
	return b.control[:control]
}

// Set describes datagram i by its payload and control messages. named says that
// the datagram has an address, which the caller or Recv sets; otherwise it goes
// to the peer of a connected socket.
func (b *Batch) Set(i int, p, oob []byte, named bool) {
	b.bytes += len(p)
	b.vectors[i] = vectorOf(p)
	var addr *RawAddr
	size := uint32(0)
	if named {
		addr, size = &b.addrs[i], uint32(unsafe.Sizeof(*addr))
	}
	b.headers[i].Msghdr = header(&b.vectors[i], oob, unsafe.Pointer(addr), size)
}

// Addr is the address of datagram i.
func (b *Batch) Addr(i int) *RawAddr { return &b.addrs[i] }

// Result returns how many bytes of payload and control messages datagram i has,
// and the flags of recvmsg.
func (b *Batch) Result(i int) (n, oobn, flags int) {
	h := &b.headers[i]
	return int(h.moved), int(h.Controllen), int(h.Flags)
}

// Control returns the memory in which Recv has left the control messages of
// datagram i.
func (b *Batch) Control(i int) []byte {
	h := &b.headers[i]
	return unsafe.Slice(h.Control, h.Controllen)
}

// Forget drops the pointers to payload and control messages, so that the
// collector may have them.
func (b *Batch) Forget() {
	headers := b.headers[:b.held]
	for i := range headers {
		headers[i].Control = nil
		b.vectors[i].Base = nil
	}
	b.held = 0
}

// Recv takes datagrams from a socket, as TryXxx does, at most as many as were
// Set. short means that it took fewer: the socket had no more at that moment.
func (b *Batch) Recv(fd int) (got int, short bool, failed syscall.Errno) {
	got, most, failed := several(Recv, unix.SYS_RECVMMSG, fd, b.headers, unix.MSG_DONTWAIT,
		b.bytes > MaxIO)
	if failed == 0 && goruntime.RaceEnabled {
		b.raceReceived(fd, got)
	}
	return got, failed == 0 && got < most, failed
}

// Send sends the datagrams that were Set, from number first on, as TryXxx does,
// and returns how many the socket took. An error is that of number first: once
// the socket has taken any, the error of the next datagram is not known yet.
func (b *Batch) Send(fd, first int) (int, syscall.Errno) {
	if goruntime.RaceEnabled {
		b.raceSent(first)
	}
	headers := b.headers[first:]
	sent, _, failed := several(Send, unix.SYS_SENDMMSG, fd, headers,
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
		len(headers) > fewDatagrams || b.bytes > fewDatagrams*4<<10)
	return sent, failed
}

// fewDatagrams is how many datagrams are sent in some 10 µs. A sent datagram
// passes all of the network's layers, on loopback down to the receiver's queue;
// a received datagram need only be copied.
const fewDatagrams = 8

// several is recvmmsg or sendmmsg, repeated while it is interrupted. It returns
// how many datagrams it moved, and how many it asked for. With long the call
// goes through the Go scheduler.
func several(op Op, call uintptr, fd int, headers []mmsghdr, flags int, long bool) (n, most int,
	failed syscall.Errno) {
	first := unsafe.Pointer(&headers[0])
	for most = len(headers); ; {
		r, errno := uintptr(0), syscall.Errno(0)
		if injector.Load() != nil {
			most, errno = injectedIf(long, op, fd, most)
		}
		switch {
		case errno != 0:
		case long:
			r, _, errno = syscall.Syscall6(call, uintptr(fd), uintptr(first), uintptr(most),
				uintptr(flags), 0, 0)
		default:
			r, _, errno = syscall.RawSyscall6(call, uintptr(fd), uintptr(first), uintptr(most),
				uintptr(flags), 0, 0)
		}
		if errno != unix.EINTR {
			return moved(r, errno), most, errno
		}
	}
}

func (b *Batch) raceReceived(fd, n int) {
	raceReceived(fd)
	for i := range n {
		h := &b.headers[i]
		goruntime.RaceWriteRange(pointed(b.vectors[i].Base), int(h.moved))
		goruntime.RaceWriteRange(pointed(h.Control), int(h.Controllen))
	}
}

func (b *Batch) raceSent(first int) {
	for i := first; i < len(b.headers); i++ {
		h := &b.headers[i]
		goruntime.RaceReadRange(pointed(b.vectors[i].Base), int(b.vectors[i].Len))
		goruntime.RaceReadRange(pointed(h.Control), int(h.Controllen))
	}
	raceSending()
}

// pointed returns p, or the address of empty.
func pointed(p *byte) unsafe.Pointer {
	if p == nil {
		return unsafe.Pointer(&empty)
	}
	return unsafe.Pointer(p)
}
