package socket

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// netDialUDP is net.DialUDP. It does not park.
func netDialUDP(network string, laddr, raddr *net.UDPAddr) (*UDPConn, error) {
	n, err := parseNetwork(network)
	switch {
	case err != nil || !n.isUDP():
		err = net.UnknownNetworkError(network)
	case raddr == nil:
		err = errMissingAddress
	}
	var c *UDPConn
	if err == nil {
		c, err = connectUDP(n, laddr, raddr, nil)
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Source: udpOpAddr(laddr),
			Addr: udpOpAddr(raddr), Err: err}
	}
	return c, nil
}

// connectUDP is DialUDP without the OpError around its errors; laddr may be
// nil. control, if it is not nil, is called before the socket is bound.
func connectUDP(n network, laddr, raddr *net.UDPAddr, control func(fd int) error) (*UDPConn,
	error) {
	is6 := n == udp6 || n == udp && !(only4(laddr) && only4(raddr))
	family := unix.AF_INET
	if is6 {
		family = unix.AF_INET6
	}
	fd, err := sysx.NewSocket(family, unix.SOCK_DGRAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if is6 {
		// Package net ignores a refusal too.
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, boolInt(n == udp6))
	}
	made := false
	defer func() {
		if !made { // also when control unwinds
			sysx.CloseFD(fd)
		}
	}()
	peer, err := joinUDP(fd, is6, laddr, raddr, control)
	if err != nil {
		return nil, err
	}
	made = true
	c := newUDPConn(fd, n, true)
	if ap, _ := c.remote.AddrPort(); !ap.IsValid() {
		c.remote = peer // the kernel knows of none whose port is 0
	}
	return c, nil
}

// only4 reports whether a needs no more than IPv4.
func only4(a *net.UDPAddr) bool {
	return a == nil || len(a.IP) <= net.IPv4len || a.IP.To4() != nil
}

// joinUDP binds and connects a new socket.
func joinUDP(fd int, is6 bool, laddr, raddr *net.UDPAddr,
	control func(fd int) error) (peer sysx.RawAddr, err error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1); err != nil {
		return peer, os.NewSyscallError("setsockopt", err)
	}
	if control != nil {
		if err := control(fd); err != nil {
			return peer, err
		}
	}
	step := func(call string, a *net.UDPAddr, do func(int, *sysx.RawAddr) syscall.Errno) (
		to sysx.RawAddr, err error) {
		if is6 {
			err = raw6(&to, a, zoneIndex(fd, a.Zone))
		} else {
			err = raw4(&to, a)
		}
		if err != nil {
			return to, err
		}
		errno := syscall.EINVAL
		if goodPort(a) {
			errno = do(fd, &to)
		}
		if errno != 0 {
			return to, os.NewSyscallError(call, errno)
		}
		return to, nil
	}
	if laddr != nil {
		if _, err := step("bind", laddr, sysx.BindTo); err != nil {
			return peer, err
		}
	}
	return step("connect", raddr, sysx.ConnectTo)
}
