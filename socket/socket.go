package socket

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/processor"
)

// Buffer is memory lent by a Processor, see AcquireBuffer.
type Buffer = processor.Buffer

// AcquireBuffer lends a buffer (16 KiB by default) from the calling coroutine's
// Processor: the one released last, which is still in the cache. Release it
// before the next wait. An ordinary goroutine gets one from a common pool.
//
// It does not allocate once the pool is filled. It parks only where
// Options.BufferMemory is set and in use: until a buffer is released, or until
// a forced shutdown unwinds the coroutine. A coroutine that holds one and waits
// for another may wait for ever: take the second by TryAcquireBuffer.
func AcquireBuffer() *Buffer { return processor.AcquireBuffer() }

// TryAcquireBuffer is AcquireBuffer that does not park: it returns nil where
// Options.BufferMemory is in use.
func TryAcquireBuffer() *Buffer { return processor.TryAcquireBuffer() }

// socket is a non-blocking fd: the part that all connections and listeners
// share.
type socket struct {
	*descriptor // constant; nil in the zero value, which mu shows as closed

	mu   fdMutex
	fd   int  // constant; valid while mu counts a user
	kind kind // constant

	queue                   recvQueue  // under mu's read lock
	readBudget, writeBudget coopBudget // under mu's read and write lock

	unread    *unreadBuf      // taken by a copy whose sink did not take it; under mu's read lock
	served    counter.Counter // which coroutine serves it, see serving.go
	readParks counter.Counter // written under the read lock
	parksSeen uint64          // of readParks, by the last write; under mu's write lock
}

// kind says what a read's result means.
type kind uint8

const (
	unmade    kind = iota // the zero value: there is no fd
	tcpStream             // a read that got less than it asked for has drained it
	// A short read has not drained it: a read stops in front of data that came
	// with fds or credentials.
	unixStream
	packets    // a read takes one packet, which may be empty
	seqpackets // the same, but an empty one is the end of the stream
)

// isPackets reports whether a read or write moves one packet, which is never
// split.
func (k kind) isPackets() bool { return k >= packets }

// openSockets counts fds that are open. Each Processor adds to a cache line of
// its own, so that none goes from core to core with each connection; the last
// is that of ordinary goroutines. A line may be negative: an fd may be closed
// elsewhere.
var openSockets [64]struct {
	n atomic.Int64
	_ [56]byte
}

// countOpen adds to openSockets.
func countOpen(n int64) {
	line := len(openSockets) - 1
	if p := processor.Current(); p != nil {
		line = p.Index() % line
	}
	openSockets[line].n.Add(n)
}

// openCount returns how many sockets and files of this package are open in the
// process. What opens or closes meanwhile may count or not.
func openCount() int {
	n := 0
	for i := range openSockets {
		n += int(openSockets[i].n.Load())
	}
	return max(n, 0)
}

// init makes a socket of an fd, which it owns from then on, and of d, which is
// new. The garbage collector closes it if it is unreachable.
func (s *socket) init(d *descriptor, fd int, k kind, n network, r role) {
	s.initKept(d, fd, k, n, r)
	s.closeWhenLost()
}

// initKept is init for a socket that its owner closes in any case: that saves
// the memory of a cleanup.
func (s *socket) initKept(d *descriptor, fd int, k kind, n network, r role) {
	d.init(fd, n, r)
	s.descriptor, s.fd, s.kind = d, fd, k
	s.mu.open()
}

// verdictError is the error for a wait that did not end in Ready.
func verdictError(v processor.Verdict) error {
	switch v {
	case processor.Timeout:
		return os.ErrDeadlineExceeded
	case processor.Closing:
		return net.ErrClosed
	case processor.Shutdown, processor.Drained:
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

// destroy closes the fd, or leaves that to an Inspect. The last user calls it.
func (s *socket) destroy() { s.disown() }

// close ends the socket: operations under way and later ones return
// net.ErrClosed. It does not park a coroutine, see closing.go.
func (s *socket) close() error { return s.closeAfter(func() {}) }

// closeAfter is close that calls last in between, when the write lock can not
// be had any more, unless a caller still has it.
func (s *socket) closeAfter(last func()) error {
	if s.kind == unmade {
		return syscall.EINVAL
	}
	users, written := s.mu.close()
	if users == 0 {
		return net.ErrClosed
	}
	if !written {
		last()
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

// realDeadline is deadline for waits on an fd: CLOCK_MONOTONIC, also in a
// bubble.
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
