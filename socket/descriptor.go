package socket

import (
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// descriptor is the part of a socket that the slabs of Processors, and through
// them Inspect, refer to. It refers to nothing of the connection or listener in
// turn. So one that the program has lost is collected, although its fd is
// registered, and its cleanup, which refers to the descriptor too, closes the
// fd.
//
// Whoever waits for the fd keeps the socket from being collected: every
// operation gives back a lock or a use of socket.mu when it ends, so until then
// it is on its stack. An armed Watch is in the PollDesc and refers to its
// connection.
//
// uses is ownedUse plus inspectUse for each Inspect that is asking the kernel
// about the fd. Whoever brings it to 0 closes the fd.
type descriptor struct {
	pd      processor.PollDesc // first, see descriptorOf
	fd      int32              // constant; valid while uses is not 0
	network network            // constant: for Inspect; noNetwork for a Socket and a File
	uses    atomic.Uint32

	// shared says that there are or may be more fds of this open file
	// description, here or in another process. Set before they are made; never
	// cleared.
	shared atomic.Bool

	room *room // where the connection has a place, which closing the fd gives back; nil for none. Constant but for join
}

const (
	ownedUse   = 1 // its socket's user has not closed it
	inspectUse = 2
)

// fileDescriptor is the descriptor of a File.
type fileDescriptor struct {
	descriptor        // first, see descriptorOf
	name       string // constant
}

// init makes d the owner of an fd. mark says what it is part of.
func (d *descriptor) init(fd int, n network, mark uint8) {
	d.fd, d.network, d.pd.Mark = int32(fd), n, mark
	d.uses.Store(ownedUse)
	openSockets.Add(1)
}

// closeWhenLost has the fd closed when the garbage collector finds that nothing
// refers to s any more.
func (s *socket) closeWhenLost() { runtime.AddCleanup(s, (*descriptor).lost, s.descriptor) }

// lost closes the fd of a socket that was collected, unless it was closed
// before. There are no users and no waiters, since these refer to it. It is
// called on a goroutine of the runtime's.
func (d *descriptor) lost() { d.disown() }

// disown gives the owner's use back, if it was not: any thread.
func (d *descriptor) disown() {
	if d.uses.And(^uint32(ownedUse)) == ownedUse {
		d.close()
	}
}

// inspectable takes a use for Inspect; false means that the socket is closed.
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

// uninspect gives back what inspectable took.
func (d *descriptor) uninspect() {
	if d.uses.Add(^uint32(inspectUse-1)) == 0 {
		d.close()
	}
}

// close closes the fd. There are no uses left.
func (d *descriptor) close() {
	if d.shared.Load() {
		d.pd.Withdraw(int(d.fd)) // closing one of several fds does not take it out of epoll
	}
	d.pd.Unbind()
	if d.pd.Mark == markSocket || d.network.isTCP() {
		sysx.CloseStream(int(d.fd))
	} else {
		sysx.CloseFD(int(d.fd))
	}
	openSockets.Add(-1)
	if d.room != nil {
		d.room.release()
	}
	wakeCloser(d)
}

// share notes that there may be more fds of the open file description from now
// on.
func (s *socket) share() {
	if s.descriptor != nil {
		s.shared.Store(true)
	}
}
