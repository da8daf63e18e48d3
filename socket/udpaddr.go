package socket

import (
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// addrPortUDPAddr is a netip.AddrPort in the errors of methods that take one.
type addrPortUDPAddr struct{ netip.AddrPort }

func (addrPortUDPAddr) Network() string { return "udp" }

// addrPort converts the kernel's address. A mapped IPv4 address stays mapped.
func addrPort(a *sysx.RawAddr) netip.AddrPort {
	ap, zone := a.AddrPort()
	if zone == 0 {
		return ap
	}
	return netip.AddrPortFrom(ap.Addr().WithZone(zoneName(zone)), ap.Port())
}

// newUDPAddr is addrPort for package net's type, in one allocation. If the
// kernel gave no address, the result has no IP, as net's.
func newUDPAddr(a *sysx.RawAddr) *net.UDPAddr {
	x := new(inetAddr)
	x.set(udp, a)
	return &x.addr
}

// rawFromAddrPort converts a valid address for the socket's family. Its errors
// are those of net.
func (c *UDPConn) rawFromAddrPort(to *sysx.RawAddr, a netip.AddrPort) error {
	ip := a.Addr()
	switch {
	case c.is6:
		to.Set6(ip.As16(), a.Port(), c.zoneIndex(ip.Zone()))
	case ip.Is4() || ip.Is4In6():
		to.Set4(ip.As4(), a.Port())
	default:
		return &net.AddrError{Err: "non-IPv4 address", Addr: ip.String()}
	}
	return nil
}

// rawFromUDP is rawFromAddrPort for package net's type, whose port may be
// invalid, see goodPort.
func (c *UDPConn) rawFromUDP(to *sysx.RawAddr, a *net.UDPAddr) error {
	ip, err := ofFamily(a.IP, c.is6)
	switch {
	case err != nil:
		return err
	case c.is6:
		to.Set6(ip.As16(), uint16(a.Port), c.zoneIndex(a.Zone))
	default:
		to.Set4(ip.As4(), uint16(a.Port))
	}
	return nil
}

// goodPort reports whether a's port is valid. For an invalid port net's call
// fails with EINVAL.
func goodPort(a *net.UDPAddr) bool { return a == nil || a.Port >= 0 && a.Port <= 0xffff }

// zoneIndex is the number of a zone's interface. It is 0 if the socket is
// closed; the caller's next operation fails then, too.
func (c *UDPConn) zoneIndex(zone string) (index uint32) {
	if zone == "" {
		return 0
	}
	c.s.Control(func(fd int) error {
		index = zoneIndex(fd, zone)
		return nil
	})
	return index
}

// zoneIndex asks the kernel, by one call on any socket's fd; net reads the
// table of interfaces once a minute. A zone that is no interface's name is
// taken for a number.
func zoneIndex(fd int, zone string) uint32 {
	if zone == "" {
		return 0
	}
	if request, err := unix.NewIfreq(zone); err == nil &&
		unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request) == nil {
		return request.Uint32()
	}
	n, _ := strconv.ParseUint(zone, 10, 32)
	return uint32(n)
}
