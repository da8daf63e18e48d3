package fd

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// recvQueue is the known state of a socket's receive queue, as of the last
// edge. Under the read lock. The PollDesc has two more facts: the mark of an
// edge, and whether the peer has hung up (ReadOn). This file has all code that
// combines the three.
//
//	maybe       a read is worth an attempt
//	drained     the kernel has returned EAGAIN, or registering the fd will
//	            report any data: only an edge makes a read worth while
//	shortRead   the last read took all there was, so the kernel need not be
//	            asked
//
//	any → as the attempt shows      a read
//	shortRead → drained             the wait that replaces an attempt begins,
//	                                and is counted
//	any → maybe                     an edge ended the wait, or there is no
//	                                epoll to report one
type recvQueue uint8

const (
	maybe recvQueue = iota
	drained
	shortRead
)

// worthAttemptLocked reports whether there may be something to read. An attempt
// clears the mark of the last edge first: an edge from then on leaves a new
// one.
func (f *FD) worthAttemptLocked() bool {
	return f.queue == maybe || f.pd.Edge(Read)
}

// endAttemptLocked updates queue after an attempt to read. short means that the
// attempt got less than it asked for, on a kind of socket where that means that
// it got all. After a hang-up, which may have come during the attempt, only
// EAGAIN means that the queue is empty.
func (f *FD) endAttemptLocked(short bool, errno syscall.Errno) {
	switch {
	case errno == unix.EAGAIN:
		f.queue = drained
	case short && !f.pd.ReadOn():
		f.queue = shortRead
	default:
		f.queue = maybe
	}
}

// beginWaitLocked records that a wait begins, and reports whether the wait
// replaces an attempt.
func (f *FD) beginWaitLocked() (saved bool) {
	if saved = f.queue == shortRead; saved {
		f.queue = drained
	}
	return saved
}

// updateQueueLocked resolves maybe, before a wait that has to end only when
// there is something to read. The mark of an edge may be of bytes that have
// been read since.
func (f *FD) updateQueueLocked() {
	switch {
	case f.queue == maybe && !f.pd.Bound():
		f.queue = drained // registering the fd makes an edge if there is data
	case f.pd.Clear(Read) || f.queue == maybe:
		f.queue = maybe
		if !f.PollReadable() {
			f.queue = drained
		}
	}
}

// Readable reports whether a read would return at once.
func (f *FD) Readable() bool {
	if !f.mu.TryLock(Read) {
		return f.Err(Read) != nil
	}
	known := f.pd.Bound() && !f.worthAttemptLocked()
	ready := f.Err(Read) != nil || !known && f.PollReadable()
	f.Unlock(Read)
	return ready
}

// PollReadable asks the kernel whether a read would return at once. Unlike a
// recv with MSG_PEEK it leaves an error to the read that returns it.
func (f *FD) PollReadable() bool {
	fds := [1]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 || errno != 0 && errno != unix.EAGAIN // an Injector's EAGAIN: nothing
}

// pollIn asks the kernel whether there are bytes to read, or the end of the
// stream.
func (f *FD) pollIn() bool {
	fds := [1]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLIN}}
	n, _ := sysx.TryPoll(fds[:])
	return n > 0 && fds[0].Revents&unix.POLLIN != 0
}
