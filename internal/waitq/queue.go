package waitq

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ilist"
	"github.com/netco-go/netco/internal/inside"
)

// Queue holds waiters, oldest first. The zero value is empty. All methods need
// the guard.
//
// The Tag of a waiter says how far its wait is:
//
//	tag       meaning                         set by                   guard
//	0         in no queue                     owner (Queue.Remove)     held
//	1..max/2  queued; a kind of the           owner (Queue.Push)       held
//	          primitive
//	Claimed   out of its queue; it has what   waker (Claims.Take,      held
//	          it waited for, and the waker    Claim, TryClaim)
//	          may still access it
//	Released  the waker accesses it no more,  that waker, as it has     free
//	          and is about to wake it         unlocked: its last access
type Queue struct{ waiters ilist.List[coroutine.Waiter] }

// The tags above the kinds.
const (
	Claimed  = ^uintptr(1)
	Released = ^uintptr(0)
)

// AnyKind is the kind of the waiters of a primitive that has only one.
const AnyKind uintptr = 1

// Empty reports whether no waiter is queued.
func (q *Queue) Empty() bool { return q.waiters.Empty() }

// Front returns the waiter that has waited longest, or nil.
func (q *Queue) Front() *coroutine.Waiter { return q.waiters.Front() }

// Push adds w at the end. The primitive chooses the kind, from 1 to half the
// range of a uintptr.
func (q *Queue) Push(w *coroutine.Waiter, kind uintptr) {
	q.waiters.PushBack(w)
	atomic.StoreUintptr(&w.Tag, kind)
}

// PushFront adds w before all others: a waiter that was woken in vain.
func (q *Queue) PushFront(w *coroutine.Waiter, kind uintptr) {
	q.waiters.PushFront(w)
	atomic.StoreUintptr(&w.Tag, kind)
}

// Remove takes w out, wherever it is. Precondition: w is in q.
func (q *Queue) Remove(w *coroutine.Waiter) {
	q.waiters.Remove(w)
	atomic.StoreUintptr(&w.Tag, 0)
}

// Kind returns the kind of a queued waiter. Under the guard.
func Kind(w *coroutine.Waiter) uintptr { return atomic.LoadUintptr(&w.Tag) }

// Queued reports whether w has not been claimed. Without the guard, true may be
// outdated; false is final.
func Queued(w *coroutine.Waiter) bool {
	Step(OpTag)
	return atomic.LoadUintptr(&w.Tag) < Claimed
}

// TryClaim claims w for c if w is queued as kind, and reports whether it did.
// It is for a waiter in several queues, each under a guard of its own: one of
// several wakers claims it.
func (c *Claims) TryClaim(w *coroutine.Waiter, kind uintptr) bool {
	Step(OpClaim)
	if !atomic.CompareAndSwapUintptr(&w.Tag, kind, Claimed) {
		return false
	}
	c.add(w)
	return true
}

// Claims are the waiters that were claimed under a lock, in the order of the
// claims. They are part of the lock, whose Unlock wakes them. The zero value
// holds none.
//
// So a waker that has claimed a waiter cannot park, move or call other code
// before it wakes the waiter. It must not: a claimed waiter whose park ends
// otherwise spins until the waker releases it, and would spin for ever if the
// waker waited for the waiter's Processor.
type Claims struct{ last *coroutine.Waiter } // a ring through Link, oldest behind last

// Take moves w from q to c: it is claimed. Under the guard.
func (c *Claims) Take(q *Queue, w *coroutine.Waiter) {
	q.waiters.Remove(w)
	c.Claim(w)
}

// TakeAll moves all waiters of q to c. Under the guard.
func (c *Claims) TakeAll(q *Queue) {
	for w := q.Front(); w != nil; w = q.Front() {
		c.Take(q, w)
	}
}

// Claim claims w for c. The caller has taken it out of its only queue. Under
// the guard.
func (c *Claims) Claim(w *coroutine.Waiter) {
	atomic.StoreUintptr(&w.Tag, Claimed)
	c.add(w)
}

func (c *Claims) add(w *coroutine.Waiter) {
	if c.last == nil {
		w.Link = w
	} else {
		w.Link, c.last.Link = c.last.Link, w
	}
	c.last = w
}

// Detach returns the claims, for an Unlocking. Under the guard.
func (c *Claims) Detach() (all Claims) {
	all, c.last = *c, nil
	return all
}

// Unlocking is the end of a critical section under one lock or several: it
// holds the claims to wake once all locks are unlocked. Begin makes one.
type Unlocking struct {
	claims Claims
	busy   inside.Busy
}

// Begin is called under the locks. Only the unlocks and Wake may follow.
func Begin() Unlocking { return Unlocking{busy: inside.Begin()} }

// Add adds the claims of one of the locks.
func (u *Unlocking) Add(c Claims) {
	switch {
	case c.last == nil:
	case u.claims.last == nil:
		u.claims = c
	default: // two rings become one
		u.claims.last.Link, c.last.Link = c.last.Link, u.claims.last.Link
		u.claims = c
	}
}

// Wake wakes all claimed waiters, in the order in which they were added and
// claimed. The caller holds no lock. It does not park.
func (u *Unlocking) Wake() {
	if u.claims.last != nil {
		u.claims.wake()
	}
	u.busy.Done()
}

func (c *Claims) wake() {
	for c.last != nil {
		w := c.last.Link
		if w == c.last {
			c.last = nil
		} else {
			c.last.Link = w.Link
		}
		w.Link = nil
		wake(w)
	}
}

// wake wakes w, which the caller has claimed, and must not access afterwards.
//
// It releases w first: the woken thread may take the waker's core at once, and
// would then wait for the release until the waker gets a core again.
func wake(w *coroutine.Waiter) {
	if trace != nil {
		wakeTraced(w)
		return
	}
	waking := w.Waking()
	atomic.StoreUintptr(&w.Tag, Released)
	waking.Wake()
}
