package channel

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/waitq"
)

// recvOwned is Recv without the guard, for a channel that is biased to the
// caller's Processor, in the simple cases. If done is false, recvOwned has
// changed nothing.
func (c *Chan[T]) recvOwned() (v T, ok, done bool) {
	me := coroutine.CurrentWorker()
	if me == nil || !c.enter(me.Executor()) {
		return v, false, false
	}
	switch s := c.sendq.front(); {
	case s != nil && !s.inSelect && c.count == 0:
		c.sendq.pop()
		v = s.value
		c.pass(s, me)
		return v, true, true
	case s == nil && c.count > 0:
		v = c.popLocked()
		c.exit()
		return v, true, true
	case s == nil && !c.closed:
		if s = c.takeFree(me, false); s == nil {
			break
		}
		c.recvq.push(s)
		c.exit()
		why := me.Park(coroutine.ReasonChannel)
		if s.w.Tag == waitq.Released && c.enter(me.Executor()) {
			v, ok = s.value, s.ok
			c.putFree(s)
			c.exit()
			me.MoveOn()
			return v, ok, true
		}
		v, ok = c.recvFrom(why, s)
		return v, ok, true
	}
	c.exit()
	return v, false, false
}

// sendOwned is Send without the guard, as recvOwned is Recv.
func (c *Chan[T]) sendOwned(v T) (done bool) {
	me := coroutine.CurrentWorker()
	if me == nil || !c.enter(me.Executor()) {
		return false
	}
	switch s := c.recvq.front(); {
	case s != nil && !s.inSelect:
		c.recvq.pop()
		s.value = v
		c.pass(s, me)
		return true
	case s == nil && c.closed:
	case s == nil && c.count < len(c.buf):
		c.pushLocked(v)
		c.exit()
		return true
	case s == nil:
		if s = c.takeFree(me, true); s == nil {
			break
		}
		s.value = v
		c.sendq.push(s)
		c.exit()
		why := me.Park(coroutine.ReasonChannel)
		if s.w.Tag == waitq.Released && s.ok && c.enter(me.Executor()) {
			c.putFree(s)
			c.exit()
			me.MoveOn()
			return true
		}
		c.sendFrom(why, s)
		return true
	}
	c.exit()
	return false
}

// pass completes the operation of s, exits the channel, and makes the coroutine
// of s ready. Precondition: s is out of its queue, and its coroutine belongs to
// the caller's Processor.
func (c *Chan[T]) pass(s *waiter[T], me *coroutine.Worker) {
	w := s.w
	if invariant.Enabled {
		c.mark.Clear()
	}
	s.ok, w.Tag, c.inside = true, waitq.Released, 0
	me.WakeHere(w)
}

// takeFree returns a waiter for the caller, or nil if the free stack is empty
// or the caller cannot park.
func (c *Chan[T]) takeFree(me *coroutine.Worker, send bool) *waiter[T] {
	w, s := me.Waiter(), c.free
	if s != nil && w != nil {
		c.free, s.Link, s.send, w.Tag = s.Link, nil, send, waitq.AnyKind
		if s.w != w { // equal for the last user of s, which saves the write barrier
			s.w = w
		}
		return s
	}
	return nil
}

// putFree is recycleLocked for a waiter from takeFree. It keeps what the next
// use is likely to need.
func (c *Chan[T]) putFree(s *waiter[T]) {
	var none T
	s.value, s.ok, s.w.Tag = none, false, 0
	c.free, s.Link = s, c.free
}
