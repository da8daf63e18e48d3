// Package netnames gives package netco/net the functions of package net that
// package socket has and does not export.
package netnames

import (
	"net"
	"os"
)

// Of is a Functions of package socket's types, set when that package is
// initialised.
var Of any

// Functions are those of package net by their names, with types of package
// socket as results.
type Functions[TCPConn, TCPListener, UDPConn, UnixConn, UnixListener, Resolver any] struct {
	DialTCP  func(network string, laddr, raddr *net.TCPAddr) (*TCPConn, error)
	DialUDP  func(network string, laddr, raddr *net.UDPAddr) (*UDPConn, error)
	DialUnix func(network string, laddr, raddr *net.UnixAddr) (*UnixConn, error)

	ListenTCP          func(network string, laddr *net.TCPAddr) (*TCPListener, error)
	ListenUDP          func(network string, laddr *net.UDPAddr) (*UDPConn, error)
	ListenUnix         func(network string, laddr *net.UnixAddr) (*UnixListener, error)
	ListenUnixgram     func(network string, laddr *net.UnixAddr) (*UnixConn, error)
	ListenMulticastUDP func(network string, ifi *net.Interface, group *net.UDPAddr) (*UDPConn,
		error)

	FileConn       func(f *os.File) (net.Conn, error)
	FileListener   func(f *os.File) (net.Listener, error)
	FilePacketConn func(f *os.File) (net.PacketConn, error)

	ResolveIPAddr  func(network, address string) (*net.IPAddr, error)
	ResolveTCPAddr func(network, address string) (*net.TCPAddr, error)
	ResolveUDPAddr func(network, address string) (*net.UDPAddr, error)

	// DefaultResolver makes *at the Resolver that is used where no Resolver is
	// given.
	DefaultResolver func(at **Resolver)
}
