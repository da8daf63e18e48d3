// Package sockinfo lists the sockets of package socket for packages introspect
// and metrics. It is for the engine: users have the pages and metrics.
//
// Package socket registers its list when it is initialised, so a program that
// does not link it has no sockets.
package sockinfo

import (
	"net"

	"github.com/netco-go/netco/processor"
)

// Info describes a socket.
type Info struct {
	FD int
	// Network is as in net's errors: "tcp", "unixgram" and so on; "socket" or
	// "file" for the types of these names.
	Network string

	// The addresses as the kernel has them; nil if there is none. Local is a
	// File's name.
	Local, Remote net.Addr

	Listener bool
	// Processor is the index of the Processor that watches the socket; -1 if
	// only ordinary goroutines have waited for it.
	Processor int

	// The ids of the coroutines that wait to read or accept, and to write or
	// connect; 0 for none or a goroutine.
	ReadWaiter, WriteWaiter uint64

	Idle bool // a Server's connection that waits and holds no coroutine
}

// A Lister calls f for the sockets of p, as Each.
type Lister func(p *processor.Processor, f func(Info) bool)

// Constant once packages are initialised.
var (
	lister     Lister
	openCount  = func() int { return 0 }
	pauseCount = func() uint64 { return 0 }
)

// Register sets the functions that this package calls. Called once, when
// package socket is initialised.
func Register(l Lister, open func() int, pauses func() uint64) {
	lister, openCount, pauseCount = l, open, pauses
}

// OpenCount returns how many sockets and files are open in the process. A
// socket that opens or closes meanwhile may count or not.
func OpenCount() int { return openCount() }

// AcceptPauses returns how often accepting has stopped at the limit of a
// LimitListener or of Server.MaxConns.
func AcceptPauses() uint64 { return pauseCount() }

// Each calls f for every socket that is registered with p, in no order, until f
// returns false. A socket that nothing has waited for is registered nowhere and
// not listed; a socket that opens or closes meanwhile may be missing. Sockets
// that only ordinary goroutines have waited for come with the first Processor
// of a group.
//
// It may be called from any thread, and f may do anything. Each holds no lock.
// It keeps the fd open while it asks the kernel for the two addresses; after a
// Close at that moment Each closes the fd. A coroutine yields after every 128th
// socket, and stops at a forced shutdown. It allocates the addresses.
func Each(p *processor.Processor, f func(Info) bool) {
	if lister != nil {
		lister(p, f)
	}
}
