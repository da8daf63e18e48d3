package sync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// ErrTooLarge is the error of an acquisition of more units than the Semaphore
// has: the wait would never end.
var ErrTooLarge = errors.New("sync: more units than the Semaphore has")

// Semaphore is a weighted semaphore: it has a number of units, which callers
// acquire and release several at a time. A unit can be a connection, or a byte
// of a memory limit. NewSemaphore returns one.
//
// Waiters are served strictly in the order of arrival: a waiter for many units
// holds back the waiters behind it, and so does not starve. Units have no
// owner; a coroutine may release units that another has acquired.
//
// Uncontended, each call is a load and a compare-and-swap.
type Semaphore struct {
	state atomic.Int64 // atomic: hasWaiters and the free units
	guard waitq.Guard
	queue waitq.Queue // under guard; a waiter's kind is its number of units plus 1
	size  int64       // constant
}

// The state of a Semaphore:
//
//	63          62 ... 0
//	hasWaiters  free units
//
//	from             to                by                                guard
//	free             free - n          Acquire of n units                free
//	free             free + n          Release of n units                free
//	free             hasWaiters|free   the first waiter, as it queues    held
//	hasWaiters|free  what is left      Release, or a waiter that gives   held
//	                 after the front   up
//	                 of the queue was
//	                 served
//
// hasWaiters is set while the queue is not empty, and then the state changes
// under the guard only. It makes the state negative, so that the fast path of
// Acquire takes no unit past the queue. After each step under the guard, the
// front of the queue waits for more units than are free.
const hasWaiters int64 = -1 << 63

// NewSemaphore returns a Semaphore of n units, all free. It panics if n is
// negative or exceeds an int.
func NewSemaphore(n int64) *Semaphore {
	if n < 0 || n > math.MaxInt {
		panic(fmt.Sprintf("sync: NewSemaphore of %d units", n))
	}
	s := &Semaphore{size: n}
	s.state.Store(n)
	return s
}

// Size returns the number of units, free or not.
func (s *Semaphore) Size() int64 { return s.size }

// Acquire acquires n units. It waits until they are free and all earlier
// waiters are served: a coroutine parks, a goroutine blocks. A forced shutdown
// ends the waiting coroutine ([coroutine.Unwind]). It panics if n is negative
// or more than Size; AcquireTimeout and AcquireContext return an error for an n
// above Size.
func (s *Semaphore) Acquire(n int64) {
	if !s.take(n) {
		s.acquireSlow(n)
	}
}

// TryAcquire acquires n units if they are free and there are no waiters, and
// reports whether it did. It does not park. It panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool { return s.take(n) || s.tryAcquireSlow(n) }

// AcquireTimeout is Acquire for at most d. It returns nil,
// os.ErrDeadlineExceeded, netco.ErrShutdown, or at once ErrTooLarge if n is
// more than Size. After an error it has acquired nothing.
func (s *Semaphore) AcquireTimeout(n int64, d time.Duration) error {
	if s.take(n) {
		return nil
	}
	return s.acquireLimit(n, coroutine.Timeout(d))
}

// AcquireContext is Acquire until ctx is done. It returns nil, ctx.Err(),
// netco.ErrShutdown, or at once ErrTooLarge if n is more than Size. After
// an error it has acquired nothing. A coroutine allocates when it parks.
func (s *Semaphore) AcquireContext(ctx context.Context, n int64) error {
	if s.take(n) {
		return nil
	}
	return s.acquireLimit(n, coroutine.Context(ctx))
}

// Release releases n units and wakes the waiters that get their units. It does
// not park. It panics, and changes nothing, if n is negative or more than the
// units that are acquired.
func (s *Semaphore) Release(n int64) {
	if !s.give(n) {
		s.releaseSlow(n)
	}
}

// take is the fast path of Acquire: one attempt, with n units free and no
// waiters.
func (s *Semaphore) take(n int64) bool {
	free := s.state.Load()
	return n >= 0 && n <= free && s.state.CompareAndSwap(free, free-n)
}

// give is the fast path of Release: one attempt, without waiters.
func (s *Semaphore) give(n int64) bool {
	free := s.state.Load()
	return n >= 0 && free >= 0 && n <= s.size-free && s.state.CompareAndSwap(free, free+n)
}

func (s *Semaphore) tryAcquireSlow(n int64) bool {
	if n < 0 {
		panic(fmt.Sprintf("sync: TryAcquire of %d units", n))
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
		panic(fmt.Sprintf("sync: Acquire of %d units of a Semaphore that has %d", n, s.size))
	}
	if s.acquire(n, coroutine.Limit{}) != coroutine.WakeReady {
		waitq.Unwind()
	}
}

func (s *Semaphore) acquireLimit(n int64, limit coroutine.Limit) error {
	switch {
	case n < 0:
		panic(fmt.Sprintf("sync: Acquire of %d units", n))
	case n > s.size:
		return ErrTooLarge
	}
	if s.tryAcquireSlow(n) {
		return nil
	}
	return within(limit, func(limit coroutine.Limit) coroutine.Wake { return s.acquire(n, limit) })
}

// acquire acquires n units within limit. It returns WakeReady if it acquired
// them.
func (s *Semaphore) acquire(n int64, limit coroutine.Limit) coroutine.Wake {
	return waitq.Await(coroutine.ReasonSemaphore, limit, &s.guard, func(w *coroutine.Waiter) bool {
		return s.enqueue(w, n)
	}, s.leaveLocked)
}

// enqueue queues w for n units and reports true, or acquires them if they are
// free by now.
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
		case state < 0 || s.swap(state, hasWaiters|state):
			s.queue.Push(w, uintptr(n)+1)
			return true
		}
	}
}

func (s *Semaphore) releaseSlow(n int64) {
	s.guard.Lock()
	for {
		state := s.load()
		free := state &^ hasWaiters
		if n < 0 || n > s.size-free {
			s.guard.Unlock()
			panic(fmt.Sprintf("sync: Release of %d units of a Semaphore of which %d are held",
				n, s.size-free))
		}
		if state >= 0 {
			if s.swap(state, free+n) {
				s.guard.Unlock()
				return
			}
			continue
		}
		s.serveLocked(free + n)
		s.guard.Unlock()
		return
	}
}

// serveLocked gives the front of the queue its units while there are enough,
// and stores how many of the free units are left. Precondition: hasWaiters is
// set.
func (s *Semaphore) serveLocked(free int64) {
	for w := s.queue.Front(); w != nil; w = s.queue.Front() {
		n := int64(waitq.Kind(w) - 1)
		if n > free {
			free |= hasWaiters
			break
		}
		free -= n
		s.guard.Take(&s.queue, w)
	}
	waitq.Step(opSemStore)
	s.state.Store(free)
}

// leaveLocked implements waitq.Leave: waiters behind w may want fewer units.
func (s *Semaphore) leaveLocked(w *coroutine.Waiter) {
	s.queue.Remove(w)
	s.serveLocked(s.load() &^ hasWaiters)
}

// The slow paths' accesses to the state, as steps of waitq.Tracer.
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
