package rwmutex

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// rlockSlow locks m for reading, under b, when there was something to look at. It returns WakeReady if it has.
//
// Precondition: the caller has added its 1 to the count, as a visitor.
func (m *RWMutex) rlockSlow(b coroutine.Bound) coroutine.Wake {
	if m.tryVisit() == done {
		return coroutine.WakeReady
	}
	over := b.Over()
	if over == coroutine.WakeReady && m.spin(m.tryVisit) {
		return coroutine.WakeReady
	}
	since := clock.Now()
	w := waitq.Acquire()
	why, queued := m.queueReader(w, since, over)
	if queued {
		if why = waitq.Wait(w, coroutine.ReasonLock, b, &m.guard, (*place)(m)); why == coroutine.WakeReady {
			m.served(since)
		}
	}
	waitq.Release(w)
	return why
}

// tryVisit reports what comes of a visit: it is done when the visitor is in.
func (m *RWMutex) tryVisit() attempt {
	s := m.load()
	switch {
	case s&starving != 0:
		return hopeless
	case s&writer != 0 || count(s) <= 0:
		return failed
	}
	return done
}

// queueReader lets the visitor in if it may by now; or else it takes the 1 back, and queues w, or finds that the wait is over before
// it begins, and says which.
func (m *RWMutex) queueReader(w *coroutine.Waiter, since int64, over coroutine.Wake) (why coroutine.Wake, isQueued bool) {
	isQueued = over == coroutine.WakeReady
	var b waitq.Batch
	m.guard.Lock()
	for {
		s := m.load()
		open := s&(writer|starving) == 0
		if open && count(s) > 0 {
			m.guard.Unlock()
			return coroutine.WakeReady, false
		}
		next := s
		switch {
		case open: // an RUnlock too many has taken the 1
			next += (1 - count(s)) * one
		case count(s) > 0: // else the same
			next -= one
		}
		if isQueued && !open {
			next = settled(next | queued)
		}
		if m.swapSlow(s, next) && !open {
			break
		}
	}
	if isQueued {
		m.pushLocked(w, kindReader, since)
	}
	m.serveLocked(&b)
	m.guard.Unlock()
	b.Wake()
	return over, isQueued
}
