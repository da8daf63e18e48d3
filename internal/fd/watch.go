package fd

import (
	"os"

	"github.com/netco-go/netco/processor"
)

// A Watch waits for an FD to become readable and holds no coroutine meanwhile.
// The read lock stays held while the Watch is armed, so that a Read waits its
// turn.

// InitWatch prepares x to wait for s; owner is called at the end of each wait.
func (s *FD) InitWatch(x *processor.Watch, owner processor.Watcher) { x.Init(&s.pd, owner) }

// BindWatch registers the fd with the caller's Processor, before x is armed for
// the first time. locked reports whether the caller has the read lock.
func (s *FD) BindWatch(x *processor.Watch, locked bool) error {
	if locked && s.queue == maybe && !s.pd.Bound() {
		s.queue = drained // registering the fd makes an edge if there is data
	}
	return os.NewSyscallError("epoll_ctl", x.Bind(s.fd))
}

// ArmLocked arms x, and returns false if there may be something to read. After
// true the owner may be called at any time.
func (s *FD) ArmLocked(x *processor.Watch) (armed bool, err error) {
	s.readBudget = 0
	s.readParks.Inc()
	if s.beginWaitLocked() {
		processor.CurrentIO().CountSavedRead()
	}
	armed, err = x.Arm(s.fd)
	return armed, os.NewSyscallError("epoll_ctl", err)
}

// PendingLocked reports whether there is something to read, asking the kernel
// if need be. woken means that a Watch has just ended: an edge then means
// unread data, unless edges may come twice.
func (s *FD) PendingLocked(woken bool) bool {
	if woken && !s.pd.ReadOn() && !s.pd.EdgesTwice() && s.pd.Edge(Read) {
		return true
	}
	s.updateQueueLocked()
	return s.queue == maybe
}

// SetReadDeadlineNs is SetDeadline of the read side for a caller that keeps s
// open, in ns of CLOCK_MONOTONIC.
func (s *FD) SetReadDeadlineNs(ns int64) { s.pd.SetDeadline(Read, ns) }

// Unblock makes the waiting reader or Watch try again. Any thread.
func (s *FD) Unblock() { s.pd.Unblock(Read) }

// MoveHere moves the fd to the caller's Processor, after the caller has moved.
func (s *FD) MoveHere() { s.pd.MoveHere(s.fd) }
