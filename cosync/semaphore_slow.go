package cosync

import (
	"fmt"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// The state word of a Semaphore:
//
//	63       62 ... 0
//	waiting  free units
//
//	from           to                  by                                           under guard
//	free           free - n            who takes n units                            no
//	free           free + n            who gives n units back                       no
//	free           waiting|free        who must wait and is the first; it queues    yes
//	               in the same guarded step
//	waiting|free   what is left when   who gives back, or a waiter that gives up    yes
//	               those in front have
//	               what they wait for
//
// waiting is set while the queue is not empty, and while it is set the word changes under guard only. It makes the word negative, so
// that nobody takes a unit past the queue. After each guarded step the one in front waits for more than is free.
const waiting int64 = -1 << 63

// The accesses of this type, for tests that take them apart.
const (
	opSemLoad  waitq.Op = "load units"
	opSemSwap  waitq.Op = "swap units"
	opSemStore waitq.Op = "store units"
)

func (s *Semaphore) load() int64 {
	waitq.Step(opSemLoad)
	return s.state.Load()
}

func (s *Semaphore) swap(old, next int64) bool {
	waitq.Step(opSemSwap)
	return s.state.CompareAndSwap(old, next)
}

func (s *Semaphore) tryAcquireSlow(n int64) bool {
	if n < 0 {
		panic(fmt.Sprintf("cosync: TryAcquire of %d units", n))
	}
	for {
		free := s.load()
		if n > free {
			return false
		}
		if s.swap(free, free-n) {
			return true
		}
	}
}

func (s *Semaphore) acquireSlow(n int64) {
	if n < 0 || n > s.size {
		panic(fmt.Sprintf("cosync: Acquire of %d units of a Semaphore that has %d", n, s.size))
	}
	if s.acquire(n, coroutine.Bound{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

func (s *Semaphore) acquireBound(n int64, b coroutine.Bound) error {
	switch {
	case n < 0:
		panic(fmt.Sprintf("cosync: Acquire of %d units", n))
	case n > s.size:
		return ErrTooLarge
	}
	why := b.Over()
	if why == coroutine.WakeReady {
		why = s.acquire(n, b)
	} else if s.tryAcquireSlow(n) {
		why = coroutine.WakeReady
	}
	return b.Err(why)
}

// acquire takes n units, and waits for them if it must. Unless it returns WakeReady it has taken none.
func (s *Semaphore) acquire(n int64, b coroutine.Bound) coroutine.Wake {
	w := waitq.Acquire()
	why := coroutine.WakeReady
	if s.enqueue(w, n) {
		why = waitq.Wait(w, coroutine.ReasonSemaphore, b, &s.guard, (*semaphorePlace)(s))
	}
	waitq.Release(w)
	return why
}

// enqueue takes n units if they are free by now; else it queues w for them and reports true.
func (s *Semaphore) enqueue(w *coroutine.Waiter, n int64) bool {
	s.guard.Lock()
	defer s.guard.Unlock()
	for {
		state := s.load()
		switch {
		case n <= state:
			if s.swap(state, state-n) {
				return false
			}
		case state < 0 || s.swap(state, waiting|state):
			s.queue.Push(w, uintptr(n)+1)
			return true
		}
	}
}

func (s *Semaphore) releaseSlow(n int64) {
	s.guard.Lock()
	for {
		state := s.load()
		free := state &^ waiting
		if n < 0 || n > s.size-free {
			s.guard.Unlock()
			panic(fmt.Sprintf("cosync: Release of %d units of a Semaphore of which %d are held", n, s.size-free))
		}
		if state >= 0 {
			if s.swap(state, free+n) {
				s.guard.Unlock()
				return
			}
			continue
		}
		var b waitq.Batch
		s.serveLocked(free+n, &b)
		s.guard.Unlock()
		b.Wake()
		return
	}
}

// serveLocked lets go those in front who can have what they wait for, and stores what is left of the free units.
//
// Precondition: waiting is set.
func (s *Semaphore) serveLocked(free int64, b *waitq.Batch) {
	for w := s.queue.Front(); w != nil; w = s.queue.Front() {
		n := int64(waitq.Kind(w) - 1)
		if n > free {
			free |= waiting
			break
		}
		free -= n
		b.Take(&s.queue, w)
	}
	waitq.Step(opSemStore)
	s.state.Store(free)
}

// semaphorePlace is a Semaphore as the place in which its waiters wait.
type semaphorePlace Semaphore

// Leave: if w was in front, those behind it may want less than it did.
func (p *semaphorePlace) Leave(w *coroutine.Waiter, b *waitq.Batch) {
	s := (*Semaphore)(p)
	s.queue.Remove(w)
	s.serveLocked(s.load()&^waiting, b)
}
