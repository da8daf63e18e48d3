package channel

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ilist"
	"github.com/netco-go/netco/internal/waitq"
)

// A waiter queues one blocked operation on one channel; a Select has one per
// case. The channel keeps released waiters for the next wait. From newWaiter to
// recycleLocked a waiter belongs to its operation, except for the fields that
// the waker writes before it claims w.
//
// Each coroutine.Waiter has a Tag with the values of waitq.Queue; the Tag of a
// queued Waiter is AnyKind. As the waiters of a Select share one
// coroutine.Waiter in several queues, under different guards, a waker claims it
// by compare-and-swap.
type waiter[T any] struct {
	w *coroutine.Waiter
	c *Chan[T] // constant

	// Links, behind the first two words, are under the guard: in a queue, or in
	// the free stack.
	ilist.Links[waiter[T]]

	value    T    // to send, or received
	ok       bool // set by the waker: the channel was not closed
	queued   bool // under the guard
	send     bool // it is for sendq, not for recvq
	inSelect bool // other waiters share w
	chosen   bool // under the guard: w was claimed through this waiter of a Select
}

// claim claims wa.w for the caller, which has taken wa out of its queue. It
// reports false if wa.w was claimed through another channel of a Select. Under
// the guard.
func (wa *waiter[T]) claim() bool {
	claims := &wa.c.guard.Claims
	if wa.inSelect {
		wa.chosen = claims.TryClaim(wa.w, waitq.AnyKind)
		return wa.chosen
	}
	claims.Claim(wa.w)
	return true
}

// leaveLocked implements waitq.Leave.
func (wa *waiter[T]) leaveLocked(w *coroutine.Waiter) {
	wa.c.queueOf(wa).remove(wa)
	w.Tag = 0
}

// queue holds waiters, oldest first. All methods need the guard.
type queue[T any] struct{ waiters ilist.List[waiter[T]] }

// front returns the waiter that has waited longest, or nil.
func (q *queue[T]) front() *waiter[T] { return q.waiters.Front() }

func (q *queue[T]) push(s *waiter[T]) {
	s.queued = true
	q.waiters.PushBack(s)
}

// remove takes s out, wherever it is. Precondition: s is in q.
func (q *queue[T]) remove(s *waiter[T]) {
	s.queued = false
	q.waiters.Remove(s)
}

// pop takes out the front, without a claim. Precondition: q is not empty.
func (q *queue[T]) pop() *waiter[T] {
	s := q.waiters.PopFront()
	s.queued = false
	return s
}

// claimFront takes out and claims the waiter that has waited longest; nil if
// there is none. It drops waiters whose Select was claimed through another
// channel; the Select finds these waiters out of the queue.
func (q *queue[T]) claimFront() *waiter[T] {
	for q.front() != nil {
		if s := q.pop(); s.claim() {
			return s
		}
	}
	return nil
}

// claimAllLocked claims all waiters of q, with the result of a closed channel.
func (c *Chan[T]) claimAllLocked(q *queue[T]) {
	for s := q.claimFront(); s != nil; s = q.claimFront() {
		s.ok = false
	}
}

func (c *Chan[T]) queueOf(s *waiter[T]) *queue[T] {
	if s.send {
		return &c.sendq
	}
	return &c.recvq
}

// newWaiter returns a waiter for the calling coroutine or goroutine, to wait
// within limit.
func (c *Chan[T]) newWaiter(send bool, limit coroutine.Limit) *waiter[T] {
	w := waitq.Acquire(limit)
	s := c.unused()
	s.w, s.send = w, send
	return s
}

// unused returns a waiter of the free stack, or a new one.
func (c *Chan[T]) unused() *waiter[T] {
	c.lock()
	s := c.free
	if s != nil {
		c.free, s.Link = s.Link, nil
	}
	c.guard.Unlock()
	if s == nil {
		s = &waiter[T]{c: c}
	}
	return s
}

// recycleLocked puts s, which is in no queue and no waker accesses, on the free
// stack.
func (c *Chan[T]) recycleLocked(s *waiter[T]) {
	var none T
	s.value, s.w, s.ok, s.inSelect, s.send, s.chosen = none, nil, false, false, false, false
	c.free, s.Link = s, c.free
}

// queueLocked queues s.
func (c *Chan[T]) queueLocked(s *waiter[T]) {
	s.w.Tag = waitq.AnyKind
	c.queueOf(s).push(s)
}

// discardLocked recycles s, which was not queued, and unlocks the channel. The
// caller may move to another Processor.
func (c *Chan[T]) discardLocked(s *waiter[T]) {
	w := s.w
	c.recycleLocked(s)
	c.guard.Unlock()
	waitq.Release(w)
}

// finish recycles s after its wait, and returns the value and ok of s.
func (c *Chan[T]) finish(s *waiter[T]) (v T, ok bool) {
	v, ok = s.value, s.ok
	c.lock()
	c.discardLocked(s)
	return v, ok
}

// await waits within limit until s, which is queued, is claimed; then it
// returns WakeReady. In any case s is in no queue afterwards.
func (c *Chan[T]) await(s *waiter[T], limit coroutine.Limit) coroutine.Wake {
	return waitq.Wait(s.w, coroutine.ReasonChannel, limit, (*locker[T])(c), s.leaveLocked)
}

// awaitFrom is await without a bound, after a park that ended with why.
func (c *Chan[T]) awaitFrom(why coroutine.Wake, s *waiter[T]) coroutine.Wake {
	return waitq.WaitFrom(why, s.w, coroutine.ReasonChannel, coroutine.Limit{},
		(*locker[T])(c), s.leaveLocked)
}

// block is the wait on a nil channel, within limit.
func block(limit coroutine.Limit) error {
	return limit.Err(waitq.Block(coroutine.ReasonChannel, limit))
}

// locker is a channel as the guard of its waiters.
type locker[T any] Chan[T]

func (l *locker[T]) Lock()   { (*Chan[T])(l).lock() }
func (l *locker[T]) Unlock() { l.guard.Unlock() }
