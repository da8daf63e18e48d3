package rwmutex

import "github.com/netco-go/netco/coroutine"

// lockSlow is Lock when m was not free.
func (m *RWMutex) lockSlow() {
	w := acquire()
	if m.queueWriter(w) {
		m.wait(w)
	}
	release(w)
}

// queueWriter locks m for writing if it is free by now; or else it queues w and reports true.
func (m *RWMutex) queueWriter(w *coroutine.Waiter) bool {
	m.guard.lock()
	for {
		s := m.load()
		flags, count := split(s)
		switch {
		case s == 0:
			if m.swapSlow(0, writer) {
				m.guard.unlock()
				return false
			}
		case flags&hasQueue != 0 || m.swapSlow(s, (flags|queued)+count):
			m.queue.push(w, tagWriter)
			m.guard.unlock()
			return true
		}
	}
}

// rlockSlow is RLock when m was blocked.
//
// Precondition: the caller has added its 1 to the count, as a visitor.
func (m *RWMutex) rlockSlow() {
	w := acquire()
	if m.queueReader(w) {
		m.wait(w)
	}
	release(w)
}

// queueReader lets the visitor in if m is open by now; or else it takes the 1 back, queues w and reports true.
func (m *RWMutex) queueReader(w *coroutine.Waiter) bool {
	m.guard.lock()
	for {
		s := m.load()
		flags, count := split(s)
		switch {
		case s > 0:
			m.guard.unlock()
			return false
		case s == 0: // a misused RUnlock has taken the 1 already
			if m.swapSlow(0, 1) {
				m.guard.unlock()
				return false
			}
		case m.swapSlow(s, (flags|queued)+max(count-1, 0)):
			m.queue.push(w, tagReader)
			batch := m.serveLocked()
			m.guard.unlock()
			wakeAll(batch)
			return true
		}
	}
}

// unlockSlow is Unlock when m was not simply locked for writing.
func (m *RWMutex) unlockSlow() {
	for {
		s := m.load()
		flags, count := split(s)
		switch {
		case flags&hasWriter == 0:
			panic(misuse("Unlock", s))
		case flags&hasQueue == 0: // visitors: each will find the lock open
			if m.swapSlow(s, count) {
				return
			}
		case m.handOver():
			return
		}
	}
}

// handOver gives m from its writer to the front of the queue. It reports false if there is no queue any more.
//
// Precondition: the caller unlocks m for writing.
func (m *RWMutex) handOver() bool {
	m.guard.lock()
	flags, _ := split(m.load())
	if flags != writer|queued {
		m.guard.unlock()
		return false
	}
	next, batch := m.queue.takeFront()
	m.add(next - flags)
	m.guard.unlock()
	wakeAll(batch)
	return true
}

// runlockSlow is RUnlock when others wait or have interfered.
func (m *RWMutex) runlockSlow() {
	for {
		s := m.load()
		flags, count := split(s)
		if flags&hasWriter != 0 || count == 0 {
			panic(misuse("RUnlock", s))
		}
		if m.swapSlow(s, s-1) {
			if s-1 == queued {
				m.serve()
			}
			return
		}
	}
}

// serve gives m to the front of the queue if nobody holds it.
func (m *RWMutex) serve() {
	m.guard.lock()
	batch := m.serveLocked()
	m.guard.unlock()
	wakeAll(batch)
}

// serveLocked grants m to whoever may have it now, after the state or the queue has changed, and returns them to be
// woken. With the state closing nobody but the guard's owner lets anyone in, so that what it decides on stays true; but
// visitors come and go, so it adds to the state.
func (m *RWMutex) serveLocked() (batch *coroutine.Waiter) {
	flags, count := split(m.load())
	if flags != queued {
		return nil
	}
	if !m.queue.empty() && count == 0 {
		var next int64
		next, batch = m.queue.takeFront()
		m.add(next - flags)
		return batch
	}
	n, batch := m.queue.takeReaders() // in front only if the writer before them has given up
	if m.queue.empty() {
		n -= flags
	}
	if n != 0 {
		m.add(n)
	}
	return batch
}

// giveUp takes w, whose park was ended by something else, out of the queue. It reports false if w has been granted
// the lock meanwhile.
func (m *RWMutex) giveUp(w *coroutine.Waiter) bool {
	m.guard.lock()
	if !isQueued(w) {
		m.guard.unlock()
		return false
	}
	m.queue.remove(w)
	if flags, _ := split(m.load()); flags == writer|queued && m.queue.empty() {
		m.add(writer - flags)
	}
	batch := m.serveLocked()
	m.guard.unlock()
	wakeAll(batch)
	return true
}
