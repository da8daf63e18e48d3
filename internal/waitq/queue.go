package waitq

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// The tags above the kinds; the package documentation has the transitions.
const (
	granted = ^uintptr(1)
	loose   = ^uintptr(0)
)

// Queue is waiters, oldest first, linked through Waiter.Link and Prev. The zero value is empty. All of it: under the guard.
type Queue struct {
	head, tail *coroutine.Waiter
}

// Empty reports whether nobody waits.
func (q *Queue) Empty() bool { return q.head == nil }

// Front returns who waits longest, or nil.
func (q *Queue) Front() *coroutine.Waiter { return q.head }

// Push adds w at the end. The kind is the primitive's own: any number from 1 to half of what a uintptr holds.
func (q *Queue) Push(w *coroutine.Waiter, kind uintptr) {
	w.Link, w.Prev = nil, q.tail
	atomic.StoreUintptr(&w.Tag, kind)
	if q.head == nil {
		q.head = w
	} else {
		q.tail.Link = w
	}
	q.tail = w
}

// PushFront adds w in front of all others: for one that was woken and has to wait on.
func (q *Queue) PushFront(w *coroutine.Waiter, kind uintptr) {
	w.Link, w.Prev = q.head, nil
	atomic.StoreUintptr(&w.Tag, kind)
	if q.head == nil {
		q.tail = w
	} else {
		q.head.Prev = w
	}
	q.head = w
}

// Remove takes w out wherever it is. Precondition: it is in this queue.
func (q *Queue) Remove(w *coroutine.Waiter) {
	q.cut(w)
	atomic.StoreUintptr(&w.Tag, 0)
}

func (q *Queue) cut(w *coroutine.Waiter) {
	if w.Prev == nil {
		q.head = w.Link
	} else {
		w.Prev.Link = w.Link
	}
	if w.Link == nil {
		q.tail = w.Prev
	} else {
		w.Link.Prev = w.Prev
	}
	w.Link, w.Prev = nil, nil
}

// Kind returns the kind that a queued waiter was pushed with. Under the guard.
func Kind(w *coroutine.Waiter) uintptr { return atomic.LoadUintptr(&w.Tag) }

// Queued reports whether w has not been granted what it waits for. Without the guard a true may be over at once; a false stays.
func Queued(w *coroutine.Waiter) bool {
	Step(OpTag)
	return atomic.LoadUintptr(&w.Tag) < granted
}

// Batch is waiters that have been let go and are to be woken once the guard is free. The zero value is empty.
type Batch struct {
	head, tail *coroutine.Waiter
}

// Take takes w out of q and grants it what it waits for. Under the guard.
func (b *Batch) Take(q *Queue, w *coroutine.Waiter) {
	q.cut(w)
	atomic.StoreUintptr(&w.Tag, granted)
	if b.head == nil {
		b.head = w
	} else {
		b.tail.Link = w
	}
	b.tail = w
}

// TakeAll takes all of q. Under the guard.
func (b *Batch) TakeAll(q *Queue) {
	for w := q.head; w != nil; w = q.head {
		b.Take(q, w)
	}
}

// Empty reports whether nobody is to be woken.
func (b *Batch) Empty() bool { return b.head == nil }

// Wake wakes them, in the order in which they were taken. Without the guard. Does not park.
func (b *Batch) Wake() {
	for w := b.head; w != nil; {
		next := w.Link
		wake(w)
		Step(OpLoose)
		atomic.StoreUintptr(&w.Tag, loose)
		w = next
	}
	b.head, b.tail = nil, nil
}
