//go:build race

package rwmutex

import (
	"runtime"
	"unsafe"

	"github.com/netco-go/netco/internal/goruntime"
)

// The race detector orders all atomic operations on one word, so the state word
// would order the critical sections of readers and hide races between them.
// Therefore the detector does not see the state. As in sync.RWMutex, calls say
// instead which critical sections the lock orders:
//
//	a writer's Unlock before each later Lock and RLock
//	a reader's RUnlock before each later Lock
//
// The two addresses identify the two orders; nothing is accessed through them.
func (m *RWMutex) byWriters() unsafe.Pointer { return unsafe.Pointer(&m.queue) }
func (m *RWMutex) byReaders() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(&m.queue), 8) }

func (m *RWMutex) load() int64 {
	runtime.RaceDisable()
	s := m.state.Load()
	runtime.RaceEnable()
	return s
}

func (m *RWMutex) swap(old, next int64) bool {
	runtime.RaceDisable()
	ok := m.state.CompareAndSwap(old, next)
	runtime.RaceEnable()
	return ok
}

func (m *RWMutex) add(delta int64) (sum int64) {
	runtime.RaceDisable()
	sum = m.state.Add(delta)
	runtime.RaceEnable()
	return sum
}

func (m *RWMutex) raceLock() {
	if m.swap(0, writer) {
		m.holder.Note()
	} else {
		m.lockUnbounded()
	}
	m.raceLocked()
}

func (m *RWMutex) raceUnlock() {
	goruntime.RaceReleaseMerge(m.byWriters())
	m.holder.Clear()
	if !m.swap(writer, 0) {
		m.unlockSlow()
	}
}

func (m *RWMutex) raceRLock() {
	if (m.add(one)-one)&rlockSlowBits != 0 {
		m.rlockUnbounded()
	}
	m.raceRLocked()
}

func (m *RWMutex) raceRUnlock() {
	goruntime.RaceReleaseMerge(m.byReaders())
	if s := m.add(-one); s&runlockSlowBits != 0 {
		m.runlockSlow(s)
	}
}

func (m *RWMutex) raceLocked() {
	goruntime.RaceAcquire(m.byWriters())
	goruntime.RaceAcquire(m.byReaders())
}

func (m *RWMutex) raceRLocked() { goruntime.RaceAcquire(m.byWriters()) }
