package socket

import (
	"net"
	"net/netip"
	"syscall"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

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

// ReadMsgUDPAddrPort is ReadMsgUDP that does not allocate. The address is as
// that of [UDPConn.ReadFromUDPAddrPort].
func (c *UDPConn) ReadMsgUDPAddrPort(p, oob []byte) (n, oobn, flags int, addr netip.AddrPort,
	err error) {
	var from sysx.RawAddr
	if n, oobn, flags, err = c.readMsg(p, oob, &from); err == nil {
		addr = addrPort(&from)
	}
	return n, oobn, flags, addr, err
}

func (c *UDPConn) readMsg(p, oob []byte, from *sysx.RawAddr) (n, oobn, flags int, err error) {
	err = c.s.readWith("recvmsg", func(fd int) (int, syscall.Errno) {
		var errno syscall.Errno
		n, oobn, flags, errno = sysx.TryRecvDatagram(fd, p, oob, from)
		processor.CountRead(n, errno)
		return n, errno
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
		return 0, 0, c.sendError(udpOpAddr(addr), err)
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

// destination returns room for an address, nil for the peer, or why this socket
// may not send with, or without, one. It is inlined, so that the room is on the
// caller's stack.
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
	err = c.s.writeWith("sendmsg", func(fd int) (int, syscall.Errno) {
		if !goodPort {
			return 0, syscall.EINVAL
		}
		var errno syscall.Errno
		n, errno = sysx.TrySendDatagram(fd, p, oob, to)
		processor.CountWrite(n, errno)
		return n, errno
	})
	return n, err
}
