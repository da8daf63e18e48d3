package fd

import (
	"os"

	"github.com/netco-go/netco/processor"
)

// A Watch waits for an FD to become readable and holds no coroutine meanwhile.
// The read lock stays held while the Watch is armed, so that a Read waits its
// turn.

// InitWatch prepares x to wait for f; owner is called at the end of each wait.
func (f *FD) InitWatch(x *processor.Watch, owner processor.Watcher) { x.Init(&f.pd, owner) }

// BindWatch registers the fd with the caller's Processor, before x is armed for
// the first time. locked reports whether the caller has the read lock.
func (f *FD) BindWatch(x *processor.Watch, locked bool) error {
	if locked && f.queue == maybe && !f.pd.Bound() {
		f.queue = drained // registering the fd makes an edge if there is data
	}
	return os.NewSyscallError("epoll_ctl", x.Bind(f.fd))
}

// ArmLocked arms x, and returns false if there may be something to read. After
// true the owner may be called at any time.
func (f *FD) ArmLocked(x *processor.Watch) (armed bool, err error) {
	f.readBudget = 0
	f.readParks.Inc()
	if f.beginWaitLocked() {
		processor.CurrentIO().CountSavedRead()
	}
	armed, err = x.Arm(f.fd)
	return armed, os.NewSyscallError("epoll_ctl", err)
}

// PendingLocked reports whether there is something to read, asking the kernel
// if need be. woken means that a Watch has just ended: an edge then means
// unread data, unless edges may come twice.
func (f *FD) PendingLocked(woken bool) bool {
	if woken && !f.pd.ReadOn() && !f.pd.EdgesTwice() && f.pd.Edge(Read) {
		return true
	}
	f.updateQueueLocked()
	return f.queue == maybe
}

// SetReadDeadlineNs is SetDeadline of the read side for a caller that keeps f
// open, in ns of CLOCK_MONOTONIC.
func (f *FD) SetReadDeadlineNs(ns int64) { f.pd.SetDeadline(Read, ns) }

// Unblock makes the waiting reader or Watch try again. Any thread.
func (f *FD) Unblock() { f.pd.Unblock(Read) }

// MoveHere moves the fd to the caller's Processor, after the caller has moved.
func (f *FD) MoveHere() { f.pd.MoveHere(f.fd) }
