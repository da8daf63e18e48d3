package net

import stdnet "net"

// Aliases of the standard library's types.
type (
	Addr            = stdnet.Addr
	Conn            = stdnet.Conn
	Error           = stdnet.Error
	Listener        = stdnet.Listener
	PacketConn      = stdnet.PacketConn
	Flags           = stdnet.Flags
	HardwareAddr    = stdnet.HardwareAddr
	IP              = stdnet.IP
	IPMask          = stdnet.IPMask
	IPNet           = stdnet.IPNet
	Interface       = stdnet.Interface
	KeepAliveConfig = stdnet.KeepAliveConfig
	MX              = stdnet.MX
	NS              = stdnet.NS
	SRV             = stdnet.SRV
)

// Addresses of the standard library.
type (
	IPAddr   = stdnet.IPAddr
	TCPAddr  = stdnet.TCPAddr
	UDPAddr  = stdnet.UDPAddr
	UnixAddr = stdnet.UnixAddr
)

// Errors of the standard library.
type (
	AddrError           = stdnet.AddrError
	DNSConfigError      = stdnet.DNSConfigError
	DNSError            = stdnet.DNSError
	InvalidAddrError    = stdnet.InvalidAddrError
	OpError             = stdnet.OpError
	ParseError          = stdnet.ParseError
	UnknownNetworkError = stdnet.UnknownNetworkError
)

// Lengths of IP addresses in bytes.
const (
	IPv4len = stdnet.IPv4len
	IPv6len = stdnet.IPv6len
)

// Flags of an Interface.
const (
	FlagUp           = stdnet.FlagUp
	FlagBroadcast    = stdnet.FlagBroadcast
	FlagLoopback     = stdnet.FlagLoopback
	FlagPointToPoint = stdnet.FlagPointToPoint
	FlagMulticast    = stdnet.FlagMulticast
	FlagRunning      = stdnet.FlagRunning
)

// Well-known addresses: the same bytes as the standard's.
var (
	IPv4bcast     = stdnet.IPv4bcast
	IPv4allsys    = stdnet.IPv4allsys
	IPv4allrouter = stdnet.IPv4allrouter
	IPv4zero      = stdnet.IPv4zero

	IPv6zero                   = stdnet.IPv6zero
	IPv6unspecified            = stdnet.IPv6unspecified
	IPv6loopback               = stdnet.IPv6loopback
	IPv6interfacelocalallnodes = stdnet.IPv6interfacelocalallnodes
	IPv6linklocalallnodes      = stdnet.IPv6linklocalallnodes
	IPv6linklocalallrouters    = stdnet.IPv6linklocalallrouters
)

// The standard's errors.
var (
	ErrClosed           = stdnet.ErrClosed
	ErrWriteToConnected = stdnet.ErrWriteToConnected
)
