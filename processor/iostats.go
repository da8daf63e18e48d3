package processor

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/counter"
)

// IOStats count the system calls on sockets that a Processor's coroutines make. Its thread writes them, any thread reads them.
type IOStats struct {
	Reads, Writes, Accepts             counter.Counter // calls, those that found nothing included
	ReadAgain, WriteAgain, AcceptAgain counter.Counter // of them, those that found nothing: EAGAIN
	SavedReads                         counter.Counter // reads not made because the one before had emptied the socket
	BytesIn, BytesOut                  counter.Counter
	Accepted                           counter.Counter
	AcceptErrors                       [AcceptErrorKinds]counter.Counter
}

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

func acceptError(errno syscall.Errno) AcceptError {
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

// IOSnapshot is what IOStats held at some moment.
type IOSnapshot struct {
	Reads, Writes, Accepts             uint64
	ReadAgain, WriteAgain, AcceptAgain uint64
	SavedReads                         uint64
	BytesIn, BytesOut                  uint64
	Accepted                           uint64
	AcceptErrors                       [AcceptErrorKinds]uint64
}

// Snapshot reads the counters, from any thread. Each is of its own moment.
func (s *IOStats) Snapshot() IOSnapshot {
	r := IOSnapshot{
		Reads: s.Reads.Load(), Writes: s.Writes.Load(), Accepts: s.Accepts.Load(),
		ReadAgain: s.ReadAgain.Load(), WriteAgain: s.WriteAgain.Load(), AcceptAgain: s.AcceptAgain.Load(),
		SavedReads: s.SavedReads.Load(),
		BytesIn:    s.BytesIn.Load(), BytesOut: s.BytesOut.Load(),
		Accepted: s.Accepted.Load(),
	}
	for i := range s.AcceptErrors {
		r.AcceptErrors[i] = s.AcceptErrors[i].Load()
	}
	return r
}

// outside counts what ordinary goroutines do. They are many, so these are atomic adds.
var outside struct {
	reads, writes, accepts             atomic.Uint64
	readAgain, writeAgain, acceptAgain atomic.Uint64
	savedReads                         atomic.Uint64
	bytesIn, bytesOut                  atomic.Uint64
	accepted                           atomic.Uint64
	acceptErrors                       [AcceptErrorKinds]atomic.Uint64
}

// OutsideIO is what the ordinary goroutines of the process have done on sockets.
func OutsideIO() IOSnapshot {
	r := IOSnapshot{
		Reads: outside.reads.Load(), Writes: outside.writes.Load(), Accepts: outside.accepts.Load(),
		ReadAgain: outside.readAgain.Load(), WriteAgain: outside.writeAgain.Load(), AcceptAgain: outside.acceptAgain.Load(),
		SavedReads: outside.savedReads.Load(),
		BytesIn:    outside.bytesIn.Load(), BytesOut: outside.bytesOut.Load(),
		Accepted: outside.accepted.Load(),
	}
	for i := range outside.acceptErrors {
		r.AcceptErrors[i] = outside.acceptErrors[i].Load()
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
		outside.reads.Add(1)
		if errno == unix.EAGAIN {
			outside.readAgain.Add(1)
		} else if errno == 0 {
			outside.bytesIn.Add(uint64(n))
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
		outside.writes.Add(1)
		if errno == unix.EAGAIN {
			outside.writeAgain.Add(1)
		} else if errno == 0 {
			outside.bytesOut.Add(uint64(n))
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
		outside.savedReads.Add(1)
	}
}

// CountAccept counts one call of accept by the caller.
func CountAccept(errno syscall.Errno) {
	s := HereIO()
	if s == nil {
		outside.accepts.Add(1)
		switch errno {
		case 0:
			outside.accepted.Add(1)
		case unix.EAGAIN:
			outside.acceptAgain.Add(1)
		default:
			outside.acceptErrors[acceptError(errno)].Add(1)
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
		s.AcceptErrors[acceptError(errno)].Inc()
	}
}

// IO returns the counters of what its coroutines do on sockets; nil for no Processor.
func (p *Processor) IO() *IOStats {
	if p == nil {
		return nil
	}
	return &p.io
}
