package socket

import (
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// fdMutex serialises readers among themselves and writers among themselves, and keeps the fd open until the last user has
// gone. It does for coroutines and goroutines alike what internal/poll's fdMutex does in Go's net.
//
//	bit 0       open: set by open, cleared by close for good; so the zero value is closed
//	bit 1       a reader has the read lock
//	bit 2       a writer has the write lock
//	bits 3-22   users: lock holders, and others who need the fd
//	bits 23-42  readers queued
//	bits 43-62  writers queued
//	bit 63      gone: whoever closed it has closed the fd; the users that are left will not touch it
//
//	lock     closed: fails. Lock free: takes it and is a user. Else queues, under mu, and tries again when woken.
//	unlock   frees the lock and takes one off the queue's count; whoever it counted is popped, under mu, and woken.
//	close    clears open, takes both counts, and wakes all they counted.
//
// A queuer counts itself and enters the list in one go under mu, so that who sees it in the count finds it in the list.
type fdMutex struct {
	state atomic.Uint64

	mu    sync.Mutex   // guards the queues; never held across a park or a system call
	queue *[2]waitList // by side; nil until somebody has queued, which on most fds nobody ever does
}

type waitList struct{ first, last *coroutine.Waiter }

const (
	mutexOpen  = 1 << 0
	mutexGone  = 1 << 63
	mutexUser  = 1 << 3
	mutexUsers = (1<<20 - 1) << 3
)

// side is a direction; its methods give the bits of the state that are its own.
type side uint

const (
	reading side = iota
	writing
)

func (s side) lockBit() uint64 { return 1 << (1 + s) }
func (s side) waiter() uint64  { return 1 << (23 + 20*s) }
func (s side) waiters() uint64 { return (1<<20 - 1) << (23 + 20*s) }

// tooMany is the panic for more than a million operations at once on one fd.
const tooMany = "netco/socket: too many concurrent operations on one socket (at most 1048575)"

// open makes the zero value usable. Nobody else knows it yet.
func (m *fdMutex) open() { m.state.Store(mutexOpen) }

// lock takes the lock of one direction, and with it a use; false means that the fd is closed. Parks while another has it.
//
// It is inlined, for when there are no other users, and so is unlock.
func (m *fdMutex) lock(s side) bool {
	return m.state.CompareAndSwap(mutexOpen, mutexOpen|mutexUser|2<<s) || m.lockSlow(s)
}

func (m *fdMutex) lockSlow(s side) bool {
	for {
		old := m.state.Load()
		if old&mutexOpen == 0 {
			return false
		}
		if old&s.lockBit() != 0 {
			m.wait(s)
			continue
		}
		if old&mutexUsers == mutexUsers {
			panic(tooMany)
		}
		if m.state.CompareAndSwap(old, (old|s.lockBit())+mutexUser) {
			return true
		}
	}
}

// tryLock is lock that does not wait: false means that another has it or that the fd is closed.
func (m *fdMutex) tryLock(s side) bool {
	for {
		old := m.state.Load()
		if old&(mutexOpen|s.lockBit()) != mutexOpen {
			return false
		}
		if old&mutexUsers == mutexUsers {
			panic(tooMany)
		}
		if m.state.CompareAndSwap(old, (old|s.lockBit())+mutexUser) {
			return true
		}
	}
}

// wait queues the caller and parks, unless the lock has become free or the fd closed meanwhile.
func (m *fdMutex) wait(s side) {
	w := coroutine.AcquireWaiter()
	defer w.Release()
	w.Tag = 0
	m.mu.Lock()
	for {
		old := m.state.Load()
		if old&mutexOpen == 0 || old&s.lockBit() == 0 {
			m.mu.Unlock()
			return
		}
		if old&s.waiters() == s.waiters() {
			m.mu.Unlock()
			panic(tooMany)
		}
		if m.state.CompareAndSwap(old, old+s.waiter()) {
			break
		}
	}
	if m.queue == nil {
		m.queue = new([2]waitList)
	}
	m.queue[s].push(w)
	m.mu.Unlock()
	for {
		wake := w.Park(coroutine.ReasonLock)
		m.mu.Lock()
		popped := w.Tag != 0
		m.mu.Unlock()
		if popped {
			return
		}
		if wake == coroutine.WakeShutdown && m.leave(s, w) {
			coroutine.Unwind()
		}
		w.Prepare()
	}
}

// leave takes w off the queue after its park was ended by force; false means that somebody has taken it, or one of as many
// as are queued, and is about to wake it.
func (m *fdMutex) leave(s side, w *coroutine.Waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.queue[s].has(w) {
		return false
	}
	for {
		old := m.state.Load()
		if old&s.waiters() == 0 {
			return false
		}
		if m.state.CompareAndSwap(old, old-s.waiter()) {
			m.queue[s].remove(w)
			return true
		}
	}
}

// unlock gives the lock and the use back; true means that the fd is closed and the caller was its last user.
func (m *fdMutex) unlock(s side) (last bool) {
	return !m.state.CompareAndSwap(mutexOpen|mutexUser|2<<s, mutexOpen) && m.unlockSlow(s)
}

func (m *fdMutex) unlockSlow(s side) (last bool) {
	for {
		old := m.state.Load()
		if old&s.lockBit() == 0 || old&mutexUsers == 0 {
			panic("netco/socket: unlock of an unlocked fd")
		}
		next := (old &^ s.lockBit()) - mutexUser
		wake := old&s.waiters() != 0
		if wake {
			next -= s.waiter()
		}
		if m.state.CompareAndSwap(old, next) {
			if wake {
				m.wakeOne(s)
			}
			return next&(mutexOpen|mutexUsers|mutexGone) == 0
		}
	}
}

// use takes a use without a lock; false means that the fd is closed.
func (m *fdMutex) use() bool {
	for {
		old := m.state.Load()
		if old&mutexOpen == 0 {
			return false
		}
		if old&mutexUsers == mutexUsers {
			panic(tooMany)
		}
		if m.state.CompareAndSwap(old, old+mutexUser) {
			return true
		}
	}
}

// retire gives back the use that close took and takes it on the caller to close the fd: of unlock and unuse none returns true any
// more. Precondition: no other user will touch the fd.
func (m *fdMutex) retire() {
	m.state.Or(mutexGone)
	m.unuse()
}

// unuse gives a use back; true means that the fd is closed and the caller was its last user.
func (m *fdMutex) unuse() (last bool) {
	next := m.state.Add(^uint64(mutexUser - 1))
	return next&(mutexOpen|mutexUsers|mutexGone) == 0
}

// close marks the fd as closed, wakes who is queued, and takes a use, which the caller gives back. It returns how many users there
// are, the caller among them; there will be no more. 0 means that it was closed already.
func (m *fdMutex) close() (users int) {
	for {
		old := m.state.Load()
		if old&mutexOpen == 0 {
			return 0
		}
		next := (old &^ mutexOpen) + mutexUser
		next &^= reading.waiters() | writing.waiters()
		if !m.state.CompareAndSwap(old, next) {
			continue
		}
		for s := reading; s <= writing; s++ {
			for n := old & s.waiters(); n != 0; n -= s.waiter() {
				m.wakeOne(s)
			}
		}
		return int(next&mutexUsers) / mutexUser
	}
}

func (m *fdMutex) wakeOne(s side) {
	m.mu.Lock()
	w := m.queue[s].pop()
	w.Tag = 1
	m.mu.Unlock()
	w.Wake()
}

func (l *waitList) push(w *coroutine.Waiter) {
	w.Link = nil
	if l.last == nil {
		l.first = w
	} else {
		l.last.Link = w
	}
	l.last = w
}

func (l *waitList) pop() *coroutine.Waiter {
	w := l.first
	l.first = w.Link
	if l.first == nil {
		l.last = nil
	}
	w.Link = nil
	return w
}

func (l *waitList) has(w *coroutine.Waiter) bool {
	for x := l.first; x != nil; x = x.Link {
		if x == w {
			return true
		}
	}
	return false
}

// remove takes w out. Precondition: has(w).
func (l *waitList) remove(w *coroutine.Waiter) {
	var before *coroutine.Waiter
	for x := l.first; x != w; x = x.Link {
		before = x
	}
	if before == nil {
		l.first = w.Link
	} else {
		before.Link = w.Link
	}
	if l.last == w {
		l.last = before
	}
	w.Link = nil
}
