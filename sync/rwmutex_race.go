//go:build race

package sync

import (
	"runtime"
	"unsafe"

	"github.com/netco-go/netco/internal/goruntime"
)

// The race detector orders all atomic operations on one word, so the count
// would order the critical sections of readers and hide races between them.
// Therefore the count is hidden from the detector. As in the standard's
// RWMutex, explicit calls state which critical sections the lock orders:
//
//	a writer's Unlock before each later Lock and RLock
//	a reader's RUnlock before each later Lock
//
// The two addresses identify the two orders; nothing is accessed through them.
func (m *RWMutex) byWriters() unsafe.Pointer { return unsafe.Pointer(&m.reading) }
func (m *RWMutex) byReaders() unsafe.Pointer { return unsafe.Pointer(&m.draining) }

func (m *RWMutex) load() int64 {
	runtime.RaceDisable()
	r := m.readers.Load()
	runtime.RaceEnable()
	return r
}

func (m *RWMutex) cas(old, next int64) bool {
	runtime.RaceDisable()
	ok := m.readers.CompareAndSwap(old, next)
	runtime.RaceEnable()
	return ok
}

func (m *RWMutex) add(delta int64) (r int64) {
	runtime.RaceDisable()
	r = m.readers.Add(delta)
	runtime.RaceEnable()
	return r
}

func (m *RWMutex) raceUnlock()  { goruntime.RaceReleaseMerge(m.byWriters()) }
func (m *RWMutex) raceRUnlock() { goruntime.RaceReleaseMerge(m.byReaders()) }

func (m *RWMutex) raceLocked() {
	goruntime.RaceAcquire(m.byWriters())
	goruntime.RaceAcquire(m.byReaders())
}

func (m *RWMutex) raceRLocked() { goruntime.RaceAcquire(m.byWriters()) }
