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
func (f *FD) Read(p []byte) (int, error) {
	if !f.mu.Lock(Read) {
		return 0, net.ErrClosed
	}
	n, err := f.readLocked(p, true)
	f.Unlock(Read)
	return n, err
}

// TryRead is Read that returns ErrWouldPark where Read would wait. It makes no
// more system calls than Read does.
func (f *FD) TryRead(p []byte) (int, error) {
	if !f.mu.Lock(Read) {
		return 0, net.ErrClosed
	}
	n, err := f.readLocked(p, false)
	f.Unlock(Read)
	return n, err
}

// ErrWouldPark is TryRead's error, which no user gets.
var ErrWouldPark = errors.New("netco/socket: it would have to wait")

func (f *FD) readLocked(p []byte, wait bool) (int, error) {
	if len(p) == 0 {
		return 0, nil // net takes no packet for an empty p either
	}
	if v := f.check(Read); v != processor.Try {
		return 0, verdictError(v)
	}
	for {
		here := processor.Current() // each time: a wait may have moved the caller
		if f.worthAttemptLocked() {
			f.pd.Clear(Read)
			n, short, errno := f.tryRecv(here.IO(), p)
			f.endAttemptLocked(short && n > 0, errno)
			switch {
			case n > 0 || errno == 0 && f.kind == Packets:
				f.NoteRead()
				f.spendRead(n)
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
		if err := f.awaitReadableLocked(here); err != nil {
			return 0, err
		}
	}
}

// tryRecv makes one attempt. short means that the queue is empty for the
// moment, as far as the kind of socket shows it.
func (f *FD) tryRecv(counts *processor.IOStats, p []byte) (n int, short bool,
	errno syscall.Errno) {
	if f.HasPackets() {
		n, errno = f.tryRecvPacket(counts, p)
		if n == 0 && errno == 0 && f.spuriousEOF() {
			n, errno = f.tryRecvPacket(counts, p)
		}
		return n, false, errno
	}
	for again := true; again; {
		shared := f.pd.Shared()
		if shared && f.kind == TCPStream {
			n, short, errno = f.tryRecvShared(p)
		} else {
			n, short, errno = sysx.TryRecv(f.fd, p)
			short = short && f.kind == TCPStream
		}
		counts.CountRead(n, errno)
		// In front of urgent data a thread with a pending signal, such as Go's
		// for preemption, gets EAGAIN though there is data (tcp_recvmsg).
		again = errno == unix.EAGAIN && (shared || f.pd.ReadOn()) && f.pollIn()
	}
	return n, short, errno
}

// tryRecvShared is tryRecv of a connection whose events do not report that the
// peer has closed its side: then only the kernel's count shows that a short
// read has left nothing.
func (f *FD) tryRecvShared(p []byte) (n int, all bool, errno syscall.Errno) {
	if !f.unreadKnown {
		f.unreadKnown = true
		sysx.ReportUnread(f.fd)
	}
	return sysx.TryRecvAll(f.fd, p)
}

func (f *FD) tryRecvPacket(counts *processor.IOStats, p []byte) (n int, errno syscall.Errno) {
	n, errno = sysx.TryRecvPacket(f.fd, p, nil)
	counts.CountRead(n, errno)
	return n, errno
}

// spuriousEOF reports whether a read of nothing, just made, may be wrong about
// the end of the stream. Linux checks a unixpacket socket for packets first and
// then for a peer that has closed, so it reports an end in front of packets if
// both arrived in between. The peer has closed, so the next read is right. An
// empty packet in front of others looks the same and is skipped.
func (f *FD) spuriousEOF() bool {
	if f.kind != SeqPackets {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(f.fd), Events: unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 && errno == 0
}

// WaitReadable waits until a Read will probably not wait. Parks.
func (f *FD) WaitReadable() error {
	if !f.mu.Lock(Read) {
		return net.ErrClosed
	}
	err := verdictError(f.pd.Check(Read))
	if err == nil && f.worthAttemptLocked() {
		f.updateQueueLocked()
	}
	for err == nil && !f.worthAttemptLocked() {
		err = f.waitLocked(processor.Current())
	}
	f.Unlock(Read)
	return err
}

// ReadWith runs try as Read runs its own attempts. try makes one attempt to
// read without blocking; after EAGAIN it is called again at the next edge. Its
// n is the number of bytes moved, for the budget; short means that it emptied
// the receive queue. The error is that of call, or of the wait. Parks. It does
// not allocate unless try does.
func (f *FD) ReadWith(call string,
	try func(fd int) (n int, short bool, errno syscall.Errno)) error {
	if !f.mu.Lock(Read) {
		return net.ErrClosed
	}
	err := f.readWithLocked(call, try)
	f.Unlock(Read)
	return err
}

func (f *FD) readWithLocked(call string,
	try func(fd int) (n int, short bool, errno syscall.Errno)) error {
	if v := f.check(Read); v != processor.Try {
		return verdictError(v)
	}
	for {
		if f.worthAttemptLocked() {
			f.pd.Clear(Read)
			n, short, errno := try(f.fd)
			f.endAttemptLocked(short, errno)
			if errno == 0 {
				f.NoteRead()
				f.spendRead(n)
				return nil
			}
			if errno != unix.EAGAIN {
				return os.NewSyscallError(call, errno)
			}
		}
		if err := f.awaitReadableLocked(processor.Current()); err != nil {
			return err
		}
	}
}

// awaitReadableLocked is waitLocked, repeated until a read is worth an attempt.
func (f *FD) awaitReadableLocked(here *processor.Processor) error {
	if err := f.waitLocked(here); err != nil {
		return err
	}
	f.queue = maybe
	return nil
}

// waitLocked waits for an edge, a deadline, Close or shutdown. The error
// reports the last three; nil means that the caller tries again, perhaps in
// vain. A wait for a request also ends when the Scheduler drains, unless there
// is something to read. here is the result of processor.Current since the last
// wait. Under the read lock.
func (f *FD) waitLocked(here *processor.Processor) error {
	f.readBudget = 0
	f.readParks.Inc()
	if f.beginWaitLocked() {
		here.IO().CountSavedRead()
	}
	var v processor.Verdict
	var err error
	if !f.awaitsRequest() {
		v, err = f.pd.WaitFrom(here, f.fd, Read, coroutine.ReasonRead, 0)
	} else if v, err = f.pd.WaitForRequest(here, f.fd); v == processor.Drained && f.PollReadable() {
		f.queue, v = maybe, processor.Try // its edge was not reported yet
	}
	if err != nil {
		f.queue = maybe // the fd is in no epoll, so no edge will be reported
	}
	return waitError(v, err)
}
