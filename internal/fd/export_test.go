package fd

import (
	"sync"

	"github.com/netco-go/netco/internal/waitq"
)

// FDMutex is an fdMutex whose methods tests may call. The first one opens it.
type FDMutex struct {
	m    fdMutex
	once sync.Once
}

func (x *FDMutex) opened() *fdMutex {
	x.once.Do(x.m.open)
	return &x.m
}

func (x *FDMutex) Lock(s Mode) bool { return x.opened().lock(s) }
func (x *FDMutex) Unlock(s Mode) (last bool) {
	m := x.opened()
	if !m.releaseAlone(s) {
		_, last = m.release(s, false)
	}
	return last
}
func (x *FDMutex) Use() bool          { return x.opened().use() }
func (x *FDMutex) Unuse() (last bool) { return x.opened().unuse() }
func (x *FDMutex) UnlockIfOpen(s Mode) bool {
	m := x.opened()
	released := m.releaseAlone(s)
	if !released {
		released, _ = m.release(s, true)
	}
	return released
}

// Close reports whether it was open, and whether the write lock was held.
func (x *FDMutex) Close() (open, written bool) {
	users, written := x.opened().close()
	return users > 0, written
}

// Idle reports whether nothing holds, uses or waits for it.
func (x *FDMutex) Idle() bool {
	queues := x.m.queues.Load()
	return x.m.state.Load()&^mutexOpen == 0 && (queues == nil || *queues == [2]waitq.Queue{})
}

// OpenedBy returns how many more sockets the Processor of that index has opened
// than closed; of those that share its line of openSockets, all.
func OpenedBy(processor int) int64 { return openSockets[processor].n.Load() }

// OpenedOutside is OpenedBy for ordinary goroutines.
func OpenedOutside() int64 { return openSockets[len(openSockets)-1].n.Load() }
