package socket

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// Close closes the fd before it returns, as package net's does: then its address is free, and a peer that comes is refused.
//
//   - Operations that are parked look whether the socket is closed when they are woken, and touch the fd no more. So if there are no
//     others, Close closes the fd itself, without waiting for them.
//   - Others are in the middle of a system call, or have yielded between two. Then the last of them closes the fd. A goroutine waits
//     for that, for a while: one that is to return may be kept from it by a coroutine that waits, in a Go channel perhaps, for
//     whoever calls Close. A coroutine does not wait: it may hold what the other needs to return, a sync.Once or a mutex, and
//     would block the thread of both. Nor does a goroutine in a bubble of testing/synctest, which the other may not be in.

// closeLimit is how long a goroutine's Close waits for others' operations to return.
const closeLimit = 100 * time.Millisecond

// closers are the calls of Close that wait. Few ever do, so they are not in the socket.
var closers struct {
	n  atomic.Int32 // how many are in waiting, so that most who close an fd need not look
	mu sync.Mutex   // never held across a park or a system call

	waiting map[*descriptor]*coroutine.Waiter // under mu; a socket is closed once, so it has one
}

// awaitDestroyed gives the use that mu.close took back and waits until the last user has closed the fd.
func (s *socket) awaitDestroyed() {
	w := coroutine.AcquireWaiter()
	defer w.Release()
	closers.mu.Lock()
	if closers.waiting == nil {
		closers.waiting = map[*descriptor]*coroutine.Waiter{}
	}
	closers.waiting[s.descriptor] = w
	closers.n.Add(1)
	closers.mu.Unlock()

	if s.mu.unuse() {
		s.destroy() // which wakes w, or an Inspect does
	}
	for until := clock.Now() + int64(closeLimit); ; {
		why := w.ParkUntil(coroutine.ReasonLock, until)
		w.Prepare() // before the look: who takes it out after that wakes the next park
		over := why != coroutine.WakeReady || clock.Now() >= until
		if !closerWaits(s.descriptor) || over && takeCloser(s.descriptor) == nil {
			if why != coroutine.WakeReady {
				w.Drain() // who took it out is about to wake it
			}
			return
		}
		if over {
			return
		}
	}
}

func closerWaits(d *descriptor) bool {
	closers.mu.Lock()
	defer closers.mu.Unlock()
	return closers.waiting[d] != nil
}

// takeCloser takes out the Close that waits for d, if there is one.
func takeCloser(d *descriptor) *coroutine.Waiter {
	closers.mu.Lock()
	defer closers.mu.Unlock()
	w := closers.waiting[d]
	if w != nil {
		delete(closers.waiting, d)
		closers.n.Add(-1)
	}
	return w
}

// wakeCloser tells a Close that waits for d that its fd is closed.
func wakeCloser(d *descriptor) {
	if closers.n.Load() == 0 {
		return
	}
	if w := takeCloser(d); w != nil {
		w.Wake()
	}
}
