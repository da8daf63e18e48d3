package rwmutex

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
)

// RWMutex is a reader/writer lock: any number of readers or one writer holds it. The zero value is unlocked. It must
// not be copied after first use. The package documentation has the contract.
//
// # State word
//
//	63 ................ 2   1        0
//	readers that hold it    writer   queued
//
//	state               writer  readers  queued  meaning
//	free                0       0        0       nobody holds it, nobody waits
//	written             1       0        0       a writer holds it
//	written, queued     1       0        1       the same, and the queue is not empty
//	read                0       n > 0    0       n readers hold it
//	read, queued        0       n > 0    1       the same; the front of the queue is a writer
//
// No other value is ever stored, not even for a moment, so a queue always has a holder who will serve it, and misuse
// is found before it does harm. The transitions:
//
//	from             to                by                               under guard
//	free             written           Lock, TryLock                    no
//	free, read       read, n+1         RLock, TryRLock                  no
//	written          free              Unlock                           no
//	read, n          read, n-1 / free  RUnlock                          no
//	read, queued, n  the same, n-1     RUnlock, n > 1                   no
//	written, read    the same, queued  whoever finds it held and waits  yes
//	written, queued  the front's       Unlock                           yes
//	read, queued, 1  the front's       RUnlock of the last reader       yes
//	any, queued      the same, not     a waiter that gives up and       yes
//	                                   leaves the queue empty
//	read, queued     read, n+m         a writer that gives up in front  yes
//	                                   of m readers
//
// "The front's" is: written, if a writer is in front of the queue; read with m readers, if m readers are in front of
// the next writer; queued if others are left behind them. It is stored by the one who unlocks, on behalf of those it
// then wakes: the lock is never free in between.
type RWMutex struct {
	state atomic.Uint64 // atomic, see above
	guard spinLock      // held for a few instructions, never across a park or a wake
	queue queue         // under guard
}

const (
	queued uint64 = 1 << iota
	writer
	reader // one reader; the count is state/reader
)

// Lock locks m for writing. It waits until every holder and everyone who came earlier has unlocked: a coroutine
// parks, an ordinary goroutine blocks. When the scheduler ends by force, it ends the waiting coroutine
// ([coroutine.Unwind]).
func (m *RWMutex) Lock() {
	if goruntime.RaceEnabled {
		m.raceLock()
	} else if !m.state.CompareAndSwap(0, writer) {
		m.lockSlow()
	}
}

// Unlock unlocks m for writing and hands it to who waits in front. It need not be called by whoever locked it.
// Does not park. It panics, and changes nothing, if m is not locked for writing.
func (m *RWMutex) Unlock() {
	if goruntime.RaceEnabled {
		m.raceUnlock()
	} else if !m.state.CompareAndSwap(writer, 0) {
		m.unlockSlow()
	}
}

// RLock locks m for reading, together with other readers. It waits like [RWMutex.Lock], also while only readers hold m
// if a writer waits already; so a reader that locks again can wait for itself.
func (m *RWMutex) RLock() {
	if goruntime.RaceEnabled {
		m.raceRLock()
	} else if s := m.state.Load(); s&(queued|writer) != 0 || !m.state.CompareAndSwap(s, s+reader) {
		m.rlockSlow()
	}
}

// RUnlock undoes one RLock; the last reader hands m to the writer that waits in front. It need not be called by
// whoever locked it. Does not park. It panics, and changes nothing, if m is not locked for reading.
func (m *RWMutex) RUnlock() {
	if goruntime.RaceEnabled {
		m.raceRUnlock()
	} else if s := m.state.Load(); s < reader || s == reader|queued || !m.state.CompareAndSwap(s, s-reader) {
		m.runlockSlow()
	}
}

// TryLock locks m for writing if nobody holds it, and reports whether it did. Does not park.
func (m *RWMutex) TryLock() bool {
	if !m.swap(0, writer) {
		return false
	}
	m.raceLocked()
	return true
}

// TryRLock locks m for reading if no writer holds it or waits, and reports whether it did. Does not park.
func (m *RWMutex) TryRLock() bool {
	if !m.tryRLock() {
		return false
	}
	m.raceRLocked()
	return true
}

func (m *RWMutex) tryRLock() bool {
	for {
		s := m.load()
		next, free := admit(s, tagReader)
		if !free {
			return false
		}
		if m.swapSlow(s, next) {
			return true
		}
	}
}

// RLocker returns a [sync.Locker] whose Lock and Unlock are m's RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return (*rlocker)(m) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }

// lockSlow is Lock once the fast path has failed.
func (m *RWMutex) lockSlow() { m.lockAs(tagWriter) }

// rlockSlow is RLock once the fast path has failed, be it that only another reader has come between.
func (m *RWMutex) rlockSlow() {
	if !m.tryRLock() {
		m.lockAs(tagReader)
	}
}

// lockAs locks m for the given kind, in the order in which callers come here.
func (m *RWMutex) lockAs(kind uintptr) {
	w := acquire()
	if m.takeOrQueue(w, kind) {
		m.wait(w)
	}
	release(w)
}

// takeOrQueue locks m if it can be had; or else it queues w and reports true.
func (m *RWMutex) takeOrQueue(w *coroutine.Waiter, kind uintptr) (wait bool) {
	m.guard.lock()
	for settled := false; !settled; {
		s := m.load()
		next, free := admit(s, kind)
		switch {
		case free:
			settled = m.swapSlow(s, next)
		case s&queued != 0 || m.swapSlow(s, s|queued):
			m.queue.push(w, kind)
			settled, wait = true, true
		}
	}
	m.guard.unlock()
	return wait
}

// admit returns what becomes of the state s when one of the given kind is let in, and whether it may be.
func admit(s uint64, kind uintptr) (next uint64, ok bool) {
	if kind == tagWriter {
		return writer, s == 0
	}
	return s + reader, s&(queued|writer) == 0
}

// unlockSlow is Unlock once the fast path has failed.
func (m *RWMutex) unlockSlow() {
	for {
		switch s := m.load(); {
		case s&writer == 0:
			panic(misuse("Unlock", s))
		case s == writer: // those who waited have given up
			if m.swapSlow(s, 0) {
				return
			}
		default:
			if m.handOver(s) {
				return
			}
		}
	}
}

// runlockSlow is RUnlock once the fast path has failed.
func (m *RWMutex) runlockSlow() {
	for {
		switch s := m.load(); {
		case s < reader:
			panic(misuse("RUnlock", s))
		case s == reader|queued: // the last reader
			if m.handOver(s) {
				return
			}
		default:
			if m.swapSlow(s, s-reader) {
				return
			}
		}
	}
}

// handOver gives m from its only holder to the front of the queue. It reports false, and does nothing, if the state is
// not held any more.
//
// Precondition: held is written, queued or read, queued, 1: states that only who has the guard can change.
func (m *RWMutex) handOver(held uint64) bool {
	m.guard.lock()
	if m.load() != held {
		m.guard.unlock()
		return false
	}
	next, batch := m.queue.takeFront()
	m.store(next)
	m.guard.unlock()
	wakeAll(batch)
	return true
}

// giveUp takes w, whose park was ended by something else, out of the queue. It reports false if w has been granted
// the lock meanwhile.
func (m *RWMutex) giveUp(w *coroutine.Waiter) bool {
	m.guard.lock()
	if !isQueued(w) {
		m.guard.unlock()
		return false
	}
	m.queue.remove(w)
	var add uint64
	var batch *coroutine.Waiter
	if m.load()&writer == 0 {
		add, batch = m.queue.takeReaders() // w may have been the writer that held them back
	}
	if m.queue.empty() {
		add -= queued
	}
	m.add(add) // no swap: readers may be leaving
	m.guard.unlock()
	wakeAll(batch)
	return true
}

// misuse says what was done wrong and in which state.
func misuse(op string, s uint64) string {
	state := "free"
	switch {
	case s&writer != 0:
		state = "locked for writing"
	case s >= reader:
		state = fmt.Sprintf("locked by %d readers", s/reader)
	}
	if s&queued != 0 {
		state += ", others wait"
	}
	return "rwmutex: " + op + " of unlocked RWMutex: it is " + state
}
