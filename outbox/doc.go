// Package outbox is a bounded queue of messages for each connection, written by
// a coroutine that exists only while there is something to write: for pub/sub,
// chat, and other programs that send one message to many connections.
//
//	out := outbox.New(c, outbox.Options{Policy: outbox.DropOldest})
//	defer out.Close()
//	...
//	for out := range subscribers {
//		out.Send(message) // does not wait for a slow peer
//	}
//
// # Policies
//
// A policy says what happens when Send finds the queue full:
//
//	Wait        it waits for room; Close, a failed write and SendContext's
//	            context end that
//	DropOldest  it takes the place of the oldest, which are dropped
//	Disconnect  the connection is closed: Send returns ErrSlow
//
// # Contract
//
// A message is a slice that is not changed after Send. It is not copied, so a
// program may send one message to many Outboxes. The messages of one sender are
// written in their order. All methods may be called from any coroutines and
// goroutines at the same time. While an Outbox is in use, nothing else should
// write to its connection, or set its write deadline if WriteTimeout is set.
//
// Send starts a writer if there is none: a coroutine, or a goroutine where a
// goroutine calls it or Options.MaxCoroutines refuses the coroutine. The writer
// writes the queued messages, many at a time: to a TCP or Unix connection of
// netco with one system call, to another stream, such as one of package tls or
// a type that embeds a connection, as one Write of up to 16 KiB. To anything
// else each message is a Write. When the queue is empty the writer ends, so an
// idle connection costs some 400 bytes.
//
// If a write fails, the connection is closed and every later call returns that
// error. The queued messages count as dropped.
//
// # How it works
//
// One mutex guards the queue and its state. It is held for a few instructions
// and never across a write or a wait. A queue that is not empty has a writer;
// the writer takes a batch under the mutex and writes the batch after unlocking
// it.
package outbox
