package rwmutex

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/internal/goruntime"
)

// RWMutex is a reader/writer lock: any number of readers or one writer holds it. The zero value is unlocked. It must
// not be copied after first use. The package documentation has the contract, state.go the state word.
type RWMutex struct {
	state atomic.Int64 // atomic: flags and count
	guard spinLock     // held for a few instructions, never across a park or a wake
	queue queue        // under guard
}

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
	} else if m.state.Add(1) < 0 {
		m.rlockSlow()
	}
}

// RUnlock undoes one RLock; the last reader hands m to the writer that waits in front. It need not be called by
// whoever locked it. Does not park. It panics, and changes nothing, if m is not locked for reading.
func (m *RWMutex) RUnlock() {
	if goruntime.RaceEnabled {
		m.raceRUnlock()
		return
	}
	for s := m.state.Load(); s > 0; s = m.state.Load() {
		if m.state.CompareAndSwap(s, s-1) {
			return
		}
	}
	m.runlockSlow()
}

// TryLock locks m for writing if nobody holds it or is about to, and reports whether it did. Does not park.
func (m *RWMutex) TryLock() bool {
	if !m.swap(0, writer) {
		return false
	}
	m.raceLocked()
	return true
}

// TryRLock locks m for reading if no writer holds it or waits, and reports whether it did. Does not park.
func (m *RWMutex) TryRLock() bool {
	for {
		s := m.load()
		if s < 0 {
			return false
		}
		if m.swapSlow(s, s+1) {
			m.raceRLocked()
			return true
		}
	}
}

// RLocker returns a [sync.Locker] whose Lock and Unlock are m's RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return (*rlocker)(m) }

type rlocker RWMutex

func (r *rlocker) Lock()   { (*RWMutex)(r).RLock() }
func (r *rlocker) Unlock() { (*RWMutex)(r).RUnlock() }
