package fd

import "time"

// Close closes the fd before it returns, as package net's does: then its
// address is free, and a peer that connects is refused.
//
//   - Parked operations check whether the socket is closed when they are woken,
//     and do not access the fd again. So if there are only parked operations,
//     Close closes the fd itself, without waiting for them.
//   - Other operations are in the middle of a system call, or have yielded
//     between two calls. Then the last of them closes the fd. A goroutine waits
//     for that up to closeLimit: the operation may be kept from returning by a
//     coroutine that waits, in a Go channel perhaps, for the caller of Close. A
//     coroutine does not wait: it may hold a mutex or a sync.Once that the
//     operation needs to return, and a wait would block the thread of both. Nor
//     does a goroutine in a bubble of testing/synctest: the operation may be
//     outside of it.

// closeLimit bounds how long a goroutine's Close waits for operations to
// return.
const closeLimit = 100 * time.Millisecond

// awaitDestroyed ends the use that Mutex.Close began and waits until the last
// user has closed the fd, or for closeLimit. It polls: few calls of Close wait
// at all, and an operation takes some microseconds.
func (f *FD) awaitDestroyed() {
	f.unuse()
	const first = 20 * time.Microsecond
	for left, pause := closeLimit, first; left > 0 && f.uses.Load() != closedUse; pause *= 2 {
		time.Sleep(min(pause, left))
		left -= pause
	}
}
