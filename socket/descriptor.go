package socket

import (
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// descriptor is the part of a socket that the slabs of Processors refer to, and
// through them the list of sockets. It refers to nothing of the connection or
// listener in turn. So a connection that the program has dropped is collected
// although its fd is registered, and its cleanup, which refers to the
// descriptor too, closes the fd.
//
// A waiter for the fd keeps the socket from being collected: every operation
// ends a lock or a use of socket.mu, so until then the socket is on its stack.
// An armed Watch is in the PollDesc and refers to its connection.
//
// uses is ownedUse plus inspectUse for each describe that is asking the kernel
// about the fd. The one that brings it to 0 closes the fd.
type descriptor struct {
	// Its Owner is this descriptor, or the fileDescriptor that it is part of.
	pd      processor.PollDesc
	fd      int32   // constant; valid while uses is not 0
	network network // constant; noNetwork for a Socket and a File
	role    role    // constant
	uses    atomic.Uint32

	// shared is set if there are or may be more fds of this open file
	// description, here or in another process. Set before they are made; never
	// cleared.
	shared atomic.Bool

	// Permits of the connection, returned when the fd is closed; nil for none.
	// Constant but for join.
	room *room
}

// role is what a descriptor is part of.
type role uint8

const (
	roleConn role = iota
	roleListener
	roleSocket // of a Socket
	roleFile   // of a File, in a fileDescriptor
)

const (
	ownedUse   = 1 // its socket's user has not closed it
	inspectUse = 2
)

// fileDescriptor is the descriptor of a File.
type fileDescriptor struct {
	descriptor
	name string // constant
}

// init makes d the owner of an fd.
func (d *descriptor) init(fd int, n network, r role) {
	d.fd, d.network, d.role = int32(fd), n, r
	if d.pd.Owner == nil {
		d.pd.Owner = d
	}
	d.uses.Store(ownedUse)
	countOpen(1)
}

// closeWhenLost has the fd closed when the garbage collector finds that s is
// unreachable.
func (s *socket) closeWhenLost() { runtime.AddCleanup(s, (*descriptor).lost, s.descriptor) }

// lost closes the fd of a socket that was collected, unless it was closed
// before. There are no users and no waiters, since these refer to it. Called on
// a goroutine of the runtime.
func (d *descriptor) lost() { d.disown() }

// disown ends the owner's use, if it has not ended. Any thread.
func (d *descriptor) disown() {
	if d.uses.And(^uint32(ownedUse)) == ownedUse {
		d.close()
	}
}

// inspectable begins a use for describe; false means that the socket is closed.
func (d *descriptor) inspectable() bool {
	for {
		n := d.uses.Load()
		if n&ownedUse == 0 {
			return false
		}
		if d.uses.CompareAndSwap(n, n+inspectUse) {
			return true
		}
	}
}

// uninspect ends the use that inspectable began.
func (d *descriptor) uninspect() {
	if d.uses.Add(^uint32(inspectUse-1)) == 0 {
		d.close()
	}
}

// close closes the fd. There are no uses left.
func (d *descriptor) close() {
	if d.shared.Load() {
		d.pd.Deregister(int(d.fd)) // closing one of several fds does not take it out of epoll
	}
	d.pd.Unbind()
	if d.role == roleSocket || d.network.isTCP() {
		sysx.CloseStream(int(d.fd))
	} else {
		sysx.CloseFD(int(d.fd))
	}
	countOpen(-1)
	if d.room != nil {
		d.room.release()
	}
	wakeCloser(d)
}

// share records that there may be more fds of the open file description from
// this moment on.
func (s *socket) share() {
	if s.descriptor != nil {
		s.shared.Store(true)
	}
}
