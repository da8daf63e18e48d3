package processor

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/counter"
)

// IOFigures are figures about system calls on sockets: counters, or their
// values.
type IOFigures[T any] struct {
	Reads, Writes, Accepts             T // calls, those that found nothing included
	ReadAgain, WriteAgain, AcceptAgain T // of them, those that found nothing: EAGAIN
	SavedReads                         T // reads not made because a short read had drained the socket
	BytesIn, BytesOut                  T
	Accepted                           T
	AcceptErrors                       [AcceptErrorKinds]T
}

// IOStats count the system calls on sockets that a Processor's coroutines make.
// Its thread writes them, any thread reads them.
type IOStats struct{ IOFigures[counter.Counter] }

// IOSnapshot is what IOStats held at some moment.
type IOSnapshot = IOFigures[uint64]

// AcceptError is a kind of error that accept(2) ends with.
type AcceptError uint8

// The kinds.
const (
	AcceptConnection AcceptError = iota // the connection has failed before it was accepted
	AcceptFiles                         // no fd is left: EMFILE, ENFILE
	AcceptMemory                        // no memory is left for it: ENOBUFS, ENOMEM
	AcceptOther

	AcceptErrorKinds = iota
)

func (k AcceptError) String() string {
	return [...]string{"connection", "files", "memory", "other"}[k]
}

// AcceptErrorOf returns the kind of an errno of accept(2) other than EAGAIN.
func AcceptErrorOf(errno syscall.Errno) AcceptError {
	switch errno {
	case unix.EMFILE, unix.ENFILE:
		return AcceptFiles
	case unix.ENOBUFS, unix.ENOMEM:
		return AcceptMemory
	case unix.ECONNABORTED, unix.EPROTO, unix.EPERM, unix.ENETDOWN, unix.ENOPROTOOPT, unix.EHOSTDOWN, unix.ENONET,
		unix.EHOSTUNREACH, unix.EOPNOTSUPP, unix.ENETUNREACH:
		return AcceptConnection // accept(2)
	}
	return AcceptOther
}

// Snapshot reads the counters, from any thread. Each is of its own moment.
func (s *IOStats) Snapshot() IOSnapshot { return snapshot(&s.IOFigures) }

// outside counts what ordinary goroutines do. They are many, so these are
// atomic adds.
var outside IOFigures[atomic.Uint64]

// OutsideIO is what the ordinary goroutines of the process have done on
// sockets.
func OutsideIO() IOSnapshot { return snapshot(&outside) }

func snapshot[T any, P interface {
	*T
	Load() uint64
}](f *IOFigures[T]) IOSnapshot {
	r := IOSnapshot{
		Reads: P(&f.Reads).Load(), Writes: P(&f.Writes).Load(), Accepts: P(&f.Accepts).Load(),
		ReadAgain: P(&f.ReadAgain).Load(), WriteAgain: P(&f.WriteAgain).Load(), AcceptAgain: P(&f.AcceptAgain).Load(),
		SavedReads: P(&f.SavedReads).Load(),
		BytesIn:    P(&f.BytesIn).Load(), BytesOut: P(&f.BytesOut).Load(),
		Accepted: P(&f.Accepted).Load(),
	}
	for i := range f.AcceptErrors {
		r.AcceptErrors[i] = P(&f.AcceptErrors[i]).Load()
	}
	return r
}

// HereIO returns the counters of the caller's Processor, for an operation that counts more than once; nil for an ordinary goroutine, whose calls
// the methods below count in OutsideIO. It is good until the caller waits, which may move it.
func HereIO() *IOStats { return Here().IO() }

// CountRead counts one call, by the caller, that reads from a socket: n bytes, or errno.
func CountRead(n int, errno syscall.Errno) { HereIO().CountRead(n, errno) }

// CountWrite counts one call, by the caller, that writes to a socket: n bytes, or errno.
func CountWrite(n int, errno syscall.Errno) { HereIO().CountWrite(n, errno) }

// CountSavedRead counts one read that the caller need not make.
func CountSavedRead() { HereIO().CountSavedRead() }

// CountRead is the function CountRead for who has called HereIO. So are the others.
func (s *IOStats) CountRead(n int, errno syscall.Errno) {
	if s == nil {
		outside.Reads.Add(1)
		if errno == unix.EAGAIN {
			outside.ReadAgain.Add(1)
		} else if errno == 0 {
			outside.BytesIn.Add(uint64(n))
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

func (s *IOStats) CountWrite(n int, errno syscall.Errno) {
	if s == nil {
		outside.Writes.Add(1)
		if errno == unix.EAGAIN {
			outside.WriteAgain.Add(1)
		} else if errno == 0 {
			outside.BytesOut.Add(uint64(n))
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

func (s *IOStats) CountSavedRead() {
	if s != nil {
		s.SavedReads.Inc()
	} else {
		outside.SavedReads.Add(1)
	}
}

// CountAccept counts one call of accept by the caller.
func CountAccept(errno syscall.Errno) {
	s := HereIO()
	if s == nil {
		outside.Accepts.Add(1)
		switch errno {
		case 0:
			outside.Accepted.Add(1)
		case unix.EAGAIN:
			outside.AcceptAgain.Add(1)
		default:
			outside.AcceptErrors[AcceptErrorOf(errno)].Add(1)
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

// IO returns the counters of what its coroutines do on sockets; nil for no Processor.
func (p *Processor) IO() *IOStats {
	if p == nil {
		return nil
	}
	return &p.io
}
