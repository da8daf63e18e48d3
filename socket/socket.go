package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Buffer is memory lent by a Processor, see AcquireBuffer.
type Buffer = processor.Buffer

// AcquireBuffer lends a buffer (16 KiB by default) from the calling coroutine's Processor: the one given back last, which is
// still in the cache. Give it back with Release before the next wait. An ordinary goroutine gets one from a common pool.
// It does not allocate once the pool is filled, and does not park but where Options.BufferMemory is set and in use: then it waits until a
// buffer is given back, and unwinds when the scheduler ends by force. A coroutine that has one and waits for another may wait for ever: take
// the second by TryAcquireBuffer.
func AcquireBuffer() *Buffer { return processor.AcquireBuffer() }

// TryAcquireBuffer is AcquireBuffer that does not wait: it returns nil where Options.BufferMemory is in use.
func TryAcquireBuffer() *Buffer { return processor.TryAcquireBuffer() }

// socket is a non-blocking fd: the part that all connections and listeners share.
type socket struct {
	*descriptor // constant; nil in the zero value, which mu shows as closed

	mu   fdMutex
	fd   int  // constant; valid while mu counts a user
	kind kind // constant

	queue emptiness // of what there is to read; under mu's read lock
	// Operations in a row that did not park; under mu's read and write lock.
	readBurst, writeBurst uint8

	unread    *leftover       // taken by a copy whose sink did not take it, see moveback.go. Under mu's read lock.
	readParks counter.Counter // written under the read lock
	parksSeen uint64          // of readParks, by the last write; under mu's write lock
}

// kind says what a read's result means.
type kind uint8

const (
	unmade     kind = iota // the zero value: there is no fd
	tcpStream              // a read that got less than it asked for has emptied it
	unixStream             // the same does not hold: a read stops in front of data that came with fds or credentials
	packets                // a read takes one packet, which may be empty
	seqpackets             // the same, but an empty one is the end
)

// isPackets reports whether reads and writes move one packet each, which is never split.
func (k kind) isPackets() bool { return k >= packets }

// An operation that succeeds without a park counts one, and one more for each
// burstBytes moved; at burst the coroutine yields, or when the turn is over.
const (
	burst      = 32
	burstBytes = 16 << 10
)

// openSockets counts fds that are open.
var openSockets atomic.Int64

// Open returns how many sockets of this package are open in the process.
func Open() int { return int(openSockets.Load()) }

// init makes a socket of an fd, which it owns from then on, and of d, which is
// new. mark says what it is part of. What is lost without a Close is closed by
// the garbage collector.
func (s *socket) init(d *descriptor, fd int, k kind, n network, mark uint8) {
	s.initKept(d, fd, k, n, mark)
	s.closeWhenLost()
}

// initKept is init for a socket that is closed in any case, by what refers to
// it: that saves the memory of a cleanup.
func (s *socket) initKept(d *descriptor, fd int, k kind, n network, mark uint8) {
	d.init(fd, n, mark)
	s.descriptor, s.fd, s.kind = d, fd, k
	s.mu.open()
}

// destroy closes the fd, or leaves that to an Inspect. The last user calls it.
func (s *socket) destroy() { s.disown() }

// close ends the socket: operations under way return net.ErrClosed, later ones too. It does not park a coroutine, see closing.go.
func (s *socket) close() error {
	if s.kind == unmade {
		return syscall.EINVAL
	}
	users := s.mu.close()
	if users == 0 {
		return net.ErrClosed
	}
	switch parked := s.pd.Evict(); {
	case users == 1+parked:
		s.mu.retire()
		s.destroy()
	case coroutine.Current() != nil || clock.InBubble():
		if s.mu.unuse() {
			s.destroy()
		}
	default:
		s.awaitDestroyed()
	}
	return nil
}

// verdictError is the error for a wait that did not end in Ready.
func verdictError(v processor.Verdict) error {
	switch v {
	case processor.Timeout:
		return os.ErrDeadlineExceeded
	case processor.Closing:
		return net.ErrClosed
	case processor.Shutdown:
		return coroutine.ErrShutdown
	}
	return nil
}

// waitError is the error for what PollDesc.Wait returned, or nil.
func waitError(v processor.Verdict, err error) error {
	if err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return verdictError(v)
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

// tryRead is read that returns errWouldPark where read would wait. It asks the kernel no more than read does.
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
		here := processor.Here() // each time: a wait may have moved the caller
		if s.queue == unknown || s.pd.Edge(processor.Read) {
			s.pd.Clear(processor.Read)
			n, short, errno := s.tryRecv(here.IO(), p)
			s.queue = emptinessAfter(short && n > 0, errno)
			switch {
			case n > 0 || errno == 0 && s.kind == packets:
				s.pace(&s.readBurst, n)
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
		s.beforeWait(here.IO())
		v, err := s.pd.WaitFrom(here, s.fd, processor.Read, coroutine.ReasonRead, 0)
		if err != nil {
			s.queue = unknown // it is in no epoll, so no edge will tell
		}
		if v != processor.Ready || err != nil {
			return 0, waitError(v, err)
		}
		s.queue = unknown
	}
}

// tryRecv makes one attempt. short tells that there is no more for the moment, as far as the kind of socket lets one say so.
func (s *socket) tryRecv(counts *processor.IOStats, p []byte) (n int, short bool, errno syscall.Errno) {
	if s.kind.isPackets() {
		n, errno = s.tryRecvPacket(counts, p)
		if n == 0 && errno == 0 && s.falseEnd() {
			n, errno = s.tryRecvPacket(counts, p)
		}
		return n, false, errno
	}
	n, short, errno = sysx.TryRecv(s.fd, p)
	counts.CountRead(n, errno)
	return n, short && s.kind == tcpStream && !s.pd.ReadOn(), errno
}

func (s *socket) tryRecvPacket(counts *processor.IOStats, p []byte) (n int, errno syscall.Errno) {
	n, errno = sysx.TryRecvPacket(s.fd, p)
	counts.CountRead(n, errno)
	return n, errno
}

// falseEnd reports whether a read of nothing, just made, may be wrong about the end. Linux looks for packets of a unixpacket socket
// first and whether the peer has closed it then, so it tells of an end when both came in between, in front of what was sent. Now
// that the peer has closed, the next read is right. An empty packet in front of others looks the same and is skipped.
func (s *socket) falseEnd() bool {
	if s.kind != seqpackets {
		return false
	}
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
	n, errno := sysx.TryPoll(fds[:])
	return n > 0 && errno == 0
}

func (s *socket) trySend(p []byte) (n int, errno syscall.Errno) {
	if s.kind.isPackets() {
		n, errno = sysx.TrySendPacket(s.fd, p)
	} else {
		n, errno = sysx.TrySend(s.fd, p)
	}
	processor.HereIO().CountWrite(n, errno)
	return n, errno
}

// pace lets others run, and their I/O be looked for, after a burst of
// operations that did not park, or when the turn is over: what is done between
// two operations may take much longer than these. The first operation after a
// park does not look at the clock. A coroutine may move meanwhile; with the lock
// for reading, which goes with readBurst, it takes the fd along.
func (s *socket) pace(count *uint8, bytes int) {
	if *count == 0 && bytes < burstBytes {
		*count = 1
		return
	}
	s.paceOn(count, bytes)
}

func (s *socket) paceOn(count *uint8, bytes int) {
	first := *count == 0
	if *count += uint8(1 + min(bytes, sysx.MaxIO)/burstBytes); *count >= burst || !first && processor.TurnOver() {
		*count = 1 // no park: the next operation looks at the clock
		if processor.YieldTurn() {
			*count = burst // the next operation is told, see check
		}
		if count == &s.readBurst {
			s.pd.TakeAlong(s.fd)
		}
	}
}

func (s *socket) waitReadable() error {
	if !s.mu.lock(reading) {
		return net.ErrClosed
	}
	err := verdictError(s.pd.Check(processor.Read))
	if err == nil && (s.queue == unknown || s.pd.Edge(processor.Read)) {
		s.updateQueue()
	}
	for err == nil && s.queue != unknown && s.unread == nil && !s.pd.Edge(processor.Read) {
		here := processor.Here()
		s.beforeWait(here.IO())
		v, werr := s.pd.WaitFrom(here, s.fd, processor.Read, coroutine.ReasonRead, 0)
		if werr != nil {
			s.queue = unknown // it is in no epoll, so no edge will tell
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

func (s *socket) write(p []byte) (int, error) {
	if !s.mu.lock(writing) {
		return 0, net.ErrClosed
	}
	n, err := s.writeLocked(p)
	if s.mu.unlock(writing) {
		s.destroy()
	}
	return n, err
}

func (s *socket) writeLocked(p []byte) (int, error) {
	if v := s.check(processor.Write); v != processor.Ready {
		return 0, verdictError(v)
	}
	done := 0
	for {
		n, errno := s.trySend(p[done:])
		done += n
		switch {
		case errno == 0:
			s.wrote(n)
			if done == len(p) {
				return done, nil
			}
		case errno != unix.EAGAIN:
			return done, os.NewSyscallError("write", errno)
		default:
			if err := s.awaitWritableLocked(); err != nil {
				return done, err
			}
		}
	}
}

// deadline converts a net.Conn deadline to ns of clock.Now, in a bubble of
// testing/synctest the bubble's clock; 0 is none.
func deadline(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	if d := clock.Until(t); d > 0 || d < 0 && clock.InBubble() {
		return d
	}
	return 1 // long ago
}

// realDeadline is deadline for what the kernel is waited for: CLOCK_MONOTONIC,
// also in a bubble.
func realDeadline(t time.Time) int64 {
	d := deadline(t)
	if d < 0 {
		return max(1, clock.Real()+int64(time.Until(t)))
	}
	return d
}

// setDeadline sets one or both directions' deadlines.
func (s *socket) setDeadline(t time.Time, modes ...processor.Mode) error {
	if !s.mu.use() {
		return net.ErrClosed
	}
	d := realDeadline(t)
	for _, m := range modes {
		s.pd.SetDeadline(m, d)
	}
	s.unuse()
	return nil
}

func (s *socket) unuse() {
	if s.mu.unuse() {
		s.destroy()
	}
}

// control runs f with the fd while it is sure to be open.
func (s *socket) control(f func(fd int) error) error {
	if !s.mu.use() {
		return net.ErrClosed
	}
	defer s.unuse()
	return f(s.fd)
}

func (s *socket) setInt(level, name, value int) error {
	return s.control(func(fd int) error {
		return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, name, value))
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
