//go:build race

package rwmutex

import (
	"runtime"
	"unsafe"

	"github.com/netco-go/netco/internal/goruntime"
)

// The detector takes every atomic operation on one word as ordered with the next, so the state word would order
// the critical sections of readers one after another and hide races between them. Therefore it does not see the
// state, and is told instead, as by sync.RWMutex, which critical sections the lock does order:
//
//	a writer's Unlock before every later Lock and RLock
//	a reader's RUnlock before every later Lock
//
// The addresses serve as names for the two. What nobody reads or writes through them is of no concern here.
func (m *RWMutex) byWriters() unsafe.Pointer { return unsafe.Pointer(&m.queue) }
func (m *RWMutex) byReaders() unsafe.Pointer { return unsafe.Add(unsafe.Pointer(&m.queue), 8) }

func (m *RWMutex) look() int64 {
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

func (m *RWMutex) change(delta int64) int64 {
	runtime.RaceDisable()
	s := m.state.Add(delta)
	runtime.RaceEnable()
	return s
}

func (m *RWMutex) raceLock() {
	if !m.swap(0, writer) {
		m.lockForever()
	}
	m.raceLocked()
}

func (m *RWMutex) raceUnlock() {
	goruntime.RaceRelease(m.byWriters())
	if !m.swap(writer, 0) {
		m.unlockSlow()
	}
}

func (m *RWMutex) raceRLock() {
	if (m.change(one)-one)&mustLook != 0 {
		m.rlockForever()
	}
	m.raceRLocked()
}

func (m *RWMutex) raceRUnlock() {
	goruntime.RaceRelease(m.byReaders())
	if s := m.change(-one); s&mustAct != 0 {
		m.runlockSlow(s)
	}
}

func (m *RWMutex) raceLocked() {
	goruntime.RaceAcquire(m.byWriters())
	goruntime.RaceAcquire(m.byReaders())
}

func (m *RWMutex) raceRLocked() { goruntime.RaceAcquire(m.byWriters()) }
