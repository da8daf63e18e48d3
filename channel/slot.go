package channel

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// The Tag of a Waiter that is queued here. A wait in one channel and a Select in several go by the same word; the last two
// are as in package waitq.
//
//	tag      means                                       set by                                  under
//	waiting  it is queued, and whoever claims it may     itself, before it is queued
//	         complete the operation
//	left     the Select has waited long enough           itself, by compare-and-swap             nothing
//	granted  claimed: the operation is done, the waker   the waker (slot.claim); for a Select,   its channel's guard
//	         may still be touching the waiter            by compare-and-swap
//	loose    the waker has done with the waiter          that waker, its last access             nothing
//	0        it is in no queue                           itself
const (
	waiting = uintptr(1)
	left    = uintptr(2)
	granted = ^uintptr(1)
	loose   = ^uintptr(0)
)

// slot is one wait of somebody in one queue of one channel: a Send or Recv has one, a Select one for each case. It is the
// channel's, which keeps it for the next; between those it is the waiter's, who alone gives it back.
type slot[T any] struct {
	w          *coroutine.Waiter
	c          *Chan[T]
	next, prev *slot[T] // under the guard
	value      T        // what is to be sent; what has been received
	ok         bool     // written by the waker: the value was sent or received, the channel was not closed
	queued     bool     // under the guard
	send       bool     // of a Select: it is, or was, in sendq
	many       bool     // of a Select: others can claim the waiter at the same time
	chosen     bool     // of a Select, under the guard: this is the slot that was claimed
}

// claim makes sure that the waker, who has taken s out of its queue, is the one to wake s.w. Under the guard.
func (s *slot[T]) claim() bool {
	if s.many {
		waitq.Step(opClaim)
		s.chosen = atomic.CompareAndSwapUintptr(&s.w.Tag, waiting, granted)
		return s.chosen
	}
	atomic.StoreUintptr(&s.w.Tag, granted)
	return true
}

// opClaim is the claim of a Select's waiter.
const opClaim waitq.Op = "claim select"

// queue is slots, oldest first; those in none have neither next nor prev, but for spare ones. All of it: under the guard.
type queue[T any] struct{ head, tail *slot[T] }

func (q *queue[T]) push(s *slot[T]) {
	s.queued = true
	if q.tail == nil {
		q.head, q.tail = s, s
		return
	}
	q.tail.next, s.prev, q.tail = s, q.tail, s
}

// remove takes s out wherever it is. Precondition: it is in this queue.
func (q *queue[T]) remove(s *slot[T]) {
	if s.prev == nil {
		q.head = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.tail = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.next, s.prev, s.queued = nil, nil, false
}

// pop is remove of the oldest.
func (q *queue[T]) pop(s *slot[T]) {
	s.queued = false
	if s.next == nil {
		q.head, q.tail = nil, nil
		return
	}
	s.next.prev, q.head, s.next = nil, s.next, nil
}

// take takes out who has waited longest and claims it; nil if there is nobody. The slot of a Select that somebody else has
// claimed, or that has left, is dropped on the way: its owner will find it out of the queue.
func (q *queue[T]) take() *slot[T] {
	for s := q.head; s != nil; s = q.head {
		q.remove(s)
		if s.claim() {
			return s
		}
	}
	return nil
}

// spare returns a slot for w, or nil if there is none to spare; then the caller makes one, without the guard. Under the guard.
func (c *Chan[T]) spare() *slot[T] {
	s := c.free
	if s != nil {
		c.free = s.next
		s.next = nil
	}
	return s
}

// giveBack takes back a slot that is in no queue and that no waker touches. Under the guard.
func (c *Chan[T]) giveBack(s *slot[T]) {
	var none T
	s.value, s.w, s.ok, s.many, s.send, s.chosen = none, nil, false, false, false, false
	s.next = c.free
	c.free = s
}

// batch is waiters that have been claimed and are to be woken without a guard. The zero value is empty.
type batch struct{ head, tail *coroutine.Waiter }

func (b *batch) add(w *coroutine.Waiter) {
	w.Link = nil
	if b.head == nil {
		b.head = w
	} else {
		b.tail.Link = w
	}
	b.tail = w
}

func (b *batch) wake() {
	for w := b.head; w != nil; {
		next := w.Link
		wake(w)
		w = next
	}
}

// wake wakes a waiter that the caller has claimed. After it the caller knows the waiter no more.
func wake(w *coroutine.Waiter) {
	waitq.Wake(w)
	waitq.Step(waitq.OpLoose)
	atomic.StoreUintptr(&w.Tag, loose)
}
