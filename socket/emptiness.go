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

// somethingThere asks the kernel, without taking anything, whether a stream has something to read or to tell.
func (s *socket) somethingThere() bool {
	if sysx.NothingThere(s.fd) {
		s.queue = empty
		processor.CountRead(0, unix.EAGAIN)
		return false
	}
	processor.CountRead(0, 0)
	return true
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
