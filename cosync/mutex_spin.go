package cosync

import (
	"runtime"

	"github.com/netco-go/netco/asm"
)

// A holder on another thread is mostly done in less time than a park and a wake take, which cost the holder something too. But a
// holder on this very thread cannot go on while this one spins, and one that is parked need not. Nobody knows which it is, so
// after one spin in vain the next so many waits do without.
//
// The looks are far apart, as each takes the cache line from the holder: in between it goes on as if alone.
const (
	spinLooks  = 3
	spinPauses = 200 // about 2 µs
	spinSkip   = 32
)

// spinning is whether anybody else can be running meanwhile. A variable for tests.
var spinning = runtime.NumCPU() > 1

// spin locks m if that becomes free within some microseconds, and reports whether it did.
func (m *Mutex) spin() bool { return spinning && m.await() && m.swap(free, locked) }

// awaitComing lets one who is coming not arrive while m is held, if it can be helped.
func (m *Mutex) awaitComing() {
	if spinning && m.line.Load() == coming {
		m.await()
	}
}

// await reports whether m becomes free within some microseconds.
func (m *Mutex) await() bool {
	if n := m.skip.Load(); n > 0 {
		m.skip.Store(n - 1)
		return false
	}
	for range spinLooks {
		switch m.state.Load() {
		case free:
			return true
		case owed:
			return false
		}
		asm.Pause(spinPauses)
	}
	if m.state.Load() == free {
		return true
	}
	m.dontSpin()
	return false
}

func (m *Mutex) dontSpin() { m.skip.Store(spinSkip) }
