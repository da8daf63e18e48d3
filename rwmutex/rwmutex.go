package rwmutex

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/waitq"
)

// RWMutex is a reader/writer lock: any number of readers or one writer holds
// it. The zero value is unlocked. It must not be copied after first use.
type RWMutex struct {
	state  atomic.Int64     // atomic: flags and count
	holder coroutine.Holder // the writer
	noted  uint32           // writer: Unlocks since handoff, while the writer is noted
	guard  waitq.Guard
	misses atomic.Int32 // atomic: waits since spinning last succeeded
	since  atomic.Int64 // atomic: about when the front queued, in ns of internal/clock
	queue  waitq.Queue  // under guard
}

// The state is a count and six flags:
//
//	63 ... 6   5      4          3        2      1       0
//	count      quick  needsWake  handoff  woken  queued  writer
//
//	count      readers that hold the lock, and pending readers
//	writer     a writer holds it
//	queued     the queue is not empty
//	woken      a writer was taken out of the queue and woken to try for the
//	           lock; there is one at most
//	handoff    only waiters get the lock; queued or woken is set too
//	needsWake  queued and not woken: an unlock must serve the queue
//	quick      writers are not noted (coroutine.Holder). Unlock sets it when
//	           noteFor writers have been; handoff ends it
//
// The fast paths of Lock and Unlock are for quick: so the first writers are
// noted, which a deadlock is likely to be of, and what follows a long wait.
//
// A pending reader has added its 1, which RLock does first, and then has found
// a writer or handoff. It gets the lock as soon as both are gone. It does not
// park before it has taken its 1 back, so it is never pending for long.
//
// In what follows, quick is left out. The lock is free with count 0 and no
// writer. There are two ways to get it. By
// barging, a running caller takes it past the queue, if it is free or, for a
// reader, has no writer. By service, it goes to the front of the queue: a
// writer is woken to try for it or, with handoff, gets it at once; all readers
// before the next writer are added to the count.
//
// The transitions are below. Pending readers come at any time and go under the
// guard; needsWake follows from queued and woken.
//
//	from                 to                   by                         guard
//	free, no handoff     writer               Lock; from 0 TryLock       free
//	no writer, no        count+1              RLock; without any flag    free
//	handoff                                   TryRLock
//	writer               no writer            Unlock, which serves if    free
//	                                          needsWake
//	count                count-1              RUnlock, which serves if   free
//	                                          needsWake and count 0
//	not free, or         queued               a caller that must wait    held
//	handoff
//	needsWake, no        count+n, maybe       service of readers         held
//	writer               queued
//	needsWake, free, no  woken, maybe queued  service of a writer        held
//	handoff
//	needsWake, free,     writer, maybe        service of a writer        held
//	handoff              queued
//	woken, free          writer, not woken    the woken writer           free
//	woken, not free      queued, not woken    the woken writer, which    held
//	                                          queues in front
//	queued or woken      handoff              the same, if starved       held
//	needsWake, count     handoff              RUnlock beside other       held
//	                                          readers, if the front is
//	                                          starved
//	handoff              no handoff           a waiter that got the      free
//	                                          lock and was not starved
//	queued               not queued           the last waiter, giving    held
//	                                          up
//
// When neither queued nor woken is left, handoff ends.
//
// Why no waiter is left with a free lock: a waiter that queues has found a
// holder, a pending reader, or a woken writer. The last holder or pending
// reader to leave finds needsWake and serves, unless a writer is woken; and
// that one gets the lock, or finds it taken and leaves needsWake to the holder.
//
// Why there is no starvation: the woken writer is the waiter that has waited
// longest, and goes back to the front whenever it fails. Once it is starved it
// sets handoff, and then is next. Readers that overlap for ever keep the lock
// from being free, and so a writer from being woken; but each RUnlock that
// leaves other readers checks how long the front has waited.
//
// An RUnlock too many takes 1 off the count all the same. If it then finds a
// writer or a negative count, it puts the 1 back and panics. Service that adds
// a reader, under the guard, first makes a negative count 0, and then the 1 is
// back already. If there is a 1 to take, of a reader or a pending reader, the
// misuse is not noticed and the other loses its lock, as with any lock that
// counts. A pending reader that finds no 1 to take back takes none: whatever
// the misuse, the count ends at 0.
const (
	writer int64 = 1 << iota
	queued
	woken
	handoff
	needsWake
	quick
	one // of the count
)

// noteFor is how many writers are noted before a lock is quick. A variable for
// tests.
var noteFor uint32 = 256

const (
	flagMask       = one - 1
	negative int64 = -1 << 63 // the sign of the count
)

// RLock and RUnlock take the slow path at these bits: of the state before the 1
// is added, and of the state after it is subtracted.
const (
	rlockSlowBits   = negative | writer | handoff
	runlockSlowBits = negative | writer | needsWake
)

// Lock and Unlock load the state before they swap it: while there are waiters
// the swap would fail, at the cost of one that succeeds. BenchmarkContended
// without reads and work takes 13 ns instead of 17.

// Lock locks m for writing. If m is held, a coroutine parks and an ordinary
// goroutine blocks until its turn. A forced shutdown ends the waiting coroutine
// ([coroutine.Unwind]).
func (m *RWMutex) Lock() {
	if goruntime.RaceEnabled {
		m.raceLock()
	} else if m.state.Load() != quick || !m.state.CompareAndSwap(quick, quick|writer) {
		m.lockUnbounded()
	}
}

// Unlock unlocks m for writing, on any thread. It panics, and changes nothing,
// if m is not locked for writing. It does not park.
func (m *RWMutex) Unlock() {
	if goruntime.RaceEnabled {
		m.raceUnlock()
	} else if m.state.Load() != quick|writer || !m.state.CompareAndSwap(quick|writer, quick) {
		m.unlockSlow()
	}
}

// RLock locks m for reading, together with other readers. It waits as
// [RWMutex.Lock] does, and also while only readers hold m if a waiter is
// starved: so a reader that locks again can wait for itself.
func (m *RWMutex) RLock() {
	if goruntime.RaceEnabled {
		m.raceRLock()
	} else if (m.state.Add(one)-one)&rlockSlowBits != 0 {
		m.rlockUnbounded()
	}
}

// RUnlock undoes one RLock, on any thread. It panics if m is not locked for
// reading. It does not park.
func (m *RWMutex) RUnlock() {
	if goruntime.RaceEnabled {
		m.raceRUnlock()
	} else if s := m.state.Add(-one); s&runlockSlowBits != 0 {
		m.runlockSlow(s)
	}
}

// TryLock locks m for writing if it is free and has no waiters, and reports
// whether it did. It does not park.
func (m *RWMutex) TryLock() bool {
	if s := m.load(); s&^quick != 0 || !m.swap(s, s|writer) {
		return false
	}
	m.note()
	m.raceLocked()
	return true
}

// TryRLock locks m for reading if no writer holds it and it has no waiters, and
// reports whether it did. It does not park.
func (m *RWMutex) TryRLock() bool {
	for {
		s := m.loadSlow()
		if s&(flagMask&^quick) != 0 || s < 0 {
			return false
		}
		if m.swapSlow(s, s+one) {
			m.raceRLocked()
			return true
		}
	}
}

// RLocker returns a [sync.Locker] whose Lock and Unlock are RLock and RUnlock
// of m.
func (m *RWMutex) RLocker() sync.Locker { return (*rlocker)(m) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }

// LockTimeout is [RWMutex.Lock] for at most d. It returns nil if it has locked
// m, else [os.ErrDeadlineExceeded], or netco.ErrShutdown at a forced
// shutdown. With d <= 0 it does not wait.
func (m *RWMutex) LockTimeout(d time.Duration) error {
	if m.TryLock() {
		return nil
	}
	return m.lockLimit(coroutine.Timeout(d))
}

// LockContext is [RWMutex.Lock] until ctx is done. It returns nil if it has
// locked m, else the context's error, or netco.ErrShutdown at a forced
// shutdown. It allocates when it waits.
func (m *RWMutex) LockContext(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	return m.lockLimit(coroutine.Context(ctx))
}

// RLockTimeout is [RWMutex.RLock] for at most d. It returns as
// [RWMutex.LockTimeout] does.
func (m *RWMutex) RLockTimeout(d time.Duration) error {
	if (m.add(one)-one)&rlockSlowBits == 0 {
		m.raceRLocked()
		return nil
	}
	return m.rlockLimit(coroutine.Timeout(d))
}

// RLockContext is [RWMutex.RLock] until ctx is done. It returns as
// [RWMutex.LockContext] does.
func (m *RWMutex) RLockContext(ctx context.Context) error {
	if (m.add(one)-one)&rlockSlowBits == 0 {
		m.raceRLocked()
		return nil
	}
	return m.rlockLimit(coroutine.Context(ctx))
}
