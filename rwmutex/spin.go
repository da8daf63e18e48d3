package rwmutex

import (
	"runtime"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/clock"
)

// patience is how long the front of the queue lets others pass.
const patience = int64(time.Millisecond)

// overdue reports whether who came then has waited for patience.
func overdue(since int64) bool {
	if choose != nil {
		return choose(isOverdue)
	}
	return clock.Now()-since > patience
}

// attempt is what came of trying to get the lock.
type attempt int

const (
	failed   attempt = iota
	done             // it has the lock
	hopeless         // it will have to queue
)

// How spinning goes: attempts, and between them pauses, of some 10 ns, that double. Short ones throughout would take the state's cache
// line from the holder at every look. All together are about what a wake from another thread takes.
const (
	spinAttempts = 8
	firstPauses  = 10
	maxPauses    = 160
	spinMisses   = 4    // waits in which spinning did not pay, before it is left off
	spinAgain    = 1024 // of so many waits one tries again
)

// canSpin says whether a holder can be running at the same time.
var canSpin = runtime.NumCPU() > 1

// spin tries for a while, if that has been paying lately, and reports whether it has the lock. It does not pay where the holder is
// a coroutine parked on this very thread.
func (m *RWMutex) spin(try func() attempt) bool {
	pauses := uint32(firstPauses)
	for range m.spinAttempts() {
		asm.Pause(pauses)
		pauses = min(2*pauses, maxPauses)
		switch try() {
		case done:
			if m.misses.Load() != 0 {
				m.misses.Store(0)
			}
			return true
		case hopeless:
			return false
		}
	}
	return false
}

// spinAttempts returns how many attempts there are to be. If there are any, they are taken for a miss until one succeeds.
func (m *RWMutex) spinAttempts() int {
	if choose != nil {
		if choose(doesSpin) {
			return 1
		}
		return 0
	}
	if !canSpin {
		return 0
	}
	n := m.misses.Load()
	m.misses.Store(n + 1)
	if n < spinMisses || n%spinAgain == 0 {
		return spinAttempts
	}
	return 0
}
