package rwmutex

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// unlockSlow is Unlock when m was not simply locked for writing.
func (m *RWMutex) unlockSlow() {
	for {
		s := m.load()
		if s&writer == 0 {
			panic(misuse("Unlock", s))
		}
		if m.swapSlow(s, s&^writer) {
			if s&due != 0 {
				m.serve()
			}
			return
		}
	}
}

// runlockSlow is RUnlock when its caller has left the state s, and somebody waits, or it should not have.
func (m *RWMutex) runlockSlow(s int64) {
	switch {
	case s < 0 || s&writer != 0:
		m.tooMany()
	case free(s):
		m.serve()
	case s&starving == 0 && overdue(m.since.Load()):
		m.close()
	}
}

// tooMany puts back what RUnlock has taken off the count, unless somebody has by now, and panics.
func (m *RWMutex) tooMany() {
	var b waitq.Batch
	m.guard.Lock()
	s := m.load()
	for ; count(s) < 0; s = m.load() {
		if m.swapSlow(s, s+one) {
			m.serveLocked(&b) // whoever has seen the lock held may have relied on this
			break
		}
	}
	m.guard.Unlock()
	b.Wake()
	panic(misuse("RUnlock", s))
}

// close makes the lock starving, unless there is a contender, or nobody waits any more.
func (m *RWMutex) close() {
	var b waitq.Batch
	m.guard.Lock()
	for s := m.load(); s&due != 0 && !m.swapSlow(s, s|starving); s = m.load() {
	}
	m.serveLocked(&b)
	m.guard.Unlock()
	b.Wake()
}

// serve gives m to the front of the queue if it may have it, or wakes it to try.
func (m *RWMutex) serve() {
	var b waitq.Batch
	m.guard.Lock()
	m.serveLocked(&b)
	m.guard.Unlock()
	b.Wake()
}

// serveLocked is serve; it adds those who are to be woken to b.
func (m *RWMutex) serveLocked(b *waitq.Batch) {
	for {
		s := m.load()
		if s&writer != 0 || s&due == 0 {
			return
		}
		n, next := m.turn(s)
		if n == 0 {
			return
		}
		if m.swapSlow(s, next) {
			for range n {
				b.Take(&m.queue, m.queue.Front())
			}
			return
		}
	}
}

// turn returns how many of the queue's front are to be taken out in the state s, and the state after it.
//
// Precondition: no writer is in, there is no contender, and the queue is not empty.
func (m *RWMutex) turn(s int64) (n int, next int64) {
	n, last := m.readersInFront()
	switch {
	case n > 0:
		next = s + (int64(n)-min(count(s), 0))*one // a negative count: as in queueReader
	case !free(s):
		return 0, s
	case s&starving != 0:
		n, last, next = 1, m.queue.Front(), s|writer
	default:
		n, last, next = 1, m.queue.Front(), s|woken
	}
	if last.Link == nil {
		next &^= queued
	}
	return n, settled(next)
}

// readersInFront returns how many readers are in front of the next writer, and the last of them.
func (m *RWMutex) readersInFront() (n int, last *coroutine.Waiter) {
	for w := m.queue.Front(); w != nil && waitq.Kind(w) == kindReader; w = w.Link {
		n, last = n+1, w
	}
	return n, last
}

// place is a lock as waitq's Place.
type place RWMutex

// Leave takes w, which gives up, out of the queue.
func (p *place) Leave(w *coroutine.Waiter, b *waitq.Batch) {
	m := (*RWMutex)(p)
	m.queue.Remove(w)
	if m.queue.Empty() {
		for s := m.load(); !m.swapSlow(s, settled(s&^queued)); s = m.load() {
		}
	}
	m.serveLocked(b)
}
