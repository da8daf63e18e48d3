package channel

import (
	"errors"

	"github.com/netco-go/netco/internal/ticking"
)

// ErrClosed is the error of an operation on a closed channel; a receive returns
// it once the channel is also empty.
var ErrClosed = errors.New("netco/channel: closed")

// Chan is a channel of T, made by Make. Operations on a nil *Chan wait for
// ever, as in Go. It must not be copied.
type Chan[T any] struct {
	bias // the lock of the fields below

	// Under the guard, or without it if the bias allows; len(buf) is constant.
	closed bool

	// The buffer is a ring of which count values from head on are in use.
	buf         []T
	head, count int

	// Receivers wait only while the buffer is empty, senders only while it is
	// full. A closed channel has no waiters.
	recvq, sendq queue[T]

	free *waiter[T]        // a stack, through Link
	tick *ticking.Ticks[T] // constant; not nil if time sends, see tick.go
}

// Make returns a new channel. With capacity 0 it is unbuffered. Make panics if
// capacity is negative.
//
// It is not inlined, so that no channel is on a stack, where its address could
// change: Select locks channels in the order of their addresses.
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

// Len returns the number of buffered values; 0 for nil.
func (c *Chan[T]) Len() int {
	if c == nil {
		return 0
	}
	c.lock()
	n := c.count
	c.guard.Unlock()
	return n
}

// Cap returns the capacity; 0 for nil.
func (c *Chan[T]) Cap() int {
	if c == nil {
		return 0
	}
	return len(c.buf)
}

// Close closes the channel and wakes all waiters: receivers get the buffered
// values and then zero values, senders panic. It panics if the channel is nil
// or closed. It does not park.
func (c *Chan[T]) Close() {
	if c == nil {
		panic("netco/channel: close of nil channel")
	}
	if !c.closeOnce() {
		panic("netco/channel: close of closed channel")
	}
}

// closeOnce closes the channel. It reports false if the channel was closed
// already.
func (c *Chan[T]) closeOnce() bool {
	c.lock()
	if c.closed {
		c.guard.Unlock()
		return false
	}
	c.closed = true
	c.claimAllLocked(&c.recvq)
	c.claimAllLocked(&c.sendq)
	c.guard.Unlock()
	return true
}

// pushLocked adds v to the buffer. Precondition: the buffer is not full.
func (c *Chan[T]) pushLocked(v T) {
	i := c.head + c.count
	if i >= len(c.buf) {
		i -= len(c.buf)
	}
	c.buf[i] = v
	c.count++
}

// popLocked removes the oldest value from the buffer, and clears its place
// there. Precondition: the buffer is not empty.
func (c *Chan[T]) popLocked() T {
	var none T
	v := c.buf[c.head]
	c.buf[c.head] = none
	if c.head++; c.head == len(c.buf) {
		c.head = 0
	}
	c.count--
	return v
}
