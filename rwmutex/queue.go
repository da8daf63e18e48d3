package rwmutex

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// A waiter's Tag says where it is:
//
//	tag        means                              set by                                 under guard
//	tagReader  in a queue, to read                itself (push)                          yes
//	tagWriter  in a queue, to write               itself (push)                          yes
//	tagGranted taken out; has the lock, but the   who unlocked, or gave up (take)        yes
//	           waker may still be touching it
//	tagLoose   the waker has done with it         that waker (wakeAll), its last access  no
const (
	tagReader uintptr = 1 + iota
	tagWriter
	tagGranted
	tagLoose
)

// queue is the waiters, oldest first, linked through Waiter.Link. All of it: under the lock's guard.
type queue struct {
	head, tail *coroutine.Waiter
}

func (q *queue) empty() bool { return q.head == nil }

// push adds w at the end.
func (q *queue) push(w *coroutine.Waiter, kind uintptr) {
	w.Link = nil
	atomic.StoreUintptr(&w.Tag, kind)
	if q.head == nil {
		q.head = w
	} else {
		q.tail.Link = w
	}
	q.tail = w
}

// takeFront grants the lock to whoever is to have it next, and returns the state in which they hold it and a list of them.
//
// Precondition: the queue is not empty.
func (q *queue) takeFront() (state int64, batch *coroutine.Waiter) {
	if state, batch = q.takeReaders(); batch == nil {
		batch = q.head
		atomic.StoreUintptr(&batch.Tag, tagGranted)
		q.cut(batch)
		state = writer
	}
	if !q.empty() {
		state |= queued
	}
	return state, batch
}

// takeReaders grants the lock to the readers in front of the next writer, if any, and returns their number and a list of
// them.
func (q *queue) takeReaders() (n int64, batch *coroutine.Waiter) {
	var last *coroutine.Waiter
	for w := q.head; w != nil && atomic.LoadUintptr(&w.Tag) == tagReader; w = w.Link {
		atomic.StoreUintptr(&w.Tag, tagGranted)
		n++
		last = w
	}
	if last != nil {
		batch = q.head
		q.cut(last)
	}
	return n, batch
}

// cut ends the list at last; the queue goes on behind it.
func (q *queue) cut(last *coroutine.Waiter) {
	q.head, last.Link = last.Link, nil
	if q.head == nil {
		q.tail = nil
	}
}

// remove takes w out wherever it is. It looks for it from the front.
//
// Precondition: w is in the queue.
func (q *queue) remove(w *coroutine.Waiter) {
	var prev *coroutine.Waiter
	at := &q.head
	for *at != w {
		prev = *at
		at = &prev.Link
	}
	*at = w.Link
	if q.tail == w {
		q.tail = prev
	}
	w.Link = nil
	atomic.StoreUintptr(&w.Tag, 0)
}
