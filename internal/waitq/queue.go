package waitq

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ilist"
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
//	Claimed   out of its queue; it has what   waker (Batch.Take,       held
//	          it waited for, and the waker    Claim, TryClaim)
//	          may still access it
//	Released  the waker accesses it no more,  that waker (Batch.Wake,  free
//	          and is about to wake it         Wake), its last access
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

// Claim claims w, which the caller has taken out of its only queue. Under the
// guard.
func Claim(w *coroutine.Waiter) { atomic.StoreUintptr(&w.Tag, Claimed) }

// TryClaim claims w if it is queued as kind, and reports whether it did. It is
// for a waiter in several queues, each under another guard: one of several
// wakers claims it.
func TryClaim(w *coroutine.Waiter, kind uintptr) bool {
	Step(OpClaim)
	return atomic.CompareAndSwapUintptr(&w.Tag, kind, Claimed)
}

// Wake wakes w, which the caller has claimed, and must not access afterwards.
// Without the guard. Does not park.
//
// It releases w first: the woken thread may take the waker's core at once, and
// would wait for the release for as long as the waker then has none.
func Wake(w *coroutine.Waiter) {
	if trace != nil {
		wakeTraced(w)
		return
	}
	waking := w.Waking()
	atomic.StoreUintptr(&w.Tag, Released)
	waking.Wake()
}

// Batch holds claimed waiters that are to be woken after the guard is released.
// The zero value is empty.
type Batch struct{ waiters ilist.List[coroutine.Waiter] }

// Take moves w from q to b and claims it. Under the guard.
func (b *Batch) Take(q *Queue, w *coroutine.Waiter) {
	q.waiters.Remove(w)
	Claim(w)
	b.Add(w)
}

// TakeAll moves all waiters of q to b. Under the guard.
func (b *Batch) TakeAll(q *Queue) {
	for w := q.Front(); w != nil; w = q.Front() {
		b.Take(q, w)
	}
}

// Add adds a waiter that has been claimed and is in no queue.
func (b *Batch) Add(w *coroutine.Waiter) { b.waiters.PushBack(w) }

// Wake wakes the waiters in the order in which they were added. Without the
// guard. Does not park.
func (b *Batch) Wake() {
	for w := b.waiters.PopFront(); w != nil; w = b.waiters.PopFront() {
		Wake(w)
	}
}
