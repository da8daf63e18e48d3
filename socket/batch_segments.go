package socket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// Several datagrams travel through the kernel as one: GSO cuts them apart as
// late as possible when sending, GRO joins them as early as possible when
// receiving. A control message holds their size; this file writes and reads it,
// and Message.OOB does not show it.

// maxDatagram is more than the largest datagram.
const maxDatagram = 64 << 10

var (
	segmentSpace = unix.CmsgSpace(2) // of UDP_SEGMENT: a uint16
	groSpace     = unix.CmsgSpace(4) // of UDP_GRO: an int
)

var (
	errNoGSO = fmt.Errorf("this kernel cannot send a datagram in segments (UDP_SEGMENT, Linux "+
		"4.18): %w", errors.ErrUnsupported)
	errNoGRO = fmt.Errorf("this kernel cannot join datagrams (UDP_GRO, Linux 5.0): %w",
		errors.ErrUnsupported)
)

// SetGRO sets whether the kernel joins datagrams of one peer that come close
// together into a large one; by default it does not. If it does, every Buf
// should have room for 64 KiB, and only ReadBatch reports where each datagram
// ends, by SegmentSize; other reads return them joined. On a kernel before
// Linux 5.0 the error is errors.ErrUnsupported.
func (c *UDPConn) SetGRO(join bool) error {
	if join {
		// Set before joined datagrams can come, and for good: some may be on
		// their way when GRO is turned off.
		c.gro.Store(true)
	}
	err := c.s.SetInt(unix.IPPROTO_UDP, unix.UDP_GRO, boolInt(join))
	if errors.Is(err, unix.ENOPROTOOPT) {
		err = errNoGRO
	}
	return c.setError("set", err)
}

// gsoMissing reports whether the kernel does not know UDP_SEGMENT. Such a
// kernel ignores the control message, and sends one datagram instead of many.
var gsoMissing = sync.OnceValue(func() bool {
	fd, err := sysx.NewSocket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return false
	}
	defer sysx.CloseFD(fd)
	_, err = unix.GetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT)
	return err == unix.ENOPROTOOPT
})

// maySegment checks that the kernel will understand the segment size of m.
func maySegment(m *Message) error {
	if m.SegmentSize < 0 || m.SegmentSize > 0xffff {
		return os.NewSyscallError("sendmmsg", unix.EINVAL)
	}
	if gsoMissing() {
		return errNoGSO
	}
	return nil
}

// segmentControl is the room that the control messages of m take together with
// UDP_SEGMENT's; 0 if m needs none, as a single datagram does.
func segmentControl(m *Message) int {
	if m.SegmentSize <= 0 || m.SegmentSize >= len(m.Buf) {
		return 0
	}
	return alignControl(len(m.OOB)) + segmentSpace
}

// putSegmentSize writes the control messages of m and UDP_SEGMENT's into room.
func putSegmentSize(room []byte, m *Message) []byte {
	at := alignControl(len(m.OOB))
	clear(room[copy(room, m.OOB):])
	putControl(room[at:], unix.IPPROTO_UDP, unix.UDP_SEGMENT, 2)
	binary.NativeEndian.PutUint16(room[at+unix.SizeofCmsghdr:], uint16(m.SegmentSize))
	return room
}

// takeControl moves the control messages of received datagram i to m, except
// the segment size.
func (c *UDPConn) takeControl(m *Message, i int) {
	control := c.in.Control(i)
	m.NN = 0
	for len(control) >= unix.SizeofCmsghdr {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return
		}
		switch one := control[:len(control)-len(rest)]; {
		case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			m.SegmentSize = int(binary.NativeEndian.Uint32(data))
		case m.NN+int(h.Len) <= len(m.OOB):
			m.NN += copy(m.OOB[m.NN:], one)
		default:
			m.Flags |= unix.MSG_CTRUNC
		}
		control = rest
	}
}

// A control message is struct cmsghdr: the length of all of it as a size_t,
// level and kind as ints, then its data; the next begins where the alignment of
// a size_t allows.

func alignControl(n int) int { return unix.CmsgSpace(n) - unix.CmsgSpace(0) }

func putControl(p []byte, level, kind, data int) {
	size := unix.CmsgLen(data)
	if unix.SizeofPtr == 8 {
		binary.NativeEndian.PutUint64(p, uint64(size))
	} else {
		binary.NativeEndian.PutUint32(p, uint32(size))
	}
	binary.NativeEndian.PutUint32(p[unix.SizeofPtr:], uint32(level))
	binary.NativeEndian.PutUint32(p[unix.SizeofPtr+4:], uint32(kind))
}
