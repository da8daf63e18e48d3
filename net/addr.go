package net

import (
	stdnet "net"
	"net/netip"
)

// Functions of the standard library that do no I/O, and those that ask the
// kernel for its interfaces. None parks.

// IPv4 returns the address a.b.c.d in its form of 16 bytes.
func IPv4(a, b, c, d byte) IP { return stdnet.IPv4(a, b, c, d) }

// ParseIP returns the address that s spells, or nil.
func ParseIP(s string) IP { return stdnet.ParseIP(s) }

// CIDRMask returns a mask with that many ones, for addresses of 32 or 128 bits.
func CIDRMask(ones, bits int) IPMask { return stdnet.CIDRMask(ones, bits) }

// IPv4Mask returns the mask a.b.c.d in its form of 4 bytes.
func IPv4Mask(a, b, c, d byte) IPMask { return stdnet.IPv4Mask(a, b, c, d) }

// ParseCIDR returns the address and the network of an address with the length
// of its prefix, "192.0.2.1/24".
func ParseCIDR(s string) (IP, *IPNet, error) { return stdnet.ParseCIDR(s) }

// ParseMAC returns the hardware address that s spells.
func ParseMAC(s string) (hw HardwareAddr, err error) { return stdnet.ParseMAC(s) }

// JoinHostPort puts host and port together: "host:port", or "[host]:port" if
// the host has a colon.
func JoinHostPort(host, port string) string { return stdnet.JoinHostPort(host, port) }

// SplitHostPort takes "host:port", "[host]:port" or "[host%zone]:port" apart.
func SplitHostPort(hostport string) (host, port string, err error) {
	return stdnet.SplitHostPort(hostport)
}

// TCPAddrFromAddrPort converts an address of package netip.
func TCPAddrFromAddrPort(addr netip.AddrPort) *TCPAddr { return stdnet.TCPAddrFromAddrPort(addr) }

// UDPAddrFromAddrPort converts an address of package netip.
func UDPAddrFromAddrPort(addr netip.AddrPort) *UDPAddr { return stdnet.UDPAddrFromAddrPort(addr) }

// ResolveUnixAddr returns the address of a Unix socket for network unix,
// unixgram or unixpacket.
func ResolveUnixAddr(network, address string) (*UnixAddr, error) {
	return stdnet.ResolveUnixAddr(network, address)
}

// InterfaceAddrs returns the addresses of this host's interfaces.
func InterfaceAddrs() ([]Addr, error) { return stdnet.InterfaceAddrs() }

// InterfaceByIndex returns the interface with that index.
func InterfaceByIndex(index int) (*Interface, error) { return stdnet.InterfaceByIndex(index) }

// InterfaceByName returns the interface with that name.
func InterfaceByName(name string) (*Interface, error) { return stdnet.InterfaceByName(name) }

// Interfaces returns this host's interfaces.
func Interfaces() ([]Interface, error) { return stdnet.Interfaces() }
