package net

import (
	stdnet "net"
	"os"

	// Package netco starts the default Scheduler at the first wait, also in a
	// program that has only goroutines.
	_ "github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/netnames"
	"github.com/netco-go/netco/socket"
)

// Types of package socket. Their methods park coroutines and block ordinary
// goroutines.
type (
	Buffers      = socket.Buffers
	Dialer       = socket.Dialer
	ListenConfig = socket.ListenConfig
	Resolver     = socket.Resolver
	TCPConn      = socket.TCPConn
	TCPListener  = socket.TCPListener
	UDPConn      = socket.UDPConn
	UnixConn     = socket.UnixConn
	UnixListener = socket.UnixListener
)

// names are functions of package socket.
var names = netnames.Of.(netnames.Functions[TCPConn, TCPListener, UDPConn, UnixConn, UnixListener,
	Resolver])

// IPConn is the standard's: a coroutine that waits on one does not park.
type IPConn = stdnet.IPConn

// Pipe returns the two ends of a synchronous connection in memory, the
// standard's.
func Pipe() (Conn, Conn) { return stdnet.Pipe() }

// FileConn returns a connection of a duplicate of f's fd. The caller closes
// both.
func FileConn(f *os.File) (c Conn, err error) { return names.FileConn(f) }

// FileListener returns a listener of a duplicate of f's fd. The caller closes
// both.
func FileListener(f *os.File) (ln Listener, err error) { return names.FileListener(f) }

// FilePacketConn returns a packet connection of a duplicate of f's fd. The
// caller closes both.
func FilePacketConn(f *os.File) (c PacketConn, err error) { return names.FilePacketConn(f) }
