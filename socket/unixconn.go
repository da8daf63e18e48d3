package socket

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// UnixConn is a connection over a Unix socket, a net.Conn, or a socket for Unix
// datagrams, a net.PacketConn. Its network is unix (a stream), unixpacket
// (packets in order, with an end) or unixgram (packets). A packet is never
// split or joined with another; one that is larger than the buffer of its
// reader loses the rest, and one that is larger than the kernel takes is
// refused with EMSGSIZE.
//
// Methods that net.UnixConn has too do what they do there, with these
// differences. WriteTo and WriteToUnix to a unixgram socket whose queue is full
// wait for room as the others do, but the kernel reports no room if others fill
// that queue too; so they try again, after a millisecond at first and up to
// every 100 ms. And what ReadMsgUnix or WriteMsgUnix cannot do at once they do
// not do by blocking the thread, whatever mode the fd is in. Errors are
// *net.OpError with net's contents, except io.EOF.
type UnixConn struct {
	conn
	connected bool // constant: it was dialled, so that a write names no address
	names     addrs
}

var (
	_ net.Conn       = (*UnixConn)(nil)
	_ net.PacketConn = (*UnixConn)(nil)
	_ syscall.Conn   = (*UnixConn)(nil)
)

// newUnixConn makes a UnixConn of an fd, which it owns from then on. An address
// may be nil.
func newUnixConn(fd int, n network, local, remote *net.UnixAddr) *UnixConn {
	c := newKeptUnixConn(fd, n, local, remote)
	c.s.closeWhenLost()
	return c
}

// newKeptUnixConn is newUnixConn for a Server, see socket.initKept.
func newKeptUnixConn(fd int, n network, local, remote *net.UnixAddr) *UnixConn {
	c := new(UnixConn)
	c.initKept(fd, n)
	c.names = unixAddrs(local, remote)
	c.known.Store(&c.names)
	return c
}

// CloseRead ends the receiving side.
func (c *UnixConn) CloseRead() error { return c.closeRead() }

// CloseWrite ends the sending side; the peer reads io.EOF after what was sent.
func (c *UnixConn) CloseWrite() error { return c.closeWrite() }

// ReadFrom reads as Read does, a packet into an empty p too, and returns the
// sender's address, a *net.UnixAddr; nil if it has no name. The end of a stream
// is reported as package net of the running Go release does: as io.EOF since Go
// 1.27, before that as a *net.OpError that wraps io.EOF. Parks.
func (c *UnixConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUnix(p)
	return n, unixAddr(from), err
}

// ReadFromUnix is ReadFrom with the address's own type.
func (c *UnixConn) ReadFromUnix(p []byte) (int, *net.UnixAddr, error) {
	n, _, _, from, err := c.receive("recvfrom", p, nil)
	return n, from, c.receiveError(err)
}

// ReadMsgUnix reads as ReadFromUnix does, and into oob what came beside it: fds
// and credentials, which functions of package syscall parse
// (ParseSocketControlMessage, ParseUnixRights). Fds are closed on exec. flags
// are recvmsg's: MSG_TRUNC and MSG_CTRUNC mean that something did not fit. With
// an empty p it takes one byte of a stream and drops it. Parks.
func (c *UnixConn) ReadMsgUnix(p, oob []byte) (n, oobn, flags int, addr *net.UnixAddr, err error) {
	n, oobn, flags, addr, err = c.receive("recvmsg", p, oob)
	return n, oobn, flags, addr, c.receiveError(err)
}

// receiveError wraps err as net's ReadFrom, ReadFromUnix and ReadMsgUnix do.
func (c *UnixConn) receiveError(err error) error {
	if goruntime.BareUnixEOF && err == io.EOF {
		return err
	}
	return c.opError("read", err)
}

// receive reads one message.
func (c *UnixConn) receive(call string, p, oob []byte) (n, oobn, flags int, addr *net.UnixAddr,
	err error) {
	var from sysx.UnixName
	err = c.s.readWith(call, func(fd int) (int, syscall.Errno) {
		if len(p) > 0 && c.s.unread != nil {
			n = c.s.takeUnread(p)
			return n, 0
		}
		var errno syscall.Errno
		n, oobn, flags, errno = sysx.TryRecvMsg(fd, p, oob, &from)
		processor.CountRead(min(n, len(p)), errno)
		if n == 0 && oobn == 0 && errno == 0 && c.s.spuriousEOF() {
			n, oobn, flags, errno = sysx.TryRecvMsg(fd, p, oob, &from)
			processor.CountRead(min(n, len(p)), errno)
		}
		return n, errno
	})
	if err != nil {
		return 0, 0, 0, nil, err
	}
	if name := from.Name(); name != "" {
		addr = &net.UnixAddr{Name: name, Net: c.network.String()}
	}
	if n == 0 && c.s.kind != packets {
		err = io.EOF
	}
	return n, oobn, flags, addr, err
}

// WriteTo sends a packet to addr, a *net.UnixAddr of the socket's own network.
// On a socket that was dialled it returns net.ErrWriteToConnected. Parks.
func (c *UnixConn) WriteTo(p []byte, addr net.Addr) (int, error) {
	to, ok := addr.(*net.UnixAddr)
	if !ok {
		return 0, c.sendError(addr, syscall.EINVAL)
	}
	return c.WriteToUnix(p, to)
}

// WriteToUnix is WriteTo with the address's own type.
func (c *UnixConn) WriteToUnix(p []byte, addr *net.UnixAddr) (int, error) {
	switch {
	case c.connected:
		return 0, c.sendError(unixAddr(addr), net.ErrWriteToConnected)
	case addr == nil:
		return 0, c.sendError(nil, errMissingAddress)
	}
	n, err := c.send("sendto", p, nil, addr)
	return n, c.sendError(addr, err)
}

// WriteMsgUnix sends p, and beside it oob: fds or credentials, see
// syscall.UnixRights. A nil addr means the peer. It returns how many bytes of
// each went; of a stream that may be fewer than all of p. With an empty p and
// an oob a stream carries one byte. Parks.
func (c *UnixConn) WriteMsgUnix(p, oob []byte, addr *net.UnixAddr) (n, oobn int, err error) {
	if c.network == unixgram && c.connected {
		return 0, 0, c.sendError(unixAddr(addr), net.ErrWriteToConnected)
	}
	n, err = c.send("sendmsg", p, oob, addr)
	if err != nil {
		return n, 0, c.sendError(unixAddr(addr), err)
	}
	return n, len(oob), nil
}

// sendError wraps err as net does: with the address that the caller named.
func (c *UnixConn) sendError(to net.Addr, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: "write", Net: c.network.String(), Source: c.LocalAddr(), Addr: to,
		Err: err}
}

// send sends one message.
func (c *UnixConn) send(call string, p, oob []byte, to *net.UnixAddr) (int, error) {
	if to != nil && to.Net != c.network.String() {
		return 0, syscall.EAFNOSUPPORT
	}
	s := &c.s
	if !s.mu.lock(writing) {
		return 0, net.ErrClosed
	}
	n, err := s.sendLocked(call, p, oob, to)
	if s.mu.unlock(writing) {
		s.destroy()
	}
	return n, err
}

// While a named address has no room for a packet, sending tries again after
// minBackoff, doubled each time up to maxBackoff.
const (
	minBackoff = time.Millisecond
	maxBackoff = 100 * time.Millisecond
)

// sendLocked is writeWithLocked for a message. Room at an address that is not
// the peer's makes no edge.
func (s *socket) sendLocked(call string, p, oob []byte, addr *net.UnixAddr) (int, error) {
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, verdictError(v)
	}
	var to sysx.UnixName
	if addr != nil {
		if errno := to.Set(addr.Name); errno != 0 {
			return 0, os.NewSyscallError(call, errno)
		}
	}
	for pause := int64(minBackoff); ; pause = min(2*pause, int64(maxBackoff)) {
		n, errno := sysx.TrySendMsg(s.fd, p, oob, &to)
		processor.CountWrite(n, errno)
		switch {
		case errno == 0:
			s.spendWrite(n)
			return n, nil
		case errno != unix.EAGAIN:
			return 0, os.NewSyscallError(call, errno)
		}
		var err error
		if addr == nil {
			err = s.awaitWritableLocked()
		} else {
			err = s.awaitRoomLocked(clock.Real() + pause)
		}
		if err != nil {
			return 0, err
		}
	}
}

// awaitRoomLocked waits after a packet to a named address has found a full
// queue there: for an edge, which comes when one of the socket's own packets is
// read, or until a time to try again.
//
// An edge at once is worth nothing. The kernel makes it when it frees the
// packet that it refused, in each epoll that has the socket: taken for room, it
// would have the next attempt make another, and so on without end.
func (s *socket) awaitRoomLocked(until int64) error {
	for early := clock.Real() + int64(minBackoff); ; {
		s.pd.Clear(processor.Write)
		s.writeBudget = 0
		if v, err := s.pd.Wait(s.fd, processor.Write, coroutine.ReasonWrite,
			until); v != processor.Ready || err != nil {
			return waitError(v, err)
		}
		if clock.Real() >= early {
			return nil
		}
	}
}
