package fd

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

// Mode is a direction.
type Mode = processor.Mode

// The directions.
const (
	Read  = processor.Read
	Write = processor.Write
)

// FD is a non-blocking fd whose operations park.
type FD struct {
	*Descriptor // constant; nil in the zero value, which mu shows as closed

	mu   Mutex
	fd   int  // constant; valid while mu counts a user
	kind Kind // constant

	queue                   recvQueue  // under mu's read lock
	unreadKnown             bool       // ReportUnread was called; under mu's read lock
	readBudget, writeBudget coopBudget // under mu's read and write lock

	served    counter.Counter // under either lock: which coroutine serves it, see serving.go
	readParks counter.Counter // written under the read lock; others read it
	parksSeen uint64          // of readParks, by the last write; under mu's write lock
}

// Kind says what a read's result means.
type Kind uint8

// The kinds.
const (
	unmade    Kind = iota // the zero value: there is no fd
	TCPStream             // a read that got less than it asked for has drained it
	// UnixStream is a stream that a short read need not have drained: a read
	// stops in front of data that came with fds or credentials.
	UnixStream
	Packets    // a read takes one packet, which may be empty
	SeqPackets // the same, but an empty one is the end of the stream
)

// HasPackets reports whether a read or write moves one packet, which is never
// split.
func (f *FD) HasPackets() bool { return f.kind >= Packets }

// Kind returns the kind.
func (f *FD) Kind() Kind { return f.kind }

// openSockets counts fds that are open. Each Processor adds to a cache line of
// its own, so that no line moves between cores with each connection; ordinary
// goroutines use the last line. A count may be negative: an fd may be closed on
// another Processor.
var openSockets [64]struct {
	n atomic.Int64
	_ [56]byte
}

func countOpen(n int64) {
	line := len(openSockets) - 1
	if p := processor.Current(); p != nil {
		line = p.Index() % line
	}
	openSockets[line].n.Add(n)
}

// OpenCount returns how many fds of this package are open in the process. An fd
// that opens or closes during the call may count or not.
func OpenCount() int {
	n := 0
	for i := range openSockets {
		n += int(openSockets[i].n.Load())
	}
	return max(n, 0)
}

// Init makes f of an fd, which it owns from then on, and of d, which is new.
// The owner of f must close it, unless CloseWhenLost is called too; an f
// without CloseWhenLost saves the memory of a cleanup.
func (f *FD) Init(d *Descriptor, fd int, k Kind) {
	d.init(fd)
	f.Descriptor, f.fd, f.kind = d, fd, k
	f.mu.Open()
}

// Made reports whether Init was called.
func (f *FD) Made() bool { return f.kind != unmade }

// Sysfd returns the number of the fd. It is valid while something keeps the fd
// open.
func (f *FD) Sysfd() int { return f.fd }

// verdictError is the error for a wait that did not end in Try.
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

// Err returns why no operation in direction m may be tried, or nil.
func (f *FD) Err(m Mode) error { return verdictError(f.pd.Check(m)) }

// Close ends the fd: operations under way and later ones return
// net.ErrClosed. It does not park a coroutine, see closing.go.
func (f *FD) Close() error { return f.CloseAfter(func() {}) }

// CloseAfter is Close that calls last once no caller can get the write lock any
// more, unless a caller still has the lock.
func (f *FD) CloseAfter(last func()) error {
	if f.kind == unmade {
		return syscall.EINVAL
	}
	users, written := f.mu.Close()
	if users == 0 {
		return net.ErrClosed
	}
	if !written {
		last()
	}
	switch parked := f.pd.Evict(); {
	case users == 1+parked:
		f.mu.retire()
		f.disown()
	case coroutine.Current() != nil || clock.InBubble():
		if f.mu.Unuse() {
			f.disown()
		}
	default:
		f.awaitDestroyed()
	}
	return nil
}

// SetDeadline sets one or both directions' deadlines; the zero time is none.
func (f *FD) SetDeadline(t time.Time, modes ...Mode) error {
	if !f.mu.Use() {
		return net.ErrClosed
	}
	d := int64(0)
	if !t.IsZero() {
		d = max(1, clock.Deadline(t))
	}
	for _, m := range modes {
		f.pd.SetDeadline(m, d)
	}
	f.unuse()
	return nil
}

func (f *FD) unuse() {
	if f.mu.Unuse() {
		f.disown()
	}
}

// Control runs fn with the fd, which stays open meanwhile.
func (f *FD) Control(fn func(fd int) error) error {
	if !f.mu.Use() {
		return net.ErrClosed
	}
	defer f.unuse()
	return fn(f.fd)
}

// SetInt sets an option.
func (f *FD) SetInt(level, name, value int) error {
	return f.Control(func(fd int) error {
		return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, name, value))
	})
}
