package rwmutex

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// What a waiter was pushed as.
const (
	kindReader uintptr = 1 + iota
	kindWriter
)

// lockSlow locks m for writing, under b, when m was not free. It returns WakeReady if it has.
func (m *RWMutex) lockSlow(b coroutine.Bound) coroutine.Wake {
	if m.tryBarge() == done {
		return coroutine.WakeReady
	}
	over := b.Over()
	if over == coroutine.WakeReady && m.spin(m.tryBarge) {
		return coroutine.WakeReady
	}
	since := clock.Now()
	w := waitq.Acquire()
	if why, queued := m.queueWriter(w, since, over); !queued {
		waitq.Release(w)
		return why
	}
	for {
		why := waitq.Wait(w, coroutine.ReasonLock, b, &m.guard, (*place)(m))
		waitq.Release(w)
		if why != coroutine.WakeReady {
			return why
		}
		if m.load()&woken == 0 { // handed over
			m.served(since)
			return coroutine.WakeReady
		}
		if m.spin(m.tryContend) {
			m.served(since)
			return coroutine.WakeReady
		}
		w = waitq.Acquire()
		if !m.queueContender(w, since, overdue(since)) {
			waitq.Release(w)
			m.served(since)
			return coroutine.WakeReady
		}
	}
}

// tryBarge locks m for writing if it is free. It reports what came of it.
func (m *RWMutex) tryBarge() attempt {
	s := m.load()
	switch {
	case s&starving != 0:
		return hopeless
	case free(s) && m.swapSlow(s, s|writer):
		return done
	}
	return failed
}

// tryContend is tryBarge for the contender.
func (m *RWMutex) tryContend() attempt {
	s := m.load()
	if free(s) && m.swapSlow(s, contended(s)) {
		return done
	}
	return failed
}

// contended returns the state in which the contender has the lock that was free in s.
func contended(s int64) int64 { return settled(s&^woken | writer) }

// queueWriter queues w; or it locks m for writing, if that is free by now, or finds that the wait is over before it begins, and says
// which.
func (m *RWMutex) queueWriter(w *coroutine.Waiter, since int64, over coroutine.Wake) (why coroutine.Wake, isQueued bool) {
	m.guard.Lock()
	defer m.guard.Unlock()
	for {
		s := m.load()
		switch {
		case free(s) && s&starving == 0:
			if m.swapSlow(s, s|writer) {
				return coroutine.WakeReady, false
			}
		case over != coroutine.WakeReady:
			return over, false
		case s&queued != 0 || m.swapSlow(s, settled(s|queued)):
			m.pushLocked(w, kindWriter, since)
			return coroutine.WakeReady, true
		}
	}
}

// queueContender puts the contender back to the front, and makes the lock starving if it is late; or it locks m for writing and reports
// false.
func (m *RWMutex) queueContender(w *coroutine.Waiter, since int64, late bool) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	for {
		s := m.load()
		if free(s) {
			if m.swapSlow(s, contended(s)) {
				return false
			}
			continue
		}
		next := settled(s&^woken | queued)
		if late {
			next |= starving
		}
		if m.swapSlow(s, next) {
			m.since.Store(since)
			m.queue.PushFront(w, kindWriter)
			return true
		}
	}
}

// pushLocked adds w at the end of the queue.
func (m *RWMutex) pushLocked(w *coroutine.Waiter, kind uintptr, since int64) {
	if m.queue.Empty() {
		m.since.Store(since)
	}
	m.queue.Push(w, kind)
}

// served is called by who has got m from the queue, in which it was since then.
func (m *RWMutex) served(since int64) {
	s := m.load()
	if s&queued != 0 {
		m.since.Store(clock.Now())
	}
	if s&starving != 0 && !overdue(since) {
		for s = m.load(); !m.swapSlow(s, s&^starving); s = m.load() {
		}
	}
}
