package socket

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sysx"
)

// UnixConn is a connection over a Unix socket, a net.Conn, or a socket for Unix
// datagrams, a net.PacketConn. Its network is unix (a stream), unixpacket
// (packets in order, with an end) or unixgram (packets). A packet is never
// split or joined with another. Bytes that do not fit in the reader's buffer
// are lost; a packet that is too large for the kernel is refused with EMSGSIZE.
//
// Methods that net.UnixConn has too do the same, with these differences.
// WriteTo and WriteToUnix to a unixgram socket whose queue is full wait for
// room like other writes, but the kernel reports no room if other senders fill
// that queue too; so they try again, after a millisecond at first and up to
// every 100 ms. ReadMsgUnix and WriteMsgUnix never block the thread, whatever
// mode the fd is in. Errors are *net.OpError with net's contents, except
// io.EOF.
type UnixConn struct {
	conn
	connected bool // constant: dialled, so that a write names no address
	names     addrs
}

var (
	_ net.Conn       = (*UnixConn)(nil)
	_ net.PacketConn = (*UnixConn)(nil)
	_ syscall.Conn   = (*UnixConn)(nil)
)

// newKeptUnixConn makes a UnixConn of an fd, which it owns from then on, see
// conn.initKept. An address may be nil.
func newKeptUnixConn(fd int, n network, local, remote *net.UnixAddr) *UnixConn {
	c := new(UnixConn)
	c.initKept(fd, n)
	c.names = addrs{addrOf(local), addrOf(remote)}
	c.known.Store(&c.names)
	return c
}

// CloseRead ends the receiving side.
func (c *UnixConn) CloseRead() error { return c.shutdown(unix.SHUT_RD) }

// CloseWrite ends the sending side; the peer reads io.EOF after the sent bytes.
func (c *UnixConn) CloseWrite() error { return c.shutdown(unix.SHUT_WR) }

// ReadFrom reads as Read does, a packet into an empty p too, and returns the
// sender's address, a *net.UnixAddr; nil if it has no name. The end of a stream
// is reported as package net of the running Go release does: as io.EOF since Go
// 1.27, before that as a *net.OpError that wraps io.EOF. Parks.
func (c *UnixConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.ReadFromUnix(p)
	return n, addrOf(from), err
}

// ReadFromUnix is ReadFrom with the address's own type.
func (c *UnixConn) ReadFromUnix(p []byte) (int, *net.UnixAddr, error) {
	n, _, _, from, err := c.receive("recvfrom", p, nil)
	return n, from, c.receiveError(err)
}

// ReadMsgUnix reads as ReadFromUnix does, and control messages into oob: fds
// and credentials, which functions of package syscall parse
// (ParseSocketControlMessage, ParseUnixRights). Fds are closed on exec. flags
// are recvmsg's: MSG_TRUNC and MSG_CTRUNC mean that p or oob was too small.
// With an empty p it takes one byte of a stream and drops it. Parks.
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
	n, oobn, flags, err = c.s.RecvMsg(call, p, oob, &from)
	if err != nil {
		return 0, 0, 0, nil, err
	}
	if name := from.Name(); name != "" {
		addr = &net.UnixAddr{Name: name, Net: c.network.String()}
	}
	if n == 0 && c.s.Kind() != fd.Packets {
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
		return 0, c.sendError(addrOf(addr), net.ErrWriteToConnected)
	case addr == nil:
		return 0, c.sendError(nil, errMissingAddress)
	}
	n, err := c.send("sendto", p, nil, addr)
	return n, c.sendError(addr, err)
}

// WriteMsgUnix sends p with control messages oob: fds or credentials, see
// syscall.UnixRights. A nil addr means the peer. It returns how many bytes of
// each were sent; on a stream that may be fewer than all of p. With an empty p
// and an oob a stream carries one byte. Parks.
func (c *UnixConn) WriteMsgUnix(p, oob []byte, addr *net.UnixAddr) (n, oobn int, err error) {
	if c.network == unixgram && c.connected {
		return 0, 0, c.sendError(addrOf(addr), net.ErrWriteToConnected)
	}
	n, err = c.send("sendmsg", p, oob, addr)
	if err != nil {
		return n, 0, c.sendError(addrOf(addr), err)
	}
	return n, len(oob), nil
}

// send sends one message.
func (c *UnixConn) send(call string, p, oob []byte, to *net.UnixAddr) (int, error) {
	if to != nil && to.Net != c.network.String() {
		return 0, syscall.EAFNOSUPPORT
	}
	if to == nil {
		return c.s.SendMsg(call, p, oob, nil)
	}
	return c.s.SendMsg(call, p, oob, &to.Name)
}

// localName is the name that a socket is bound to; nil if the kernel has
// none.
func localName(fd int, n network) *net.UnixAddr {
	var a sysx.UnixName
	if a.LocalName(fd) != 0 {
		return nil
	}
	return &net.UnixAddr{Name: a.Name(), Net: n.String()}
}

// peerName is the name of a socket's peer; nil if there is none.
func peerName(fd int, n network) *net.UnixAddr {
	var a sysx.UnixName
	if a.PeerName(fd) != 0 {
		return nil
	}
	return &net.UnixAddr{Name: a.Name(), Net: n.String()}
}
