package fd

import (
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Close closes the fd before it returns, as package net's does: then its
// address is free, and a peer that connects is refused.
//
//   - Parked operations check whether the socket is closed when they are woken,
//     and do not access the fd again. So if there are no others, Close closes
//     the fd itself, without waiting for them.
//   - Others are in the middle of a system call, or have yielded between two.
//     Then the last of them closes the fd. A goroutine waits for that up to
//     closeLimit: the operation may be kept from returning by a coroutine that
//     waits, in a Go channel perhaps, for the caller of Close. A coroutine does
//     not wait: it may hold a mutex or a sync.Once that the operation needs to
//     return, and would block the thread of both. Nor does a goroutine in a
//     bubble of testing/synctest: the operation may be outside of it.

// closeLimit bounds how long a goroutine's Close waits for operations to
// return.
const closeLimit = 100 * time.Millisecond

// closers are the calls of Close that wait. There are few, so an FD has no
// field for them.
var closers struct {
	n  atomic.Int32 // len(waiting), so that most that close an fd need not lock
	mu waitq.Mutex  // never held across a park or a system call

	waiting map[*Descriptor]*waitq.Queue // under mu; none is empty
}

// awaitDestroyed ends the use that Mutex.Close began and waits until the last
// user has closed the fd, or for closeLimit.
func (s *FD) awaitDestroyed() {
	w := waitq.Acquire(coroutine.Limit{})
	defer waitq.Release(w)
	d, q := s.Descriptor, new(waitq.Queue)
	closers.mu.Lock()
	q.Push(w, waitq.AnyKind)
	if closers.waiting == nil {
		closers.waiting = map[*Descriptor]*waitq.Queue{}
	}
	closers.waiting[d] = q // a socket is closed once, so it had none
	closers.n.Add(1)
	closers.mu.Unlock()

	if s.mu.Unuse() {
		s.disown() // which wakes w, or an Inspect does
	}
	waitq.Wait(w, coroutine.ReasonLock, coroutine.Timeout(closeLimit), &closers.mu,
		func(w *coroutine.Waiter) {
			q.Remove(w)
			forgetCloserLocked(d)
		})
}

func forgetCloserLocked(d *Descriptor) {
	delete(closers.waiting, d)
	closers.n.Add(-1)
}

// wakeCloser wakes the Close that waits for the fd of d, which is closed.
func wakeCloser(d *Descriptor) {
	if closers.n.Load() == 0 {
		return
	}
	closers.mu.Lock()
	if q := closers.waiting[d]; q != nil {
		closers.mu.TakeAll(q)
		forgetCloserLocked(d)
	}
	closers.mu.Unlock()
}
