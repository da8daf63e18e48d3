package processor

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/counter"
)

// ioFigures are figures about system calls on sockets: counters, or their
// values.
type ioFigures[T any] struct {
	Reads, Writes, Accepts             T // calls, including those that found nothing
	ReadAgain, WriteAgain, AcceptAgain T // the calls that found nothing: EAGAIN
	SavedReads                         T // reads not made after a short read had drained the socket
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
	AcceptConnection AcceptError = iota // the connection failed before it was accepted
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

// goroutineIO counts what the ordinary goroutines of the process do. There are
// many of them, so it has no owner: see count.
var goroutineIO IOStats

// GoroutineIO returns the counts for the ordinary goroutines of the process.
func GoroutineIO() IOSnapshot { return goroutineIO.Snapshot() }

// Snapshot reads the counters, from any thread. Each is read at its own moment.
func (s *IOStats) Snapshot() IOSnapshot {
	r := IOSnapshot{
		Reads: s.Reads.Load(), Writes: s.Writes.Load(), Accepts: s.Accepts.Load(),
		ReadAgain: s.ReadAgain.Load(), WriteAgain: s.WriteAgain.Load(),
		AcceptAgain: s.AcceptAgain.Load(),
		SavedReads:  s.SavedReads.Load(),
		BytesIn:     s.BytesIn.Load(), BytesOut: s.BytesOut.Load(),
		Accepted: s.Accepted.Load(),
	}
	for i := range s.AcceptErrors {
		r.AcceptErrors[i] = s.AcceptErrors[i].Load()
	}
	return r
}

// count counts one call, and n in done if errno is 0; a call that found nothing
// in again. Owner only, unless s is goroutineIO.
func (s *IOStats) count(calls, again, done *counter.Counter, n uint64, errno syscall.Errno) {
	switch errno {
	case 0:
	case unix.EAGAIN:
		done, n = again, 1
	default:
		n = 0
	}
	if s == &goroutineIO {
		calls.AddShared(1)
		done.AddShared(n)
	} else {
		calls.Inc()
		done.Add(n)
	}
}

// CurrentIO returns the counters for the caller, for an operation that counts
// more than once: its Processor's or, for an ordinary goroutine, those of
// GoroutineIO. The result is good until the caller waits: a wait may move the
// caller.
func CurrentIO() *IOStats { return Current().IO() }

// CountRead counts one call, by the caller, that reads from a socket: n bytes,
// or errno.
func CountRead(n int, errno syscall.Errno) { CurrentIO().CountRead(n, errno) }

// CountWrite counts one call, by the caller, that writes to a socket: n bytes,
// or errno.
func CountWrite(n int, errno syscall.Errno) { CurrentIO().CountWrite(n, errno) }

// CountRead is the function CountRead for a caller that has called CurrentIO.
func (s *IOStats) CountRead(n int, errno syscall.Errno) {
	s.count(&s.Reads, &s.ReadAgain, &s.BytesIn, uint64(n), errno)
}

// CountWrite is the function CountWrite for a caller that has called CurrentIO.
func (s *IOStats) CountWrite(n int, errno syscall.Errno) {
	s.count(&s.Writes, &s.WriteAgain, &s.BytesOut, uint64(n), errno)
}

// CountSavedRead counts one read that the caller need not make.
func (s *IOStats) CountSavedRead() {
	if s == &goroutineIO {
		s.SavedReads.AddShared(1)
	} else {
		s.SavedReads.Inc()
	}
}

// CountAccept counts one call of accept by the caller.
func CountAccept(errno syscall.Errno) {
	s := CurrentIO()
	done := &s.Accepted
	if errno != 0 && errno != unix.EAGAIN {
		done, errno = &s.AcceptErrors[AcceptErrorOf(errno)], 0
	}
	s.count(&s.Accepts, &s.AcceptAgain, done, 1, errno)
}

// IO returns the counters of the Processor's system calls on sockets; those of
// ordinary goroutines if p is nil.
func (p *Processor) IO() *IOStats {
	if p == nil {
		return &goroutineIO
	}
	return &p.io
}
