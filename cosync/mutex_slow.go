package cosync

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/waitq"
)

// lockSlow is Lock when m was not free.
func (m *Mutex) lockSlow() {
	if m.lockWithin(coroutine.Bound{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

// lockWithin waits for m, no longer than b allows. With WakeReady m is locked.
func (m *Mutex) lockWithin(b coroutine.Bound) coroutine.Wake {
	if m.spin() {
		return coroutine.WakeReady
	}
	w := waitq.Acquire()
	queued := m.enqueue(w)
	for since := clock.Now(); queued; {
		if why := waitq.Wait(w, coroutine.ReasonLock, b, &m.guard, m); why != coroutine.WakeReady {
			waitq.Release(w)
			return why
		}
		tooLong := starved(since)
		m.awaitComing()
		waitq.Release(w)
		w = waitq.Acquire() // for another park
		queued = m.arrive(w, tooLong)
	}
	waitq.Release(w)
	return coroutine.WakeReady
}

// enqueue queues w and reports true; or it locks m, if that is free by now.
func (m *Mutex) enqueue(w *coroutine.Waiter) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	if m.lookLine() == empty {
		m.setLine(calling)
	}
	if m.swap(free, locked) {
		if m.lookLine() == calling {
			m.setLine(m.waiting())
		}
		return false
	}
	m.queue.Push(w, kind)
	return true
}

// kind is of all waiters.
const kind = 1

// arrive is what one does who was woken. It has been handed m, or tries for it. It reports true if it has queued again.
func (m *Mutex) arrive(w *coroutine.Waiter, tooLong bool) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	switch m.lookLine() {
	case coming:
		return m.try(w, tooLong)
	case near:
		return m.try(w, true)
	}
	if !tooLong {
		m.swap(owed, locked)
	}
	return false
}

// try is for the one who was on the way: it locks m, or queues in front of all others and reports true. Then the next Unlock hands m
// over, if this has waited for too long or it was near: m was unlocked on its thread and is held although that thread now runs this,
// so its holder is most probably one that parks while it holds m. Under guard.
func (m *Mutex) try(w *coroutine.Waiter, handOver bool) bool {
	m.setLine(calling) // before the look at the state
	for {
		switch {
		case m.swap(free, locked):
			m.setLine(m.waiting())
			return false
		case !handOver, m.swap(locked, owed):
			m.queue.PushFront(w, kind)
			return true
		}
	}
}

// unlockSlow is Unlock when m was not simply locked.
func (m *Mutex) unlockSlow() {
	var b waitq.Batch
	m.guard.Lock()
	switch {
	case m.lookState() == owed:
		m.handOver(&b)
	case m.swap(locked, free): // it is owed no longer
		m.lookAfter(&b)
	default:
		m.guard.Unlock()
		panic(misuse)
	}
	m.guard.Unlock()
	b.Wake()
}

// unlocked is the rest of Unlock when somebody has to be looked after.
func (m *Mutex) unlocked() {
	if m.lookLine() == near && m.passes.Add(1) < maxPasses {
		return
	}
	var b waitq.Batch
	m.guard.Lock()
	m.lookAfter(&b)
	m.guard.Unlock()
	b.Wake()
}

// handOver gives m from its holder to the front of the queue. Under guard, out of owed.
func (m *Mutex) handOver(b *waitq.Batch) {
	b.Take(&m.queue, m.queue.Front())
	if m.queue.Empty() {
		m.setLine(empty)
		m.swap(owed, locked)
	}
}

// lookAfter calls the front of the queue if nobody is on the way. If m has been passed too often by one that is, it hands m to
// that one. If m is held it leaves all of that to the holder. Under guard.
func (m *Mutex) lookAfter(b *waitq.Batch) {
	switch m.lookLine() {
	case near:
		if m.passes.Load() >= maxPasses && m.swap(free, locked) {
			m.setLine(m.waiting())
			m.dontSpin() // the holder is not running, and on this thread
		}
	case calling:
		if m.lookState() == free {
			m.call(b)
		}
	}
}

// call takes the front of the queue out, for it to come and try.
func (m *Mutex) call(b *waitq.Batch) {
	w := m.queue.Front()
	b.Take(&m.queue, w)
	if !sameThread(w) {
		m.setLine(coming)
		return
	}
	m.passes.Store(0)
	m.setLine(near)
}

// Leave implements waitq.Place.
func (m *Mutex) Leave(w *coroutine.Waiter, _ *waitq.Batch) {
	m.queue.Remove(w)
	if m.queue.Empty() && m.lookLine() == calling {
		m.setLine(empty)
		m.swap(owed, locked)
	}
}
