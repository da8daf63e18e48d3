// Package mpsc is an intrusive queue with many producers and one consumer.
//
// It is a stack that the consumer takes whole and reverses (Treiber, "Systems
// programming: coping with parallelism", 1986): Push is one compare-and-swap,
// Take one swap whatever the number of nodes. Nodes of one producer come out in
// the order in which they went in.
package mpsc

import "sync/atomic"

// Node is embedded in a queued object. It may be in one queue at a time.
type Node[T any] struct {
	next  *Node[T] // producer until pushed, then consumer
	Value *T       // the object that embeds the node; set once by its owner
}

// Queue is the queue. The zero value is empty and ready.
type Queue[T any] struct {
	head atomic.Pointer[Node[T]]
}

// Push adds n, from any thread. A node that is still queued must not be pushed.
func (q *Queue[T]) Push(n *Node[T]) {
	for {
		old := q.head.Load()
		n.next = old
		if q.head.CompareAndSwap(old, n) {
			return
		}
	}
}

// Empty reports whether the queue is empty, from any thread.
func (q *Queue[T]) Empty() bool { return q.head.Load() == nil }

// Take removes all nodes and returns the oldest; Next returns the others.
// Consumer only.
func (q *Queue[T]) Take() *Node[T] {
	if q.head.Load() == nil {
		return nil
	}
	var oldest *Node[T]
	for n := q.head.Swap(nil); n != nil; {
		next := n.next
		n.next = oldest
		oldest = n
		n = next
	}
	return oldest
}

// Next unlinks n from the list that Take returned and returns the node after
// it. From then on n may be pushed again.
func (n *Node[T]) Next() *Node[T] {
	next := n.next
	n.next = nil
	return next
}
