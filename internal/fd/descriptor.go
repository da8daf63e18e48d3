package fd

import (
	"runtime"
	"sync/atomic"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Descriptor is the part of an FD that the slabs of Processors refer to, and
// through the slabs the list of sockets. A Descriptor does not refer to its
// connection or listener. So a connection that the program has dropped is
// collected although its fd is registered, and its cleanup, which refers to the
// Descriptor too, closes the fd.
//
// A waiter for the fd keeps the FD from being collected: every operation ends a
// lock or a use of FD.mu, so until then the FD is on its stack. An armed Watch
// is in the PollDesc and refers to its connection.
//
// uses is ownedUse plus inspectUse for each Inspect that is asking the kernel
// about the fd. The release that brings uses to 0 closes the fd, and then
// stores closedUse.
type Descriptor struct {
	pd   processor.PollDesc
	fd   int32 // constant; valid while uses is not 0
	uses atomic.Uint32

	// shared is set if there are or may be more fds of this open file
	// description, here or in another process. Set before they are made; never
	// cleared.
	shared atomic.Bool
	// Constant: close(2) may wait for unsent bytes (SO_LINGER), as for a stream
	// over a network.
	Linger bool
	Label  Label // constant: the owner's, for the list of sockets

	// Permits of the connection, returned when the fd is closed; nil for none.
	// Constant but for Join.
	room *Room
}

// Label names the kind of socket that a Descriptor is part of, in its owner's
// numbers.
type Label struct{ Network, Role uint8 }

const (
	ownedUse   = 1 // its FD's user has not closed it
	inspectUse = 2
	closedUse  = 1 << 31
)

// init makes d the owner of an fd.
func (d *Descriptor) init(fd int) {
	d.fd = int32(fd)
	if d.pd.Owner == nil {
		d.pd.Owner = d
	}
	d.pd.Opened()
	d.uses.Store(ownedUse)
	countOpen(1)
}

// SetOwner sets the object that the list of sockets finds in place of d: the
// socket that d is part of. Called before Init.
func (d *Descriptor) SetOwner(owner any) { d.pd.Owner = owner }

// State is the state of a Descriptor for the list of sockets.
type State struct {
	FD                      int
	Home                    *processor.Processor // watches the fd; nil for none
	ReadWaiter, WriteWaiter uint64               // ids of coroutines; 0 for none
	Idle                    bool                 // a Watch waits, and no coroutine
}

// Inspect calls f with the state of d while the fd is sure to be open. It
// reports false, without a call, if the fd is closed. It accesses only
// constants, atomics and the kernel's state. A Close meanwhile leaves closing
// the fd to Inspect. Any thread.
func (d *Descriptor) Inspect(f func(State)) (open bool) {
	if !d.inspectable() {
		return false
	}
	defer d.uninspect()
	f(State{int(d.fd), d.pd.Home(), d.pd.Waiter(Read), d.pd.Waiter(Write), d.pd.Watched()})
	return true
}

// CloseWhenLost makes the garbage collector close the fd when f is unreachable:
// then there are no users and no waiters, since these refer to f.
func (f *FD) CloseWhenLost() { runtime.AddCleanup(f, (*Descriptor).disown, f.Descriptor) }

// disown ends the owner's use, if it has not ended: that closes the fd, or
// leaves it to an Inspect. Any thread.
func (d *Descriptor) disown() {
	if d.uses.And(^uint32(ownedUse)) == ownedUse {
		d.close()
	}
}

// inspectable begins a use for Inspect; false means that the fd is closed.
func (d *Descriptor) inspectable() bool {
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

func (d *Descriptor) uninspect() {
	if d.uses.Add(^uint32(inspectUse-1)) == 0 {
		d.close()
	}
}

// close closes the fd, of which there are no uses left.
func (d *Descriptor) close() {
	if d.shared.Load() {
		d.pd.Deregister(int(d.fd)) // closing one of several fds does not remove the registration
	}
	d.pd.Unbind()
	if d.Linger {
		sysx.CloseStream(int(d.fd))
	} else {
		sysx.CloseFD(int(d.fd))
	}
	countOpen(-1)
	if d.room != nil {
		d.room.Release()
	}
	d.uses.Store(closedUse)
}

// Share records that there may be more fds of the open file description from
// this moment on.
func (f *FD) Share() {
	if f.Descriptor != nil {
		f.shared.Store(true)
	}
}

// Home returns the Processor that watches the fd, or nil.
func (f *FD) Home() *processor.Processor { return f.pd.Home() }
