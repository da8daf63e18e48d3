package rwmutex

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
)

// LockTimeout is [RWMutex.Lock] for no longer than d. It returns nil if it has locked m, else [os.ErrDeadlineExceeded], or
// [coroutine.ErrShutdown] when the scheduler ends by force. With d <= 0 it does not wait.
func (m *RWMutex) LockTimeout(d time.Duration) error {
	if m.swap(0, writer) {
		m.raceLocked()
		return nil
	}
	return m.lockWithin(coroutine.Within(d))
}

// LockContext is [RWMutex.Lock] for no longer than ctx lives. It returns nil if it has locked m, else ctx's error, or
// [coroutine.ErrShutdown] when the scheduler ends by force. It allocates when it waits.
func (m *RWMutex) LockContext(ctx context.Context) error {
	if m.swap(0, writer) {
		m.raceLocked()
		return nil
	}
	return m.lockWithin(coroutine.During(ctx))
}

// RLockTimeout is [RWMutex.RLock] for no longer than d. It returns as [RWMutex.LockTimeout] does.
func (m *RWMutex) RLockTimeout(d time.Duration) error {
	if (m.change(one)-one)&mustLook == 0 {
		m.raceRLocked()
		return nil
	}
	return m.rlockWithin(coroutine.Within(d))
}

// RLockContext is [RWMutex.RLock] for no longer than ctx lives. It returns as [RWMutex.LockContext] does.
func (m *RWMutex) RLockContext(ctx context.Context) error {
	if (m.change(one)-one)&mustLook == 0 {
		m.raceRLocked()
		return nil
	}
	return m.rlockWithin(coroutine.During(ctx))
}

func (m *RWMutex) lockWithin(b coroutine.Bound) error {
	if why := m.lockSlow(b); why != coroutine.WakeReady {
		return b.Err(why)
	}
	m.raceLocked()
	return nil
}

// Precondition: as rlockSlow.
func (m *RWMutex) rlockWithin(b coroutine.Bound) error {
	if why := m.rlockSlow(b); why != coroutine.WakeReady {
		return b.Err(why)
	}
	m.raceRLocked()
	return nil
}
