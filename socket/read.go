package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// recvQueue is what is known of a socket's receive queue, as of the last edge.
// Under the read lock.
//
//	maybe       a read is worth an attempt
//	drained     the kernel has returned EAGAIN, or registering the fd will
//	            report what there is: only an edge makes a read worth while
//	shortRead   the last read took all there was, so the kernel need not be
//	            asked
//
//	any → what the attempt shows    a read
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

// recvQueueAfter is what an attempt to read shows: errno, or that it got less
// than it asked for.
func recvQueueAfter(short bool, errno syscall.Errno) recvQueue {
	switch {
	case errno == unix.EAGAIN:
		return drained
	case short:
		return shortRead
	}
	return maybe
}

// updateQueue resolves maybe, before a wait that is to end only when there is
// something to read. The mark of an edge found here may be of what has been
// read since. Under the read lock.
func (s *socket) updateQueue() {
	switch {
	case s.unread != nil:
	case s.queue == maybe && !s.pd.Bound():
		s.queue = drained // registering it reports an edge for whatever is there
	case s.pd.Clear(processor.Read) || s.queue == maybe:
		s.queue = maybe
		if !s.pollReadable() {
			s.queue = drained
		}
	}
}

// readable reports whether a read would return at once.
func (s *socket) readable() bool {
	if !s.mu.tryLock(reading) {
		return s.pd.Check(processor.Read) != processor.Ready
	}
	known := s.queue != maybe && s.pd.Bound() && !s.pd.Edge(processor.Read)
	ready := s.unread != nil || s.pd.Check(processor.Read) != processor.Ready ||
		!known && s.pollReadable()
	if s.mu.unlock(reading) {
		s.destroy()
	}
	return ready
}

// pollReadable asks the kernel whether a read would return at once. Unlike a
// recv with MSG_PEEK it leaves an error to the read that returns it.
func (s *socket) pollReadable() bool {
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN | unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 || errno != 0 && errno != unix.EAGAIN // an Injector's EAGAIN: nothing
}

// pollIn asks the kernel whether there are bytes to read, or the end of the
// stream.
func (s *socket) pollIn() bool {
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	n, _ := sysx.TryPoll(fds[:])
	return n > 0 && fds[0].Revents&unix.POLLIN != 0
}

// beforeWait accounts for a wait that begins. Under the read lock.
func (s *socket) beforeWait(counts *processor.IOStats) {
	s.readBudget = 0
	s.readParks.Inc()
	if s.queue == shortRead {
		s.queue = drained
		counts.CountSavedRead()
	}
}

func (s *socket) read(p []byte) (int, error) {
	if !s.mu.lock(reading) {
		return 0, net.ErrClosed
	}
	n, err := s.readLocked(p, true)
	if s.mu.unlock(reading) {
		s.destroy()
	}
	return n, err
}

// tryRead is read that returns errWouldPark where read would wait. It asks the
// kernel no more often than read does.
func (s *socket) tryRead(p []byte) (int, error) {
	if !s.mu.lock(reading) {
		return 0, net.ErrClosed
	}
	n, err := s.readLocked(p, false)
	if s.mu.unlock(reading) {
		s.destroy()
	}
	return n, err
}

// errWouldPark never leaves this package.
var errWouldPark = errors.New("netco/socket: it would have to wait")

func (s *socket) readLocked(p []byte, wait bool) (int, error) {
	if len(p) == 0 {
		return 0, nil // net takes no packet for that either
	}
	if v := s.check(processor.Read); v != processor.Ready {
		return 0, verdictError(v)
	}
	if s.unread != nil {
		return s.takeUnread(p), nil
	}
	for {
		here := processor.Current() // each time: a wait may have moved the caller
		if s.queue == maybe || s.pd.Edge(processor.Read) {
			s.pd.Clear(processor.Read)
			n, short, errno := s.tryRecv(here.IO(), p)
			s.queue = recvQueueAfter(short && n > 0, errno)
			switch {
			case n > 0 || errno == 0 && s.kind == packets:
				s.noteRead()
				s.spendRead(n)
				return n, nil
			case errno == 0:
				return 0, io.EOF
			case errno != unix.EAGAIN:
				return 0, os.NewSyscallError("read", errno)
			}
		}
		if !wait {
			return 0, errWouldPark
		}
		v, err := s.waitLocked(here)
		if err != nil {
			s.queue = maybe // the fd is in no epoll, so no edge will be reported
		}
		if v != processor.Ready || err != nil {
			return 0, waitError(v, err)
		}
		s.queue = maybe
	}
}

// tryRecv makes one attempt. short means that the queue is empty for the
// moment, as far as the kind of socket shows it.
func (s *socket) tryRecv(counts *processor.IOStats, p []byte) (n int, short bool,
	errno syscall.Errno) {
	if s.kind.isPackets() {
		n, errno = s.tryRecvPacket(counts, p)
		if n == 0 && errno == 0 && s.spuriousEOF() {
			n, errno = s.tryRecvPacket(counts, p)
		}
		return n, false, errno
	}
	for again := true; again; {
		n, short, errno = sysx.TryRecv(s.fd, p)
		counts.CountRead(n, errno)
		// In front of urgent data a thread with a signal pending, and Go sends
		// those, gets EAGAIN though there is something (tcp_recvmsg).
		again = errno == unix.EAGAIN && s.pd.ReadOn() && s.pollIn()
	}
	return n, short && s.kind == tcpStream && !s.pd.ReadOn(), errno
}

func (s *socket) tryRecvPacket(counts *processor.IOStats, p []byte) (n int, errno syscall.Errno) {
	n, errno = sysx.TryRecvPacket(s.fd, p)
	counts.CountRead(n, errno)
	return n, errno
}

// spuriousEOF reports whether a read of nothing, just made, may be wrong about
// the end of the stream. Linux checks a unixpacket socket for packets first and
// then for a peer that has closed, so it reports an end in front of packets if
// both arrived in between. The peer has closed, so the next read is right. An
// empty packet in front of others looks the same and is skipped.
func (s *socket) spuriousEOF() bool {
	if s.kind != seqpackets {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 && errno == 0
}

func (s *socket) waitReadable() error {
	if !s.mu.lock(reading) {
		return net.ErrClosed
	}
	err := verdictError(s.pd.Check(processor.Read))
	if err == nil && (s.queue == maybe || s.pd.Edge(processor.Read)) {
		s.updateQueue()
	}
	for err == nil && s.queue != maybe && s.unread == nil && !s.pd.Edge(processor.Read) {
		here := processor.Current()
		v, werr := s.waitLocked(here)
		if werr != nil {
			s.queue = maybe // the fd is in no epoll, so no edge will be reported
		}
		if v != processor.Ready || werr != nil {
			err = waitError(v, werr)
		}
	}
	if s.mu.unlock(reading) {
		s.destroy()
	}
	return err
}

// readWith runs any operation that takes from the socket, as read runs its own.
// try makes one attempt, without blocking, and is called again after an edge
// when it has returned EAGAIN; n is the bytes it moved, for the budget. The
// error is that of call, or of the wait. Parks. It does not allocate unless try
// does.
func (s *socket) readWith(call string, try func(fd int) (n int, errno syscall.Errno)) error {
	if !s.mu.lock(reading) {
		return net.ErrClosed
	}
	err := s.readWithLocked(call, try)
	if s.mu.unlock(reading) {
		s.destroy()
	}
	return err
}

func (s *socket) readWithLocked(call string, try func(fd int) (n int, errno syscall.Errno)) error {
	if v := s.check(processor.Read); v != processor.Ready {
		return verdictError(v)
	}
	for {
		if s.queue == maybe || s.unread != nil || s.pd.Edge(processor.Read) {
			s.pd.Clear(processor.Read)
			n, errno := try(s.fd)
			s.queue = recvQueueAfter(false, errno)
			if errno == 0 {
				s.noteRead()
				s.spendRead(n)
				return nil
			}
			if errno != unix.EAGAIN {
				return os.NewSyscallError(call, errno)
			}
		}
		if err := s.awaitReadableLocked(); err != nil {
			return err
		}
	}
}

// awaitReadableLocked waits for an edge, or for a deadline, Close or shutdown,
// which is the error.
func (s *socket) awaitReadableLocked() error {
	here := processor.Current()
	v, err := s.waitLocked(here)
	if err != nil {
		s.queue = maybe // the fd is in no epoll, so no edge will be reported
	}
	if v != processor.Ready || err != nil {
		return waitError(v, err)
	}
	s.queue = maybe
	return nil
}
