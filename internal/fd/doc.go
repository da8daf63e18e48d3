// Package fd is an fd whose operations park the coroutine that calls them, and
// block an ordinary goroutine. It is to package socket what internal/poll is to
// package net: socket has types, addresses, dialling and errors with names;
// package fd has the fd, its locks, its state, and the loops "check, try, wait,
// try again". Only this package waits for an fd, calls a PollDesc or uses
// epoll. It is for the engine.
//
// # Model
//
// An operation takes the lock of its direction, checks deadline and end
// (check), makes an attempt that never blocks, and waits for an edge if that
// found nothing (waitLocked to read, awaitWritableLocked to write). ReadWith
// and WriteWith do this for any attempt; Read, and operations with more to
// decide, have loops of their own around the same three steps. A wake means
// "try again": Close, deadlines and the end of the Scheduler wake the waiter,
// and the check finds them.
//
// # States
//
// An FD, as its Mutex shows it:
//
//	unmade   the zero value: operations fail with net.ErrClosed, Close with
//	         EINVAL
//	open     has an fd; operations run
//	closing  Close was called: no operation begins, and waits end
//	closed   the last user has gone and the fd is closed
//
//	unmade → open      Init
//	open → closing     Close; the garbage collector, for an unreachable FD
//	                   (CloseWhenLost), which has no users
//	closing → closed   the last of: the operations under way, Close itself, an
//	                   Inspect
//
// One direction of an open FD, under its lock:
//
//	idle      no operation
//	trying    an attempt is made
//	waiting   the caller is in the PollDesc, or a Watch is that holds no
//	          coroutine
//
//	idle → trying      the operation has the lock, and check allows it
//	idle → waiting     a read of a queue that is known to be empty, see
//	                   recvQueue
//	trying → waiting   the attempt returned EAGAIN
//	waiting → trying   an edge, or a wake for another reason
//	any → idle         the operation's end
//
// The table of the receive queue's states stands beside recvQueue, in
// readiness.go; the words of Mutex and of served have theirs beside the types.
//
// # Locks
//
// A lock is held across a wait; its holder is a coroutine, a goroutine, or a
// connection of a Server that waits for a request. Locks are acquired in one
// order: a source's read lock, then a sink's write lock, and the first is given
// up before a wait for the sink.
package fd
