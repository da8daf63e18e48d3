package processor

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/counter"
)

// ioFigures are figures about system calls on sockets: counters, or their
// values.
type ioFigures[T any] struct {
	Reads, Writes, Accepts             T // calls, including those that found nothing
	ReadAgain, WriteAgain, AcceptAgain T // the calls that found nothing: EAGAIN
	SavedReads                         T // not made, since a short read had drained the socket
	BytesIn, BytesOut                  T
	Accepted                           T
	AcceptErrors                       [AcceptErrorKinds]T
}

// IOStats count the system calls that a Processor's coroutines make on sockets.
// Its owner writes them, any thread reads them.
type IOStats struct{ ioFigures[counter.Counter] }

// IOSnapshot is a copy of an IOStats.
type IOSnapshot = ioFigures[uint64]

// AcceptError is a kind of error of accept(2).
type AcceptError uint8

// The kinds.
const (
	AcceptConnection AcceptError = iota // the connection has failed before it was accepted
	AcceptFiles                         // no fd is left: EMFILE, ENFILE
	AcceptMemory                        // no memory is left for the connection: ENOBUFS, ENOMEM
	acceptOther

	AcceptErrorKinds = iota
)

func (e AcceptError) String() string {
	return [...]string{"connection", "files", "memory", "other"}[e]
}

// AcceptErrorOf returns the kind of an errno of accept(2) other than EAGAIN.
func AcceptErrorOf(errno syscall.Errno) AcceptError {
	switch errno {
	case unix.EMFILE, unix.ENFILE:
		return AcceptFiles
	case unix.ENOBUFS, unix.ENOMEM:
		return AcceptMemory
	case unix.ECONNABORTED, unix.EPROTO, unix.EPERM, unix.ENETDOWN, unix.ENOPROTOOPT,
		unix.EHOSTDOWN, unix.ENONET, unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH:
		return AcceptConnection // as accept(2) lists them
	}
	return acceptOther
}

// Snapshot reads the counters, from any thread. Each is read at its own moment.
func (s *IOStats) Snapshot() IOSnapshot { return snapshot(&s.ioFigures) }

// goroutineIO counts what ordinary goroutines do, by atomic adds, since there
// are many of them.
var goroutineIO ioFigures[atomic.Uint64]

// GoroutineIO returns the counts for the ordinary goroutines of the process.
func GoroutineIO() IOSnapshot { return snapshot(&goroutineIO) }

func snapshot[T any, P interface {
	*T
	Load() uint64
}](f *ioFigures[T]) IOSnapshot {
	r := IOSnapshot{
		Reads: P(&f.Reads).Load(), Writes: P(&f.Writes).Load(), Accepts: P(&f.Accepts).Load(),
		ReadAgain: P(&f.ReadAgain).Load(), WriteAgain: P(&f.WriteAgain).Load(),
		AcceptAgain: P(&f.AcceptAgain).Load(),
		SavedReads:  P(&f.SavedReads).Load(),
		BytesIn:     P(&f.BytesIn).Load(), BytesOut: P(&f.BytesOut).Load(),
		Accepted: P(&f.Accepted).Load(),
	}
	for i := range f.AcceptErrors {
		r.AcceptErrors[i] = P(&f.AcceptErrors[i]).Load()
	}
	return r
}

// CurrentIO returns the counters of the caller's Processor, for an operation
// that counts more than once. It is nil for an ordinary goroutine, whose calls
// the methods below count in GoroutineIO. The result is good until the caller
// waits: a wait may move the caller.
func CurrentIO() *IOStats { return Current().IO() }

// CountRead counts one call, by the caller, that reads from a socket: n bytes,
// or errno.
func CountRead(n int, errno syscall.Errno) { CurrentIO().CountRead(n, errno) }

// CountWrite counts one call, by the caller, that writes to a socket: n bytes,
// or errno.
func CountWrite(n int, errno syscall.Errno) { CurrentIO().CountWrite(n, errno) }

// CountRead is the function CountRead for a caller that has called CurrentIO. s
// may be nil.
func (s *IOStats) CountRead(n int, errno syscall.Errno) {
	if s == nil {
		goroutineIO.Reads.Add(1)
		if errno == unix.EAGAIN {
			goroutineIO.ReadAgain.Add(1)
		} else if errno == 0 {
			goroutineIO.BytesIn.Add(uint64(n))
		}
		return
	}
	s.Reads.Inc()
	if errno == 0 {
		s.BytesIn.Add(uint64(n))
	} else if errno == unix.EAGAIN {
		s.ReadAgain.Inc()
	}
}

// CountWrite is the function CountWrite for a caller that has called CurrentIO.
// s may be nil.
func (s *IOStats) CountWrite(n int, errno syscall.Errno) {
	if s == nil {
		goroutineIO.Writes.Add(1)
		if errno == unix.EAGAIN {
			goroutineIO.WriteAgain.Add(1)
		} else if errno == 0 {
			goroutineIO.BytesOut.Add(uint64(n))
		}
		return
	}
	s.Writes.Inc()
	if errno == 0 {
		s.BytesOut.Add(uint64(n))
	} else if errno == unix.EAGAIN {
		s.WriteAgain.Inc()
	}
}

// CountSavedRead counts one read that the caller need not make. s may be nil.
func (s *IOStats) CountSavedRead() {
	if s != nil {
		s.SavedReads.Inc()
	} else {
		goroutineIO.SavedReads.Add(1)
	}
}

// CountAccept counts one call of accept by the caller.
func CountAccept(errno syscall.Errno) {
	s := CurrentIO()
	if s == nil {
		goroutineIO.Accepts.Add(1)
		switch errno {
		case 0:
			goroutineIO.Accepted.Add(1)
		case unix.EAGAIN:
			goroutineIO.AcceptAgain.Add(1)
		default:
			goroutineIO.AcceptErrors[AcceptErrorOf(errno)].Add(1)
		}
		return
	}
	s.Accepts.Inc()
	switch errno {
	case 0:
		s.Accepted.Inc()
	case unix.EAGAIN:
		s.AcceptAgain.Inc()
	default:
		s.AcceptErrors[AcceptErrorOf(errno)].Inc()
	}
}

// IO returns the counters of the Processor's system calls on sockets; nil if p
// is nil.
func (p *Processor) IO() *IOStats {
	if p == nil {
		return nil
	}
	return &p.io
}
