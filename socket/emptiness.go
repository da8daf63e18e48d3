package socket

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// emptiness is what is known of a socket's receive queue, as of the last edge. Under the read lock.
//
//	unknown   a read is worth a try
//	empty     it has said EAGAIN, or registering it will tell: only an edge makes a read worth while
//	emptied   the last read took all there was, so that it need not be asked
//
//	any → what the attempt has shown    a read
//	emptied → empty                     the wait that the attempt saved is about to begin, and is counted
//	any → unknown                       an edge has ended the wait; or there is no epoll to tell of one
type emptiness uint8

const (
	unknown emptiness = iota
	empty
	emptied
)

// emptinessAfter is what an attempt to read shows: errno, or that it has got less than it asked for.
func emptinessAfter(short bool, errno syscall.Errno) emptiness {
	switch {
	case errno == unix.EAGAIN:
		return empty
	case short:
		return emptied
	}
	return unknown
}

// updateQueue settles what is not known of the queue, before a wait that is to
// end only when there is something to read. The mark of an edge found here may
// be of what has been read since. Under the read lock.
func (s *socket) updateQueue() {
	switch {
	case s.unread != nil:
	case s.queue == unknown && !s.pd.Bound():
		s.queue = empty // registering it makes an edge of whatever is there
	case s.pd.Clear(processor.Read) || s.queue == unknown:
		s.queue = unknown
		if !s.pollReadable() {
			s.queue = empty
		}
	}
}

// pollReadable asks the kernel whether there is something to read or to tell.
// Unlike a recv with MSG_PEEK it leaves an error to the read that returns it.
func (s *socket) pollReadable() bool {
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 || errno != 0 && errno != unix.EAGAIN // which is an Injector's: nothing
}

// beforeWait notes that a wait for something to read begins. Under the read lock.
func (s *socket) beforeWait(counts *processor.IOStats) {
	s.readBurst = 0
	s.readParks.Inc()
	if s.queue == emptied {
		s.queue = empty
		counts.CountSavedRead()
	}
}
