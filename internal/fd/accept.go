package fd

import (
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/processor"
)

// Listener is an FD that accepts connections, under any number of limits.
// Several callers may accept from one.
type Listener struct {
	FD

	pause processor.AcceptPause // under mu's read lock
	// Under mu's read lock: the listener waits for room, or did when the last
	// Accept ended.
	pausing bool
	room    atomic.Pointer[Room] // that connections need, nil for no limit
}

// Init makes l of an fd that listens, as FD.Init does.
func (l *Listener) Init(d *Descriptor, fd int, k Kind) {
	l.FD.Init(d, fd, k)
	l.SetListener()
}

// SetListener marks the fd as a listener's: its waits end when draining begins.
// Called before the first wait.
func (f *FD) SetListener() { f.pd.SetListener() }

// SetRoom sets the room in which the connection of f has a place. Called before
// it is shared.
func (f *FD) SetRoom(r *Room) { f.room = r }

// TryAccept makes one attempt.
func (f *FD) TryAccept(from *sysx.RawAddr) (int, syscall.Errno) {
	if errno := f.keepNonblocking(); errno != 0 {
		return -1, errno
	}
	fd, errno := sysx.TryAccept(f.fd, from)
	processor.CountAccept(errno)
	return fd, errno
}

// Accept waits for the next connection. It stores the peer's address in from,
// cut to the size of from. The connection has a place in the Room in; the
// caller passes in to SetRoom of the connection's FD. Log lines about pauses
// name the address of at. Parks.
func (l *Listener) Accept(from *sysx.RawAddr, at net.Listener) (fd int, in *Room, err error) {
	if !l.mu.Lock(Read) {
		return -1, nil, net.ErrClosed
	}
	fd, in, err = l.acceptLocked(from, at)
	l.Unlock(Read)
	return fd, in, err
}

func (l *Listener) acceptLocked(from *sysx.RawAddr, at net.Listener) (fd int, in *Room,
	err error) {
	for {
		if v := l.check(Read); v != processor.Try {
			return -1, nil, verdictError(v)
		}
		l.pd.Clear(Read)
		in := l.room.Load()
		if in != nil && !in.take(l) {
			err := l.awaitRoomLocked(in, at)
			in.forget(l) // in any case: an edge may have ended the wait
			if err != nil {
				return -1, nil, err
			}
			continue
		}
		fd, errno := l.TryAccept(from)
		if errno != 0 && in != nil {
			in.Release()
		}
		if errno == 0 {
			l.pause.End(at)
			l.pausing = false
			l.spendRead(0)
			return fd, in, nil
		}
		var until int64
		if errno == unix.EAGAIN {
			l.readBudget = 0
		} else {
			switch processor.AcceptErrorOf(errno) {
			// Not an error of the listener; there may be a further connection.
			case processor.AcceptConnection:
				l.spendRead(0)
				continue
			case processor.AcceptFiles, processor.AcceptMemory:
				until = clock.Real() + int64(l.pause.Next(at, errno))
			default:
				return -1, nil, os.NewSyscallError("accept4", errno)
			}
		}
		if err := l.awaitAcceptLocked(until); err != nil {
			return -1, nil, err
		}
	}
}

// awaitAcceptLocked waits for an edge, or until a time that is not 0.
func (l *Listener) awaitAcceptLocked(until int64) error {
	return waitError(l.pd.Wait(l.fd, Read, coroutine.ReasonAccept, until))
}

// awaitRoomLocked waits until full, which had no permit, may have one. An edge
// meanwhile is not lost: each attempt begins with accept(2).
func (l *Listener) awaitRoomLocked(full *Room, at net.Listener) error {
	if full.none() {
		return ErrNoConns
	}
	if !l.pausing {
		l.pausing = true
		paused(at.Addr())
	}
	return l.awaitAcceptLocked(0)
}

// onPermit implements permitWaiter.
func (l *Listener) onPermit() { l.MarkReadable() }

// MarkReadable has the effect of an edge: the waiting reader, or else the next
// reader, tries again. Any thread.
func (f *FD) MarkReadable() { f.pd.MarkReady(Read) }

// Room returns the room that connections need, or nil.
func (l *Listener) Room() *Room { return l.room.Load() }

// AddLimit makes the listener accept under one more limit.
func (l *Listener) AddLimit(limit *Limit) {
	for {
		old := l.room.Load()
		next := NewRoom(limit)
		if old != nil {
			next.limits = append(next.limits, old.limits...)
		}
		if l.room.CompareAndSwap(old, next) {
			return
		}
	}
}
