package net

import (
	stdnet "net"
	"strings"
	"time"
)

// isRaw reports whether a network is one of IPConn's.
func isRaw(network string) bool {
	name, _, _ := strings.Cut(network, ":")
	return name == "ip" || name == "ip4" || name == "ip6"
}

// Dial connects to an address: the result is a *TCPConn, *UDPConn, *UnixConn or
// *IPConn. Parks, except for an IPConn's networks.
func Dial(network, address string) (Conn, error) {
	if isRaw(network) {
		return stdnet.Dial(network, address)
	}
	return new(Dialer).Dial(network, address)
}

// DialTimeout is Dial for at most timeout; 0 is no limit.
func DialTimeout(network, address string, timeout time.Duration) (Conn, error) {
	if isRaw(network) {
		return stdnet.DialTimeout(network, address, timeout)
	}
	d := Dialer{Timeout: timeout}
	return d.Dial(network, address)
}

// DialIP makes a raw IP socket with a peer, the standard's.
func DialIP(network string, laddr, raddr *IPAddr) (*IPConn, error) {
	return stdnet.DialIP(network, laddr, raddr)
}

// DialTCP connects to raddr, from laddr if that is not nil. Parks.
func DialTCP(network string, laddr, raddr *TCPAddr) (*TCPConn, error) {
	return names.DialTCP(network, laddr, raddr)
}

// DialUDP makes a socket that is connected to raddr; laddr may be nil.
func DialUDP(network string, laddr, raddr *UDPAddr) (*UDPConn, error) {
	return names.DialUDP(network, laddr, raddr)
}

// DialUnix connects to a Unix socket, from laddr if that is not nil.
func DialUnix(network string, laddr, raddr *UnixAddr) (*UnixConn, error) {
	return names.DialUnix(network, laddr, raddr)
}
