package cosync

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Mutex is a mutual exclusion lock. The zero value is unlocked. It must not be copied after first use.
//
// Fairness: those who wait are served in the order in which they came. But whoever runs may lock a mutex that is free while the first
// of them is on its way: to wake another thread takes microseconds, in which a short critical section runs a hundred
// times. A waiter that has been on the way in vain and has waited for more than a millisecond, or has found the mutex held by its own
// thread, is handed it by the next Unlock, and so are those behind it until one has waited for less. The algorithm is that of Go's
// internal/sync/mutex.go, with a line of its own for those who wait: mutex_state.go.
//
// A coroutine may park while it holds the mutex, and another may unlock it.
type Mutex struct {
	state  atomic.Uint32 // atomic: free, locked, owed
	line   atomic.Uint32 // atomic, written under guard: empty, calling, coming, near
	passes atomic.Uint32 // atomic: since the line became near
	skip   atomic.Int32  // atomic: see spin
	guard  waitq.Guard   // held for a few instructions, never across a park or a wake
	queue  waitq.Queue   // under guard
}

// Lock locks m. If it is held, a coroutine parks and a goroutine blocks until it is not. When the scheduler ends by force, it ends
// the waiting coroutine ([coroutine.Unwind]). It does not allocate.
func (m *Mutex) Lock() {
	if !m.state.CompareAndSwap(free, locked) {
		m.lockSlow()
	}
}

// Unlock unlocks m. It need not be called by whoever locked it. Does not park. It panics, and changes nothing, if m is not
// locked.
func (m *Mutex) Unlock() {
	if !m.state.CompareAndSwap(locked, free) {
		m.unlockSlow()
	} else if m.line.Load()&lookedAfter != 0 {
		m.unlocked()
	}
}

// TryLock locks m if it is free, and reports whether it did. Does not park.
func (m *Mutex) TryLock() bool { return m.state.CompareAndSwap(free, locked) }

// LockTimeout is Lock for no longer than d. It returns nil with m locked; else os.ErrDeadlineExceeded, or coroutine.ErrShutdown when
// the scheduler ends by force. In a coroutine it does not allocate.
func (m *Mutex) LockTimeout(d time.Duration) error {
	if m.TryLock() {
		return nil
	}
	if d <= 0 {
		return os.ErrDeadlineExceeded
	}
	b := coroutine.Within(d)
	return b.Err(m.lockWithin(b))
}

// LockContext is Lock for no longer than ctx lives. It returns nil with m locked; else ctx.Err(), or coroutine.ErrShutdown when the
// scheduler ends by force. It allocates when it waits.
func (m *Mutex) LockContext(ctx context.Context) error {
	if m.TryLock() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b := coroutine.During(ctx)
	return b.Err(m.lockWithin(b))
}
