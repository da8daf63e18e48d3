package fd

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Read is the Read of every kind of connection, with bare errors. Parks.
func (s *FD) Read(p []byte) (int, error) {
	if !s.mu.Lock(Read) {
		return 0, net.ErrClosed
	}
	n, err := s.readLocked(p, true)
	s.Unlock(Read)
	return n, err
}

// TryRead is Read that returns ErrWouldPark where Read would wait. It makes no
// more system calls than Read does.
func (s *FD) TryRead(p []byte) (int, error) {
	if !s.mu.Lock(Read) {
		return 0, net.ErrClosed
	}
	n, err := s.readLocked(p, false)
	s.Unlock(Read)
	return n, err
}

// ErrWouldPark is TryRead's error, which no user gets.
var ErrWouldPark = errors.New("netco/socket: it would have to wait")

func (s *FD) readLocked(p []byte, wait bool) (int, error) {
	if len(p) == 0 {
		return 0, nil // net takes no packet for that either
	}
	if v := s.check(Read); v != processor.Try {
		return 0, verdictError(v)
	}
	for {
		here := processor.Current() // each time: a wait may have moved the caller
		if s.worthAttemptLocked() {
			s.pd.Clear(Read)
			n, short, errno := s.tryRecv(here.IO(), p)
			s.endAttemptLocked(short && n > 0, errno)
			switch {
			case n > 0 || errno == 0 && s.kind == Packets:
				s.NoteRead()
				s.spendRead(n)
				return n, nil
			case errno == 0:
				return 0, io.EOF
			case errno != unix.EAGAIN:
				return 0, os.NewSyscallError("read", errno)
			}
		}
		if !wait {
			return 0, ErrWouldPark
		}
		if err := s.awaitReadableLocked(here); err != nil {
			return 0, err
		}
	}
}

// tryRecv makes one attempt. short means that the queue is empty for the
// moment, as far as the kind of socket shows it.
func (s *FD) tryRecv(counts *processor.IOStats, p []byte) (n int, short bool,
	errno syscall.Errno) {
	if s.HasPackets() {
		n, errno = s.tryRecvPacket(counts, p)
		if n == 0 && errno == 0 && s.spuriousEOF() {
			n, errno = s.tryRecvPacket(counts, p)
		}
		return n, false, errno
	}
	for again := true; again; {
		shared := s.pd.Shared()
		if shared && s.kind == TCPStream {
			n, short, errno = s.tryRecvShared(p)
		} else {
			n, short, errno = sysx.TryRecv(s.fd, p)
			short = short && s.kind == TCPStream
		}
		counts.CountRead(n, errno)
		// In front of urgent data a thread with a pending signal, such as Go's
		// for preemption, gets EAGAIN though there is data (tcp_recvmsg).
		again = errno == unix.EAGAIN && (shared || s.pd.ReadOn()) && s.pollIn()
	}
	return n, short, errno
}

// tryRecvShared is tryRecv of a connection whose events do not report that the
// peer has closed its side: then only the kernel's count shows that a short
// read has left nothing.
func (s *FD) tryRecvShared(p []byte) (n int, all bool, errno syscall.Errno) {
	if !s.unreadKnown {
		s.unreadKnown = true
		sysx.ReportUnread(s.fd)
	}
	return sysx.TryRecvAll(s.fd, p)
}

func (s *FD) tryRecvPacket(counts *processor.IOStats, p []byte) (n int, errno syscall.Errno) {
	n, errno = sysx.TryRecvPacket(s.fd, p, nil)
	counts.CountRead(n, errno)
	return n, errno
}

// spuriousEOF reports whether a read of nothing, just made, may be wrong about
// the end of the stream. Linux checks a unixpacket socket for packets first and
// then for a peer that has closed, so it reports an end in front of packets if
// both arrived in between. The peer has closed, so the next read is right. An
// empty packet in front of others looks the same and is skipped.
func (s *FD) spuriousEOF() bool {
	if s.kind != SeqPackets {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 && errno == 0
}

// WaitReadable waits until a Read will probably not wait. Parks.
func (s *FD) WaitReadable() error {
	if !s.mu.Lock(Read) {
		return net.ErrClosed
	}
	err := verdictError(s.pd.Check(Read))
	if err == nil && s.worthAttemptLocked() {
		s.updateQueueLocked()
	}
	for err == nil && !s.worthAttemptLocked() {
		err = s.waitLocked(processor.Current())
	}
	s.Unlock(Read)
	return err
}

// ReadWith runs try as Read runs its own attempts. try makes one attempt to
// read without blocking; after EAGAIN it is called again at the next edge. Its
// n is the number of bytes moved, for the budget; short means that it emptied
// the receive queue. The error is that of call, or of the wait. Parks. It does
// not allocate unless try does.
func (s *FD) ReadWith(call string,
	try func(fd int) (n int, short bool, errno syscall.Errno)) error {
	if !s.mu.Lock(Read) {
		return net.ErrClosed
	}
	err := s.readWithLocked(call, try)
	s.Unlock(Read)
	return err
}

func (s *FD) readWithLocked(call string,
	try func(fd int) (n int, short bool, errno syscall.Errno)) error {
	if v := s.check(Read); v != processor.Try {
		return verdictError(v)
	}
	for {
		if s.worthAttemptLocked() {
			s.pd.Clear(Read)
			n, short, errno := try(s.fd)
			s.endAttemptLocked(short, errno)
			if errno == 0 {
				s.NoteRead()
				s.spendRead(n)
				return nil
			}
			if errno != unix.EAGAIN {
				return os.NewSyscallError(call, errno)
			}
		}
		if err := s.awaitReadableLocked(processor.Current()); err != nil {
			return err
		}
	}
}

// awaitReadableLocked is waitLocked, repeated until a read is worth an attempt.
func (s *FD) awaitReadableLocked(here *processor.Processor) error {
	if err := s.waitLocked(here); err != nil {
		return err
	}
	s.queue = maybe
	return nil
}

// waitLocked waits for an edge, a deadline, Close or shutdown. The error
// reports the last three; nil means that the caller tries again, perhaps in
// vain. A wait for a request also ends when the Scheduler drains, unless there
// is something to read. here is the result of processor.Current since the last
// wait. Under the read lock.
func (s *FD) waitLocked(here *processor.Processor) error {
	s.readBudget = 0
	s.readParks.Inc()
	if s.beginWaitLocked() {
		here.IO().CountSavedRead()
	}
	var v processor.Verdict
	var err error
	if s.served.Load() == 0 || !s.awaitsRequest() {
		v, err = s.pd.WaitFrom(here, s.fd, Read, coroutine.ReasonRead, 0)
	} else if v, err = s.pd.WaitForRequest(here, s.fd); v == processor.Drained && s.PollReadable() {
		s.queue, v = maybe, processor.Try // its edge was not reported yet
	}
	if err != nil {
		s.queue = maybe // the fd is in no epoll, so no edge will be reported
	}
	return waitError(v, err)
}
