package socket

import (
	"net/netip"
	"syscall"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/processor"
)

// Message is one datagram of a batch, to be sent or received.
//
// It is like the Message of golang.org/x/net/ipv4, with three differences: one
// buffer instead of a list of buffers, which nearly always has one; an address
// that is a value instead of a *net.UDPAddr allocated for each datagram; and a
// segment size.
type Message struct {
	Buf []byte // payload, or room for it: a received payload is Buf[:N]
	OOB []byte // control messages, or room: received ones are OOB[:NN]

	// Addr is the sender, as [UDPConn.ReadFromUDPAddrPort] returns it, or the
	// receiver; the zero AddrPort on a connected socket.
	Addr netip.AddrPort

	N     int // bytes of payload received or sent
	NN    int // bytes of control messages received or sent
	Flags int // received: recvmsg's flags, as of [UDPConn.ReadMsgUDP]

	// SegmentSize, if it is not 0, says that Buf holds several datagrams one
	// after another, of that many bytes each; the last may be shorter. When
	// sending, the kernel or the network card splits Buf (UDP_SEGMENT): at most
	// 64 datagrams and 65,507 bytes in all. After a receive it is the size of
	// the datagrams that [UDPConn.SetGRO] has joined.
	SegmentSize int
}

// Limits of one system call, so that its coroutine does not keep the Processor
// from the others for long.
const (
	batchMessages = 32
	batchBytes    = 256 << 10
)

// ReadBatch receives available datagrams, at most len(ms) and at most 32, and
// waits for the first if there is none. It sets N, NN, Flags, Addr and
// SegmentSize of each, and returns their number; bytes that do not fit into a
// Buf are dropped, with unix.MSG_TRUNC in Flags. With an empty ms it receives
// nothing and does not wait. An error comes alone: datagrams before it have
// been returned, datagrams after it are still there. Parks. It does not
// allocate, but for memory that the socket keeps: some 110 bytes for each
// Message of the longest batch, up to 32.
func (c *UDPConn) ReadBatch(ms []Message) (n int, err error) {
	if len(ms) == 0 {
		return 0, c.opError("read", c.s.Control(func(int) error { return nil }))
	}
	err = c.s.ReadWith("recvmmsg", func(fd int) (int, bool, syscall.Errno) {
		gro := c.gro.Load()
		c.offerRoom(ms, gro)
		got, short, errno := c.in.Recv(fd)
		bytes := c.takeBatch(ms[:got], gro) // 0 after an error
		processor.CountRead(bytes, errno)
		c.in.Forget()
		n = got
		return weight(got, bytes), short, errno
	})
	return n, c.opError("read", err)
}

// offerRoom describes to the kernel as many of ms as one call may fill.
func (c *UDPConn) offerRoom(ms []Message, gro bool) {
	n, bytes, control := 0, 0, 0
	for n < len(ms) && n < batchMessages {
		m := &ms[n]
		if bytes += min(len(m.Buf), maxDatagram); bytes > batchBytes && n > 0 {
			break
		}
		if gro {
			control += alignControl(len(m.OOB)) + groSpace
		}
		n++
	}
	room := c.in.Reset(n, control)
	for i := range n {
		m := &ms[i]
		oob := m.OOB
		if gro {
			oob = room[:len(m.OOB)+groSpace]
			room = room[alignControl(len(m.OOB))+groSpace:]
		}
		c.in.Set(i, m.Buf, oob, true)
	}
}

// takeBatch fills in the received messages and returns their bytes.
func (c *UDPConn) takeBatch(ms []Message, gro bool) int {
	bytes := 0
	for i := range ms {
		m := &ms[i]
		m.N, m.NN, m.Flags = c.in.Result(i)
		m.SegmentSize = 0
		m.Addr = addrPort(c.in.Addr(i))
		if gro {
			c.takeControl(m, i)
		}
		bytes += m.N
	}
	return bytes
}

// weight is a batch's share of the budget for one turn, in bytes: several small
// datagrams count as one large datagram.
func weight(messages, bytes int) int { return bytes + messages*fd.BudgetBytes/4 }

// WriteBatch sends all of ms, in order, waiting for room if need be. It sets N
// and NN of each message sent. With an error, n is how many were sent; the
// error is that of ms[n], which may be tried again. A closed port that an
// earlier datagram of the same batch reached may go unreported. Parks. It does
// not allocate, but for memory that the socket keeps, as for ReadBatch.
func (c *UDPConn) WriteBatch(ms []Message) (n int, err error) {
	if len(ms) == 0 {
		err = c.s.Control(func(int) error { return nil })
	} else {
		n, err = c.writeBatch(ms)
	}
	if err == nil {
		return n, nil
	}
	to := c.RemoteAddr()
	if n < len(ms) && !c.connected {
		to = addrPortUDPAddr{ms[n].Addr}
	}
	return n, c.sendError(to, err)
}

// writeBatch sends ms, which is not empty.
func (c *UDPConn) writeBatch(ms []Message) (n int, err error) {
	var first, some int // of the some described messages, first is the next
	var refused error
	err = c.s.WriteWith("sendmmsg", func(fd int) (int, bool, syscall.Errno) {
		if first == some {
			if some, refused = c.describeBatch(ms[n:]); refused != nil {
				c.out.Forget()
				return 0, false, 0
			}
			first = 0
		}
		sent, errno := c.out.Send(fd, first)
		bytes := c.sentBatch(ms[n:n+sent], first) // 0 after an error
		processor.CountWrite(bytes, errno)
		if first, n = first+sent, n+sent; first == some || errno != 0 {
			c.out.Forget()
			first, some = 0, 0 // the rest is described again
		}
		return weight(sent, bytes), n < len(ms), errno
	})
	if refused != nil {
		err = refused
	}
	return n, err
}

// describeBatch describes to the kernel as many of ms as one call may send. An
// error is that of the first message; a later message that cannot be sent ends
// the batch before it.
func (c *UDPConn) describeBatch(ms []Message) (n int, err error) {
	bytes, control := 0, 0
	for n < len(ms) && n < batchMessages {
		m := &ms[n]
		if bytes += len(m.Buf); bytes > batchBytes && n > 0 {
			break
		}
		control += segmentControl(m)
		n++
	}
	room := c.out.Reset(n, control)
	for i := range n {
		m := &ms[i]
		if err := c.mayDescribe(m, i); err != nil {
			if i == 0 {
				return 0, err
			}
			c.out.Reset(i, 0)
			return i, nil
		}
		oob := m.OOB
		if size := segmentControl(m); size > 0 {
			oob = putSegmentSize(room[:size], m)
			room = room[size:]
		}
		c.out.Set(i, m.Buf, oob, !c.connected)
	}
	return n, nil
}

// mayDescribe makes the checks that net makes before the system call, and
// stores the address.
func (c *UDPConn) mayDescribe(m *Message, i int) error {
	if m.SegmentSize != 0 {
		if err := maySegment(m); err != nil {
			return err
		}
	}
	if to, err := c.destination(m.Addr.IsValid()); to == nil {
		return err
	}
	return c.rawFromAddrPort(c.out.Addr(i), m.Addr)
}

// sentBatch fills in the sent messages, of which the first was number first of
// its call, and returns their bytes.
func (c *UDPConn) sentBatch(ms []Message, first int) int {
	bytes := 0
	for i := range ms {
		m := &ms[i]
		m.N, _, _ = c.out.Result(first + i)
		m.NN = len(m.OOB)
		bytes += m.N
	}
	return bytes
}
