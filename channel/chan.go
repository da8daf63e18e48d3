package channel

import (
	"errors"

	"github.com/netco-go/netco/internal/waitq"
)

// ErrClosed is returned for a channel that is closed, and for a receive one that is also empty.
var ErrClosed = errors.New("netco/channel: closed")

// Chan is a channel of T, for coroutines and goroutines alike. Make makes one; a nil *Chan is, as in Go, one on which nothing
// ever happens. Not to be copied.
type Chan[T any] struct {
	guard waitq.Guard
	bias  // who needs no guard

	closed bool // under the guard, or without if the bias allows, as is all that follows but buf's length

	// The buffer: a ring of the channel's capacity, of which count values from head on are in use.
	buf         []T
	head, count int

	// Who waits. There are waiting receivers only while nothing is buffered, and waiting senders only while the buffer is full;
	// of a closed channel there are none.
	recvq, sendq queue[T]

	free *slot[T]  // spare slots, a stack through next
	tick *ticks[T] // constant: time sends, see tick.go; nil for other channels
}

// Make returns an open channel. With capacity 0 it is unbuffered: a send and a receive meet. It panics if capacity is negative.
//
// It is not inlined, so that no channel can lie on a stack: Select takes locks in the order of addresses.
//
//go:noinline
func Make[T any](capacity int) *Chan[T] {
	if capacity < 0 {
		panic("netco/channel: Make: negative capacity")
	}
	c := new(Chan[T])
	if capacity > 0 {
		c.buf = make([]T, capacity)
	}
	return c
}

// Len returns how many values are buffered at some moment just now; 0 for nil.
func (c *Chan[T]) Len() int {
	if c == nil {
		return 0
	}
	c.lock()
	n := c.count
	c.unlock()
	return n
}

// Cap returns the capacity; 0 for nil.
func (c *Chan[T]) Cap() int {
	if c == nil {
		return 0
	}
	return len(c.buf)
}

// Close closes the channel: receivers get what is buffered and then the zero value, senders panic, also those that wait. It wakes
// all who wait. It panics if the channel is nil or closed. Does not park.
func (c *Chan[T]) Close() {
	if c == nil {
		panic("netco/channel: close of nil channel")
	}
	if !c.closeOnce() {
		panic("netco/channel: close of closed channel")
	}
}

// closeOnce closes the channel unless it is closed.
func (c *Chan[T]) closeOnce() bool {
	c.lock()
	if c.closed {
		c.unlock()
		return false
	}
	c.closed = true
	var b batch
	for s := c.recvq.take(); s != nil; s = c.recvq.take() {
		s.ok = false
		b.add(s.w)
	}
	for s := c.sendq.take(); s != nil; s = c.sendq.take() {
		s.ok = false
		b.add(s.w)
	}
	c.unlock()
	b.wake()
	return true
}

// push adds v to the buffer. Precondition: there is room. Under the guard.
func (c *Chan[T]) push(v T) {
	i := c.head + c.count
	if i >= len(c.buf) {
		i -= len(c.buf)
	}
	c.buf[i] = v
	c.count++
}

// pop takes the oldest value out of the buffer, which keeps no copy. Precondition: there is one. Under the guard.
func (c *Chan[T]) pop() T {
	var none T
	v := c.buf[c.head]
	c.buf[c.head] = none
	if c.head++; c.head == len(c.buf) {
		c.head = 0
	}
	c.count--
	return v
}
