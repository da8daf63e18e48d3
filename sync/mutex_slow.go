package sync

import (
	"runtime"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

const unlockOfUnlocked = "sync: Unlock of unlocked Mutex"

// maxBarges is how many Unlocks may pass a woken waiter of their own thread. A
// variable for tests, as are the next two.
var maxBarges uint32 = 128

// starved reports whether a waiter that came at since (CLOCK_MONOTONIC, ns) has
// waited for more than starvationThresholdNs.
var starved = func(since int64) bool { return clock.Now()-since > starvationThresholdNs }

const starvationThresholdNs = 1e6

// sameThread reports whether w waits on the caller's thread.
var sameThread = func(w *coroutine.Waiter) bool {
	co := w.Coroutine()
	return co != nil && co.Executor() == coroutine.DrivenBy() // does not wait, unlike CurrentWorker
}

func (m *Mutex) lockSlow() {
	if !m.tryNoted() && m.lockLimit(coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// lockLimit waits for m within limit. It returns WakeReady if it has locked m.
func (m *Mutex) lockLimit(limit coroutine.Limit) coroutine.Wake {
	if m.spin() {
		m.note()
		return coroutine.WakeReady
	}
	w := waitq.Acquire(limit)
	queued := m.enqueue(w)
	for since := clock.Now(); queued; {
		if limit == (coroutine.Limit{}) {
			w.BlockedBy(&m.holder)
		}
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
		waitq.Renew(w) // for another park
		queued = m.afterWake(w, late)
	}
	m.note()
	waitq.Release(w)
	return coroutine.WakeReady
}

// note notes the holder, which is the caller, unless m is quick.
func (m *Mutex) note() {
	if m.state.Load()&quick == 0 {
		m.holder.Note()
	}
}

// tryNoted is TryLock while holders are noted.
func (m *Mutex) tryNoted() bool {
	if m.loadState() != free || !m.swap(free, locked) {
		return false
	}
	m.holder.Note()
	return true
}

// unlockNoted is the fast path of Unlock while holders are noted. It reports
// whether the state was locked.
func (m *Mutex) unlockNoted() bool {
	if m.loadState() != locked {
		return false
	}
	m.holder.Clear() // before m can have another holder
	next := free
	if m.noted++; m.noted > noteFor && !coroutine.NotesHolders {
		m.noted, next = 0, quick
	}
	if !m.swap(locked, next) {
		return false
	}
	if m.loadWaiters()&unlockServes != 0 {
		m.serve()
	}
	return true
}

// take locks m if it is free.
func (m *Mutex) take() bool {
	s := m.loadState()
	return s&^quick == free && m.swap(s, s|locked)
}

// requestHandoff sets handoff if m is locked, and reports whether it did. With
// late it clears quick.
func (m *Mutex) requestHandoff(late bool) bool {
	s := m.loadState()
	next := handoff | s&quick
	if late {
		next = handoff
	}
	return s&^quick == locked && m.swap(s, next)
}

// endHandoff changes handoff to locked; other states stay.
func (m *Mutex) endHandoff() {
	if s := m.loadState(); s&^quick == handoff {
		m.swap(s, locked|s&quick)
	}
}

// enqueue queues w and reports true, or locks m if it is free by now.
func (m *Mutex) enqueue(w *coroutine.Waiter) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	if m.loadWaiters() == noWaiters {
		m.storeWaiters(needsWake) // before the state is loaded
	}
	if m.take() {
		if m.loadWaiters() == needsWake {
			m.noneWokenLocked()
		}
		return false
	}
	m.queue.Push(w, waitq.AnyKind)
	return true
}

// afterWake continues the wait of w, which was woken: w has got m, or tries for
// it. afterWake reports whether it queued w again.
func (m *Mutex) afterWake(w *coroutine.Waiter, late bool) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	switch m.loadWaiters() {
	case woken:
		return m.retryLocked(w, late, late)
	case wokenLocal:
		return m.retryLocked(w, true, late)
	}
	if !late {
		m.endHandoff()
	}
	return false
}

// retryLocked is the attempt of the woken waiter: it locks m, or queues w
// before all others and reports true. With pass the next Unlock hands m off.
// pass is for a starved waiter, and for a waiter on its waker's thread: there m
// was unlocked and is locked again before the waiter runs, so the holder
// probably parks while it holds m.
func (m *Mutex) retryLocked(w *coroutine.Waiter, pass, late bool) bool {
	m.storeWaiters(needsWake) // before the state is loaded
	for {
		switch {
		case m.take():
			m.noneWokenLocked()
			return false
		case !pass, m.requestHandoff(late):
			m.queue.PushFront(w, waitq.AnyKind)
			return true
		}
	}
}

// unlockSlow is Unlock if the state was not locked.
func (m *Mutex) unlockSlow() {
	if m.unlockNoted() {
		return
	}
	m.guard.Lock()
	switch s := m.loadState(); {
	case s&^quick == handoff:
		m.noted = 0
		m.holder.Clear()
		m.handOffLocked()
	case s&^quick == locked && m.swap(s, s&quick): // handoff has ended meanwhile
		m.serveLocked()
	default:
		m.guard.Unlock()
		panic(unlockOfUnlocked)
	}
	m.guard.Unlock()
}

// serve is the part of Unlock that serves waiters.
func (m *Mutex) serve() {
	if m.loadWaiters() == wokenLocal && m.barges.Add(1) < maxBarges {
		return
	}
	m.guard.Lock()
	m.serveLocked()
	m.guard.Unlock()
}

// handOffLocked passes m from its holder to the front of the queue.
// Precondition: the state is handoff.
func (m *Mutex) handOffLocked() {
	m.guard.Take(&m.queue, m.queue.Front())
	if m.queue.Empty() {
		m.storeWaiters(noWaiters)
		m.endHandoff()
	}
}

// serveLocked wakes the front of the queue if m is free and no waiter is woken.
// If too many callers have passed the woken waiter, it locks m for that waiter.
// If m is locked again, the holder's Unlock will serve.
func (m *Mutex) serveLocked() {
	switch m.loadWaiters() {
	case wokenLocal:
		if m.barges.Load() >= maxBarges && m.take() {
			m.noneWokenLocked()
			m.dontSpin() // the holder is parked on this thread
		}
	case needsWake:
		if m.loadState()&^quick == free {
			m.wakeFrontLocked()
		}
	}
}

// wakeFrontLocked takes the front out of the queue and wakes it to try for m.
func (m *Mutex) wakeFrontLocked() {
	w := m.queue.Front()
	m.guard.Take(&m.queue, w)
	if !sameThread(w) {
		m.storeWaiters(woken)
		return
	}
	m.barges.Store(0)
	m.storeWaiters(wokenLocal)
}

// leaveLocked implements waitq.Leave.
func (m *Mutex) leaveLocked(w *coroutine.Waiter) {
	m.queue.Remove(w)
	if m.queue.Empty() && m.loadWaiters() == needsWake {
		m.storeWaiters(noWaiters)
		m.endHandoff()
	}
}

// noneWokenLocked sets waiters to the value for "no waiter is woken".
func (m *Mutex) noneWokenLocked() {
	if m.queue.Empty() {
		m.storeWaiters(noWaiters)
	} else {
		m.storeWaiters(needsWake)
	}
}

// A holder on another thread mostly unlocks in less time than a park and a wake
// take. But a holder on the spinner's own thread cannot run meanwhile, and a
// parked holder does not. The mutex does not know its holder, so after a vain
// spin the next spinSkip waits do not spin.
//
// Each attempt takes the cache line from the holder, so attempts are far apart.
const (
	spinPauses    = 200 // between attempts, about 2 µs
	spinAllPauses = 3 * spinPauses
	spinSkip      = 32
)

// canSpin says whether another thread can run while this one spins. A variable
// for tests.
var canSpin = runtime.NumCPU() > 1

// spin locks m if it becomes free soon, and reports whether it did.
func (m *Mutex) spin() bool { return m.awaitFree() && m.take() }

// awaitFree reports whether m becomes free within some microseconds.
func (m *Mutex) awaitFree() bool { return m.spinUntil(m.lockState, spinPauses) }

// lockState is the state without quick.
func (m *Mutex) lockState() uint32 { return m.state.Load() &^ quick }

func (m *Mutex) isFree() bool { return m.lockState() == free }

// spinUntil reports whether state becomes free within some microseconds. The
// pauses between looks double, up to spinPauses.
func (m *Mutex) spinUntil(state func() uint32, pauses uint32) bool {
	if !canSpin {
		return false
	}
	if n := m.skip.Load(); n > 0 {
		m.skip.Store(n - 1)
		return false
	}
	for spent := uint32(0); ; spent += pauses {
		switch state() {
		case free:
			return true
		case handoff:
			return false
		}
		if spent >= spinAllPauses {
			m.dontSpin()
			return false
		}
		asm.Pause(pauses)
		pauses = min(2*pauses, spinPauses)
	}
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
