package fd

import (
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Mutex serialises readers among themselves and writers among themselves, and
// keeps the fd open until its last user is done. It is for coroutines and
// goroutines what internal/poll's fdMutex is for Go's net.
//
//	bit 0       open: set by Open, cleared by Close for good, so the zero
//	            value is closed
//	bit 1       a reader has the read lock
//	bit 2       a writer has the write lock
//	bits 3-22   users: lock holders, and others that need the fd
//	bit 23      the queue of readers is not empty; written under guard
//	bit 24      the queue of writers is not empty; written under guard
//	bit 63      gone: the caller of Close closes the fd itself; the remaining
//	            users will not access it
//
//	Lock     closed: fails. Lock free: takes it, as a user. Else queues under
//	         guard, in one step with the check, and tries again when woken.
//	release  releases the lock, and wakes the first waiter of its queue. With
//	         ifOpen it keeps the lock if the fd is closed.
//	Close    clears open and wakes all waiters.
type Mutex struct {
	state atomic.Uint64

	guard waitq.Guard
	// By Mode, under guard; nil until a caller has queued, as on few fds.
	queues atomic.Pointer[[2]waitq.Queue]
}

const (
	mutexOpen  = 1 << 0
	mutexGone  = 1 << 63
	mutexUser  = 1 << 3
	mutexUsers = (1<<20 - 1) << 3
)

// lockBit and queuedBit return a direction's bits of the state.
func lockBit(s Mode) uint64   { return 1 << (1 + s) }
func queuedBit(s Mode) uint64 { return 1 << (23 + s) }

// opState is an access to the state, for waitq.Step.
const opState waitq.Op = "fd state"

// tooMany is the panic for more than a million users of one fd.
const tooMany = "netco/socket: too many concurrent operations on one socket (at most 1048575)"

// Open opens the zero value. The caller has not shared it yet.
func (m *Mutex) Open() { m.state.Store(mutexOpen) }

// Lock takes the lock of one direction, as a user; false means that the fd is
// closed. Parks while another caller has the lock. Inlined, as releaseAlone is,
// for a caller that is the only user.
func (m *Mutex) Lock(s Mode) bool {
	return m.state.CompareAndSwap(mutexOpen, mutexOpen|mutexUser|2<<s) || m.lockSlow(s)
}

func (m *Mutex) lockSlow(s Mode) bool {
	for !m.TryLock(s) {
		waitq.Step(opState)
		if m.state.Load()&mutexOpen == 0 {
			return false
		}
		m.wait(s)
	}
	return true
}

// TryLock is Lock that does not park: false means that the lock is taken or
// that the fd is closed.
func (m *Mutex) TryLock(s Mode) bool { return m.enter(lockBit(s)) }

// Use makes the caller a user without a lock; false means that the fd is
// closed.
func (m *Mutex) Use() bool { return m.enter(0) }

// enter makes the caller a user and sets the bit of a lock, if any; false means
// that the bit is set already or the fd closed.
func (m *Mutex) enter(bit uint64) bool {
	for {
		old := m.state.Load()
		if old&(mutexOpen|bit) != mutexOpen {
			return false
		}
		if old&mutexUsers == mutexUsers {
			panic(tooMany)
		}
		if m.state.CompareAndSwap(old, (old|bit)+mutexUser) {
			return true
		}
	}
}

// wait parks until the lock has been released once, or returns at once if it is
// free or the fd closed.
func (m *Mutex) wait(s Mode) {
	w := waitq.Acquire(coroutine.Limit{})
	defer waitq.Release(w)
	if !m.enqueue(s, w) {
		return
	}
	why := waitq.Wait(w, coroutine.ReasonLock, coroutine.Limit{}, &m.guard,
		func(w *coroutine.Waiter) {
			q := &m.queues.Load()[s]
			if q.Remove(w); q.Empty() {
				m.state.And(^queuedBit(s))
			}
		})
	if why != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// enqueue queues w, and reports false if the lock is free or the fd closed.
func (m *Mutex) enqueue(s Mode, w *coroutine.Waiter) bool {
	if m.queues.Load() == nil {
		m.queues.CompareAndSwap(nil, new([2]waitq.Queue))
	}
	m.guard.Lock()
	defer m.guard.Unlock()
	for waitq.Step(opState); ; {
		old := m.state.Load()
		if old&mutexOpen == 0 || old&lockBit(s) == 0 {
			return false
		}
		if m.state.CompareAndSwap(old, old|queuedBit(s)) {
			break
		}
	}
	m.queues.Load()[s].Push(w, waitq.AnyKind)
	return true
}

// releaseAlone releases the lock and ends the caller's use, if the fd is open
// and the caller its only user.
func (m *Mutex) releaseAlone(s Mode) bool {
	return m.state.CompareAndSwap(mutexOpen|mutexUser|2<<s, mutexOpen)
}

// release releases the lock and ends the caller's use. With ifOpen it does
// nothing if the fd is closed. last means that the fd is closed and the caller
// was its last user.
func (m *Mutex) release(s Mode, ifOpen bool) (released, last bool) {
	for {
		old := m.state.Load()
		if old&lockBit(s) == 0 || old&mutexUsers == 0 {
			panic("netco/socket: unlock of an unlocked fd")
		}
		if ifOpen && old&mutexOpen == 0 {
			return false, false
		}
		if old&queuedBit(s) != 0 {
			return m.releaseAndWake(s, ifOpen)
		}
		if next := (old &^ lockBit(s)) - mutexUser; m.state.CompareAndSwap(old, next) {
			return true, isLast(next)
		}
	}
}

// releaseAndWake is release while waiters are queued, or were a moment ago.
func (m *Mutex) releaseAndWake(s Mode, ifOpen bool) (released, last bool) {
	m.guard.Lock()
	if ifOpen && m.state.Load()&mutexOpen == 0 { // which changes only under guard
		m.guard.Unlock()
		return false, false
	}
	q := &m.queues.Load()[s]
	if w := q.Front(); w != nil {
		m.guard.Take(q, w)
	}
	if q.Empty() {
		m.state.And(^queuedBit(s)) // the bit is set only under guard
	}
	waitq.Step(opState)
	next := m.state.Add(-(mutexUser + lockBit(s)))
	m.guard.Unlock()
	return true, isLast(next)
}

// isLast reports whether the user whose release led to state has to close the
// fd.
func isLast(state uint64) bool { return state&(mutexOpen|mutexUsers|mutexGone) == 0 }

// retire ends the use that Close began, and leaves closing the fd to the
// caller: no other user will count as the last. Precondition: no other user
// will access the fd.
func (m *Mutex) retire() {
	m.state.Or(mutexGone)
	m.Unuse()
}

// Unuse ends a use; true means that the fd is closed and the caller was its
// last user.
func (m *Mutex) Unuse() (last bool) { return isLast(m.state.Add(^uint64(mutexUser - 1))) }

// Close marks the fd as closed, wakes all waiters, and makes the caller a user,
// which must end its use. It returns the number of users, including the caller,
// and whether one of them has the write lock; there will be no more users. 0
// means that the fd was closed already.
func (m *Mutex) Close() (users int, written bool) {
	m.guard.Lock()
	for waitq.Step(opState); ; {
		old := m.state.Load()
		if old&mutexOpen == 0 {
			break
		}
		next := (old &^ (mutexOpen | queuedBit(Read) | queuedBit(Write))) + mutexUser
		if m.state.CompareAndSwap(old, next) {
			users = int(next&mutexUsers) / mutexUser
			written = next&lockBit(Write) != 0
			break
		}
	}
	if queues := m.queues.Load(); users > 0 && queues != nil {
		m.guard.TakeAll(&queues[Read])
		m.guard.TakeAll(&queues[Write])
	}
	m.guard.Unlock()
	return users, written
}

// Unlock releases the lock and ends the caller's use; last means that the fd is
// closed and the caller was its last user.
func (m *Mutex) Unlock(s Mode) (last bool) {
	if !m.releaseAlone(s) {
		_, last = m.release(s, false)
	}
	return last
}

// UnlockIfOpen is Unlock, unless the fd is closed: then the caller still has
// the lock, and false is returned.
func (m *Mutex) UnlockIfOpen(s Mode) bool {
	if m.releaseAlone(s) {
		return true
	}
	released, _ := m.release(s, true)
	return released
}

// Lock takes the lock of one direction; false means that the fd is closed.
// Parks while another caller has the lock.
func (f *FD) Lock(m Mode) bool { return f.mu.Lock(m) }

// TryLock is Lock that does not park: false means that the lock is taken or the
// fd closed.
func (f *FD) TryLock(m Mode) bool { return f.mu.TryLock(m) }

// Unlock releases the lock. After a Close the last user closes the fd.
func (f *FD) Unlock(m Mode) {
	if !f.mu.state.CompareAndSwap(mutexOpen|mutexUser|2<<m, mutexOpen) { // releaseAlone, inlined
		f.unlockSlow(m)
	}
}

//go:noinline
func (f *FD) unlockSlow(m Mode) {
	if f.mu.Unlock(m) {
		f.disown()
	}
}

// UnlockIfOpen is Unlock, unless the fd is closed: then the caller still has
// the lock, and false is returned.
func (f *FD) UnlockIfOpen(m Mode) bool { return f.mu.UnlockIfOpen(m) }
