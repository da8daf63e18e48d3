package cosync

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

// ErrTooLarge is returned for more units than a Semaphore has altogether: to wait for them would never end.
var ErrTooLarge = errors.New("cosync: more units than the Semaphore has")

// Semaphore has a number of units, of which callers take some, hold them and give them back. Weights are free to choose: a unit can be
// one of ten connections, or a byte of what may be in memory at a time.
//
// Those who wait are served in the order in which they came, and nobody passes them: one who waits for many units holds back those
// behind who want few, and so does not starve. Units belong to nobody; a coroutine may give back what another took.
//
// Without contention each call is one atomic operation after a load. NewSemaphore makes one. semaphore_slow.go has the state word.
type Semaphore struct {
	state atomic.Int64 // atomic: free units, and whether somebody waits
	guard waitq.Guard
	queue waitq.Queue // under guard; a waiter's kind is the units it waits for and 1
	size  int64       // constant
}

// NewSemaphore returns a Semaphore of n units, all of them free. It panics if n is negative or larger than an int.
func NewSemaphore(n int64) *Semaphore {
	if n < 0 || n > math.MaxInt {
		panic(fmt.Sprintf("cosync: NewSemaphore of %d units", n))
	}
	s := &Semaphore{size: n}
	s.state.Store(n)
	return s
}

// Size returns how many units there are, free or not.
func (s *Semaphore) Size() int64 { return s.size }

// Acquire takes n units, and waits until they are free and it is the caller's turn: a coroutine parks, a goroutine blocks. When the
// scheduler ends by force, it ends the waiting coroutine ([coroutine.Unwind]). It panics if n is negative or more than Size; where n
// comes from outside, use one of the others, which return an error for that.
func (s *Semaphore) Acquire(n int64) {
	if !s.take(n) {
		s.acquireSlow(n)
	}
}

// TryAcquire takes n units if they are free and nobody waits, and reports whether it did. Does not park. It panics if n is negative.
func (s *Semaphore) TryAcquire(n int64) bool { return s.take(n) || s.tryAcquireSlow(n) }

// AcquireTimeout is Acquire for d at most. It returns os.ErrDeadlineExceeded, ErrTooLarge at once if n is more than Size, or
// coroutine.ErrShutdown; then it has taken nothing.
func (s *Semaphore) AcquireTimeout(n int64, d time.Duration) error {
	if s.take(n) {
		return nil
	}
	return s.acquireBound(n, coroutine.Within(d))
}

// AcquireContext is Acquire until ctx ends. It returns ctx.Err(), ErrTooLarge at once if n is more than Size, or
// coroutine.ErrShutdown; then it has taken nothing. A coroutine allocates when it parks.
func (s *Semaphore) AcquireContext(ctx context.Context, n int64) error {
	if s.take(n) {
		return nil
	}
	return s.acquireBound(n, coroutine.During(ctx))
}

// Release gives n units back and lets go whoever may have them. Does not park. It panics, and changes nothing, if n is negative or
// more than all callers together hold.
func (s *Semaphore) Release(n int64) {
	if !s.give(n) {
		s.releaseSlow(n)
	}
}

// take is the fast path: one try, with n units free and nobody waiting.
func (s *Semaphore) take(n int64) bool {
	free := s.state.Load()
	return n >= 0 && n <= free && s.state.CompareAndSwap(free, free-n)
}

// give is the fast path: one try, with nobody waiting.
func (s *Semaphore) give(n int64) bool {
	free := s.state.Load()
	return n >= 0 && free >= 0 && n <= s.size-free && s.state.CompareAndSwap(free, free+n)
}
