package socket

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/processor"
)

// Message is one datagram of a batch, to be sent or with room for one to be
// received.
//
// It is as the Message of golang.org/x/net/ipv4, with three differences: one
// buffer, where that one has a list (of one, nearly always) that is a second
// slice to keep; an address that is a value, where that one allocates a
// *net.UDPAddr for each datagram; and a segment size.
type Message struct {
	Buf []byte // payload, or room for it: a received one is Buf[:N]
	OOB []byte // control messages, or room for them: those received are OOB[:NN]

	// Addr is the sender, as of [UDPConn.ReadFromUDPAddrPort], or the receiver;
	// the zero AddrPort on a connected socket.
	Addr netip.AddrPort

	N     int // bytes of payload received or sent
	NN    int // bytes of control messages received or sent
	Flags int // received: recvmsg's flags, as of [UDPConn.ReadMsgUDP]

	// SegmentSize, if it is not 0, says that Buf holds several datagrams one
	// after another, of so many bytes each; the last may be shorter. When
	// sending, the kernel or the network card cuts it up (UDP_SEGMENT): at most
	// 64 datagrams and 65,507 bytes in all. After a receive it is the size of
	// the datagrams that [UDPConn.SetGRO] has joined.
	SegmentSize int
}

// What one system call moves at most, so that its coroutine does not keep the
// Processor from the others for long.
const (
	batchMessages = 32
	batchBytes    = 256 << 10
)

// ReadBatch takes datagrams that are there, at most len(ms) and at most 32, and
// waits for the first if there is none. Of each it sets N, NN, Flags, Addr and
// SegmentSize, and returns how many they are; what does not fit into a Buf is
// dropped, with unix.MSG_TRUNC in Flags. With an empty ms it takes none and
// does not wait. An error comes alone: what came before it has been returned,
// what comes after it is still there. Parks. It does not allocate, but for
// memory that the socket keeps: some 110 bytes for each Message of the longest
// batch, up to 32.
func (c *UDPConn) ReadBatch(ms []Message) (n int, err error) {
	if !c.s.mu.lock(reading) {
		return 0, c.opError("read", net.ErrClosed)
	}
	if len(ms) > 0 {
		n, err = c.readBatchLocked(ms)
	}
	if c.s.mu.unlock(reading) {
		c.s.destroy()
	}
	return n, c.opError("read", err)
}

// readBatchLocked is readWithLocked that knows the socket to be empty after
// less than it asked for.
func (c *UDPConn) readBatchLocked(ms []Message) (int, error) {
	s := &c.s
	if v := s.check(processor.Read); v != processor.Ready {
		return 0, verdictError(v)
	}
	for {
		if s.queue == maybe || s.pd.Edge(processor.Read) {
			s.pd.Clear(processor.Read)
			gro := c.gro.Load()
			c.offerRoom(ms, gro)
			n, short, errno := c.in.Recv(s.fd)
			s.queue = recvQueueAfter(short && !s.pd.ReadOn(), errno)
			bytes := c.takeBatch(ms[:n], gro) // 0 after an error
			processor.CountRead(bytes, errno)
			if errno == 0 {
				s.spendRead(weight(n, bytes))
			}
			c.in.Forget()
			if errno == 0 {
				return n, nil
			}
			if errno != unix.EAGAIN {
				return 0, os.NewSyscallError("recvmmsg", errno)
			}
		}
		if err := s.awaitReadableLocked(); err != nil {
			s.queue = maybe // no edge will be reported if the fd could not be registered
			return 0, err
		}
	}
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

// takeBatch fills in what was received and returns how many bytes that is.
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

// weight is what a batch counts for when others are to get their turn, in
// bytes: several small datagrams are one large one.
func weight(messages, bytes int) int { return bytes + messages*budgetBytes/4 }

// WriteBatch sends all of ms, in order, waiting for room if need be. Of each
// one sent it sets N and NN. With an error, n is how many were sent; ms[n] is
// the one that the error is of, and may be tried again. A closed port that an
// earlier datagram of the same batch ran into need not show. Parks. It does not
// allocate, but for memory that the socket keeps, as for ReadBatch.
func (c *UDPConn) WriteBatch(ms []Message) (n int, err error) {
	if !c.s.mu.lock(writing) {
		err = net.ErrClosed
	} else {
		if len(ms) > 0 {
			n, err = c.writeBatchLocked(ms)
			c.out.Forget()
		}
		if c.s.mu.unlock(writing) {
			c.s.destroy()
		}
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

func (c *UDPConn) writeBatchLocked(ms []Message) (n int, err error) {
	s := &c.s
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, verdictError(v)
	}
	for n < len(ms) {
		some, err := c.describeBatch(ms[n:])
		if err != nil {
			return n, err
		}
		for first := 0; first < some; {
			sent, errno := c.out.Send(s.fd, first)
			bytes := c.sentBatch(ms[n:n+sent], first) // 0 after an error
			processor.CountWrite(bytes, errno)
			if errno == 0 {
				s.spendWrite(weight(sent, bytes))
				first, n = first+sent, n+sent
				continue
			}
			if errno != unix.EAGAIN {
				return n, os.NewSyscallError("sendmmsg", errno)
			}
			if err := s.awaitWritableLocked(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// describeBatch describes to the kernel as many of ms as one call may send. An
// error is that of the first; another that cannot be sent ends the batch before
// it.
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

// mayDescribe checks what net checks before it makes a call, and stores the
// address.
func (c *UDPConn) mayDescribe(m *Message, i int) error {
	if m.SegmentSize != 0 {
		if err := c.maySegment(m); err != nil {
			return err
		}
	}
	switch {
	case c.connected && m.Addr.IsValid():
		return net.ErrWriteToConnected
	case c.connected:
		return nil
	case !m.Addr.IsValid():
		return errMissingAddress
	}
	return c.rawFromAddrPort(c.out.Addr(i), m.Addr)
}

// sentBatch fills in what was sent, of which the first was number first of its
// call, and returns how many bytes that is.
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
