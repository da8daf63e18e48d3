package socket

import (
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// UDPConn is a UDP socket, a net.Conn and a net.PacketConn: with a peer if
// a Dialer made it, without one if a ListenConfig did. Its
// methods are those of net.UDPConn, with the same errors, and besides
// [UDPConn.ReadBatch] and [UDPConn.WriteBatch] for many datagrams in one system
// call.
//
// A read takes one datagram, which may be empty, and drops bytes that do not
// fit. A write sends one datagram, which may be empty, as a whole or not at
// all.
type UDPConn struct {
	conn
	is6       bool // an IPv6 socket, which may carry IPv4 too; constant
	connected bool // constant

	gro     atomic.Bool // datagrams may arrive joined, see SetGRO
	in, out sysx.Batch  // under s.mu's read lock and write lock
}

var (
	_ net.Conn       = (*UDPConn)(nil)
	_ net.PacketConn = (*UDPConn)(nil)
)

// newUDPConn makes a UDPConn of a bound or connected fd, which it owns from
// then on.
func newUDPConn(fd int, n network, connected bool) *UDPConn {
	c := &UDPConn{connected: connected}
	c.init(fd, n)
	c.local.LocalAddr(fd)
	c.is6 = c.local.Is6()
	c.remote.RemoteAddr(fd) // if it has a peer
	return c
}

// Read takes one datagram and drops bytes that do not fit into p. With an empty
// p it takes none and does not wait, as net's. Parks. It does not allocate.
func (c *UDPConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, c.opError("read", c.s.Control(func(int) error { return nil }))
	}
	return c.conn.Read(p)
}

// ReadFrom takes one datagram and returns its sender, a *net.UDPAddr. It
// allocates that, once; [UDPConn.ReadFromUDPAddrPort] allocates nothing. Parks.
func (c *UDPConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, addr, err := c.ReadFromUDP(p)
	return n, addrOf(addr), err
}

// ReadFromUDP is ReadFrom with the address' own type.
func (c *UDPConn) ReadFromUDP(p []byte) (n int, addr *net.UDPAddr, err error) {
	var from sysx.RawAddr
	if n, err = c.readFrom(p, &from); err != nil {
		return 0, nil, err
	}
	return n, newUDPAddr(&from), nil
}

// ReadFromUDPAddrPort is ReadFrom that does not allocate. On a socket for both
// families the address of an IPv4 peer is mapped into IPv6, as net's;
// [netip.Addr.Unmap] undoes that.
func (c *UDPConn) ReadFromUDPAddrPort(p []byte) (n int, addr netip.AddrPort, err error) {
	var from sysx.RawAddr
	if n, err = c.readFrom(p, &from); err != nil {
		return 0, netip.AddrPort{}, err
	}
	return n, addrPort(&from), nil
}

func (c *UDPConn) readFrom(p []byte, from *sysx.RawAddr) (n int, err error) {
	err = c.s.ReadWith("recvfrom", func(fd int) (int, bool, syscall.Errno) {
		var errno syscall.Errno
		n, errno = sysx.TryRecvPacket(fd, p, from)
		processor.CountRead(n, errno)
		return n, false, errno
	})
	return n, c.opError("read", err)
}

// WriteTo sends p as one datagram to a *net.UDPAddr. On a connected socket the
// error is net.ErrWriteToConnected. Parks. It does not allocate.
func (c *UDPConn) WriteTo(p []byte, addr net.Addr) (int, error) {
	to, ok := addr.(*net.UDPAddr)
	if !ok {
		return 0, c.sendError(addr, syscall.EINVAL)
	}
	return c.WriteToUDP(p, to)
}

// WriteToUDP is WriteTo with the address' own type.
func (c *UDPConn) WriteToUDP(p []byte, addr *net.UDPAddr) (int, error) {
	to, err := c.destination(addr != nil || c.connected)
	if err == nil {
		err = c.rawFromUDP(to, addr)
	}
	if err == nil {
		err = c.writeTo(p, to, goodPort(addr))
	}
	if err != nil {
		return 0, c.sendError(addrOf(addr), err)
	}
	return len(p), nil
}

// WriteToUDPAddrPort is WriteTo for an address of package netip.
func (c *UDPConn) WriteToUDPAddrPort(p []byte, addr netip.AddrPort) (int, error) {
	to, err := c.destination(addr.IsValid() || c.connected)
	if err == nil {
		err = c.rawFromAddrPort(to, addr)
	}
	if err == nil {
		err = c.writeTo(p, to, true)
	}
	if err != nil {
		return 0, c.sendError(addrPortUDPAddr{addr}, err)
	}
	return len(p), nil
}

func (c *UDPConn) writeTo(p []byte, to *sysx.RawAddr, goodPort bool) error {
	return c.s.WriteWith("sendto", func(fd int) (int, bool, syscall.Errno) {
		if !goodPort {
			return 0, false, syscall.EINVAL
		}
		n, errno := sysx.TrySendPacket(fd, p, to)
		processor.CountWrite(n, errno)
		return n, false, errno
	})
}

// ReadMsgUDP takes one datagram into p and its control messages into oob, and
// returns its sender. flags are recvmsg's: with unix.MSG_TRUNC the datagram did
// not fit, with unix.MSG_CTRUNC the control messages. It allocates the address,
// once; [UDPConn.ReadMsgUDPAddrPort] allocates nothing. Parks.
func (c *UDPConn) ReadMsgUDP(p, oob []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	var from sysx.RawAddr
	if n, oobn, flags, err = c.readMsg(p, oob, &from); err == nil {
		addr = newUDPAddr(&from)
	}
	return n, oobn, flags, addr, err
}

// ReadMsgUDPAddrPort is ReadMsgUDP that does not allocate. The address has the
// form of [UDPConn.ReadFromUDPAddrPort]'s.
func (c *UDPConn) ReadMsgUDPAddrPort(p, oob []byte) (n, oobn, flags int, addr netip.AddrPort,
	err error) {
	var from sysx.RawAddr
	if n, oobn, flags, err = c.readMsg(p, oob, &from); err == nil {
		addr = addrPort(&from)
	}
	return n, oobn, flags, addr, err
}

func (c *UDPConn) readMsg(p, oob []byte, from *sysx.RawAddr) (n, oobn, flags int, err error) {
	err = c.s.ReadWith("recvmsg", func(fd int) (int, bool, syscall.Errno) {
		var errno syscall.Errno
		n, oobn, flags, errno = sysx.TryRecvDatagram(fd, p, oob, from)
		processor.CountRead(n, errno)
		return n, false, errno
	})
	return n, oobn, flags, c.opError("read", err)
}

// WriteMsgUDP sends p as one datagram with the control messages in oob, to addr
// or, if the socket is connected, to its peer: then addr must be nil. Parks. It
// does not allocate.
func (c *UDPConn) WriteMsgUDP(p, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	to, err := c.destination(addr != nil)
	if err == nil && to != nil {
		err = c.rawFromUDP(to, addr)
	}
	if err == nil {
		n, err = c.writeMsg(p, oob, to, goodPort(addr))
	}
	if err != nil {
		return 0, 0, c.sendError(addrOf(addr), err)
	}
	return n, len(oob), nil
}

// WriteMsgUDPAddrPort is WriteMsgUDP for an address of package netip, which
// must not be valid if the socket is connected.
func (c *UDPConn) WriteMsgUDPAddrPort(p, oob []byte, addr netip.AddrPort) (n, oobn int, err error) {
	to, err := c.destination(addr.IsValid())
	if err == nil && to != nil {
		err = c.rawFromAddrPort(to, addr)
	}
	if err == nil {
		n, err = c.writeMsg(p, oob, to, true)
	}
	if err != nil {
		return 0, 0, c.sendError(addrPortUDPAddr{addr}, err)
	}
	return n, len(oob), nil
}

// destination returns room for an address, or nil for the peer. The error says
// why the socket may not send with, or without, an address. It is inlined, so
// that the room is on the caller's stack.
func (c *UDPConn) destination(named bool) (*sysx.RawAddr, error) {
	switch {
	case c.connected && named:
		return nil, net.ErrWriteToConnected
	case c.connected:
		return nil, nil
	case !named:
		return nil, errMissingAddress
	}
	return new(sysx.RawAddr), nil
}

func (c *UDPConn) writeMsg(p, oob []byte, to *sysx.RawAddr, goodPort bool) (n int, err error) {
	err = c.s.WriteWith("sendmsg", func(fd int) (int, bool, syscall.Errno) {
		if !goodPort {
			return 0, false, syscall.EINVAL
		}
		var errno syscall.Errno
		n, errno = sysx.TrySendDatagram(fd, p, oob, to)
		processor.CountWrite(n, errno)
		return n, false, errno
	})
	return n, err
}
