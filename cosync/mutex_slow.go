package cosync

import (
	"runtime"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

const unlockOfUnlocked = "cosync: Unlock of unlocked Mutex"

// maxBarges is how many Unlocks may pass a woken waiter of their own thread. A
// variable for tests, as the next two.
var maxBarges uint32 = 128

// starved reports whether a waiter that came at since (CLOCK_MONOTONIC, ns) has
// waited for more than starvationThresholdNs.
var starved = func(since int64) bool { return clock.Now()-since > starvationThresholdNs }

const starvationThresholdNs = 1e6

// sameThread reports whether w waits on the caller's thread.
var sameThread = func(w *coroutine.Waiter) bool {
	co := w.Coroutine()
	return co != nil && co.Executor() == coroutine.DrivenBy() // unlike Me, it does not wait
}

func (m *Mutex) lockSlow() {
	if m.lockLimit(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// lockLimit waits for m within b. It returns WakeReady if it has locked m.
func (m *Mutex) lockLimit(limit coroutine.Limit) coroutine.Wake {
	if coroutine.NotesHolders && m.tryNoted() {
		return coroutine.WakeReady
	}
	if m.spin() {
		m.holder.Note()
		return coroutine.WakeReady
	}
	w := waitq.Acquire()
	queued := m.enqueue(w)
	for since := clock.Now(); queued; {
		w.BlockedBy(&m.holder)
		why := waitq.Wait(w, coroutine.ReasonLock, limit, &m.guard, m.leaveLocked)
		w.BlockedBy(nil)
		if why != coroutine.WakeReady {
			waitq.Release(w)
			return why
		}
		late := starved(since)
		if m.waiters.Load() == woken {
			m.awaitFree() // before the attempt, which queues again if m is locked
		}
		w = waitq.Renew(w) // prepared for another park
		queued = m.afterWake(w, late)
	}
	m.holder.Note()
	waitq.Release(w)
	return coroutine.WakeReady
}

// tryNoted is TryLock where holders are noted.
func (m *Mutex) tryNoted() bool {
	if !m.swap(free, locked) {
		return false
	}
	m.holder.Note()
	return true
}

// unlockNoted is the fast path of Unlock where holders are noted. It reports
// whether the state was locked.
func (m *Mutex) unlockNoted() bool {
	if m.state.Load() != free {
		m.holder.Clear() // before it can have another
	}
	if !m.swap(locked, free) {
		return false
	}
	if m.loadWaiters()&unlockServes != 0 {
		m.serve()
	}
	return true
}

// enqueue queues w and reports true, or locks m if it is free by now.
func (m *Mutex) enqueue(w *coroutine.Waiter) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	if m.loadWaiters() == noWaiters {
		m.storeWaiters(needsWake) // before the state is loaded
	}
	if m.swap(free, locked) {
		if m.loadWaiters() == needsWake {
			m.noneWokenLocked()
		}
		return false
	}
	m.queue.Push(w, waitq.AnyKind)
	return true
}

// afterWake continues a waiter that was woken: it has got m, or tries for it.
// It reports whether it has queued w again.
func (m *Mutex) afterWake(w *coroutine.Waiter, late bool) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	switch m.loadWaiters() {
	case woken:
		return m.retryLocked(w, late)
	case wokenLocal:
		return m.retryLocked(w, true)
	}
	if !late {
		m.swap(handoff, locked)
	}
	return false
}

// retryLocked is the attempt of the woken waiter: it locks m, or queues w
// before all others and reports true. With pass the next Unlock hands m off.
// That is for a starved waiter, and for one of its waker's thread: m was
// unlocked on this thread and is locked while this waiter runs on it, so its
// holder probably parks while it holds m.
func (m *Mutex) retryLocked(w *coroutine.Waiter, pass bool) bool {
	m.storeWaiters(needsWake) // before the state is loaded
	for {
		switch {
		case m.swap(free, locked):
			m.noneWokenLocked()
			return false
		case !pass, m.swap(locked, handoff):
			m.queue.PushFront(w, waitq.AnyKind)
			return true
		}
	}
}

// unlockSlow is Unlock if the state was not locked.
func (m *Mutex) unlockSlow() {
	if coroutine.NotesHolders && m.unlockNoted() {
		return
	}
	var b waitq.Batch
	m.guard.Lock()
	switch {
	case m.loadState() == handoff:
		m.handOffLocked(&b)
	case m.swap(locked, free): // handoff has ended meanwhile
		m.serveLocked(&b)
	default:
		m.guard.Unlock()
		panic(unlockOfUnlocked)
	}
	m.guard.Unlock()
	b.Wake()
}

// serve is the part of Unlock that follows if there are waiters.
func (m *Mutex) serve() {
	if m.loadWaiters() == wokenLocal && m.barges.Add(1) < maxBarges {
		return
	}
	var b waitq.Batch
	m.guard.Lock()
	m.serveLocked(&b)
	m.guard.Unlock()
	b.Wake()
}

// handOffLocked passes m from its holder to the front of the queue.
// Precondition: the state is handoff.
func (m *Mutex) handOffLocked(b *waitq.Batch) {
	b.Take(&m.queue, m.queue.Front())
	if m.queue.Empty() {
		m.storeWaiters(noWaiters)
		m.swap(handoff, locked)
	}
}

// serveLocked wakes the front of the queue if m is free and no waiter is woken.
// If too many callers have passed the woken waiter, it locks m for that one. If
// m is locked again, its holder's Unlock will do all this.
func (m *Mutex) serveLocked(b *waitq.Batch) {
	switch m.loadWaiters() {
	case wokenLocal:
		if m.barges.Load() >= maxBarges && m.swap(free, locked) {
			m.noneWokenLocked()
			m.dontSpin() // the holder is of this thread and does not run
		}
	case needsWake:
		if m.loadState() == free {
			m.wakeFrontLocked(b)
		}
	}
}

// wakeFrontLocked takes the front out of the queue, to try for m.
func (m *Mutex) wakeFrontLocked(b *waitq.Batch) {
	w := m.queue.Front()
	b.Take(&m.queue, w)
	if !sameThread(w) {
		m.storeWaiters(woken)
		return
	}
	m.barges.Store(0)
	m.storeWaiters(wokenLocal)
}

// leaveLocked implements waitq.Leave.
func (m *Mutex) leaveLocked(w *coroutine.Waiter) (none waitq.Batch) {
	m.queue.Remove(w)
	if m.queue.Empty() && m.loadWaiters() == needsWake {
		m.storeWaiters(noWaiters)
		m.swap(handoff, locked)
	}
	return none
}

// noneWokenLocked sets waiters for when no waiter is woken.
func (m *Mutex) noneWokenLocked() {
	if m.queue.Empty() {
		m.storeWaiters(noWaiters)
	} else {
		m.storeWaiters(needsWake)
	}
}

// A holder on another thread is mostly done in less time than a park and a wake
// take. But a holder of the spinner's own thread cannot run meanwhile, and a
// parked one need not. The mutex does not know its holder, so after a vain spin
// the next spinSkip waits do without.
//
// Each attempt takes the cache line from the holder, so they are far apart.
const (
	spinAttempts = 3
	spinPauses   = 200 // between attempts, about 2 µs
	spinSkip     = 32
)

// canSpin says whether another thread can run while this one spins. A variable
// for tests.
var canSpin = runtime.NumCPU() > 1

// spin locks m if it becomes free soon, and reports whether it did.
func (m *Mutex) spin() bool { return m.awaitFree() && m.swap(free, locked) }

// awaitFree reports whether m becomes free within some microseconds.
func (m *Mutex) awaitFree() bool {
	if !canSpin {
		return false
	}
	if n := m.skip.Load(); n > 0 {
		m.skip.Store(n - 1)
		return false
	}
	for range spinAttempts {
		switch m.state.Load() {
		case free:
			return true
		case handoff:
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

// The slow paths' accesses to what threads share, as steps of waitq.Tracer.
const (
	opState   waitq.Op = "mutex state"
	opWaiters waitq.Op = "mutex waiters"
)

func (m *Mutex) loadState() uint32 {
	waitq.Step(opState)
	return m.state.Load()
}

func (m *Mutex) swap(old, next uint32) bool {
	waitq.Step(opState)
	return m.state.CompareAndSwap(old, next)
}

func (m *Mutex) loadWaiters() uint32 {
	waitq.Step(opWaiters)
	return m.waiters.Load()
}

// storeWaiters stores waiters. Under the guard.
func (m *Mutex) storeWaiters(next uint32) {
	waitq.Step(opWaiters)
	m.waiters.Store(next)
}
