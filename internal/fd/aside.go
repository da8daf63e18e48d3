package fd

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
)

// ServeOnGoroutine calls serve whenever a request arrives, until serve returns
// false, or no request has come for idleNs. Meanwhile the fd is in no
// Processor's epoll. The caller is a goroutine.
func (f *FD) ServeOnGoroutine(idleNs int64, serve func() bool) {
	f.whileUnused(f.pd.LeaveProcessors)
	for f.awaitRequest(idleNs) && serve() {
	}
	f.whileUnused(f.pd.LeaveGoroutines)
}

// whileUnused calls leave, unless a read or write is under way: its caller may
// have registered the fd, and not be seen as a waiter yet.
func (f *FD) whileUnused(leave func(fd int)) {
	if !f.mu.TryLock(Read) {
		return
	}
	defer f.Unlock(Read)
	if f.mu.TryLock(Write) {
		defer f.Unlock(Write)
		leave(f.fd)
	}
}

// awaitRequest waits until a read would return at once, and returns true, or
// for idleNs. The caller is a goroutine.
func (f *FD) awaitRequest(idleNs int64) bool {
	if !f.mu.Lock(Read) {
		return true // closed
	}
	defer f.Unlock(Read)
	if f.PendingLocked(false) {
		return true
	}
	f.readParks.Inc()
	f.beginWaitLocked()
	v, err := f.pd.Wait(f.fd, Read, coroutine.ReasonRead, clock.Now()+idleNs)
	return v != processor.Try || err != nil || f.pd.Edge(Read)
}
