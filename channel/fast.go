package channel

import "github.com/netco-go/netco/coroutine"

// recvOwned is Recv of a channel that is biased to the caller's Processor, in the
// simple cases: it does without the guard. If not done, it has done nothing.
func (c *Chan[T]) recvOwned() (v T, ok, done bool) {
	me := coroutine.Me()
	if me == nil || !c.enter(me.Executor()) {
		return v, false, false
	}
	switch s := c.sendq.head; {
	case s != nil && !s.many && c.count == 0:
		c.sendq.pop(s)
		v = s.value
		c.pass(s, me)
		return v, true, true
	case s == nil && c.count > 0:
		v = c.pop()
		c.leave()
		return v, true, true
	case s == nil && !c.closed:
		if s = c.take(me); s == nil {
			break
		}
		c.recvq.push(s)
		c.leave()
		why := me.Park(coroutine.ReasonChannel)
		if s.w.Tag == loose && c.enter(me.Executor()) {
			v, ok = s.value, s.ok
			c.putBack(s)
			c.leave()
			return v, ok, true
		}
		v, ok = c.recvWoken(s, why)
		return v, ok, true
	}
	c.leave()
	return v, false, false
}

// sendOwned is Send, as recvOwned is Recv.
func (c *Chan[T]) sendOwned(v T) (done bool) {
	me := coroutine.Me()
	if me == nil || !c.enter(me.Executor()) {
		return false
	}
	switch s := c.recvq.head; {
	case s != nil && !s.many:
		c.recvq.pop(s)
		s.value = v
		c.pass(s, me)
		return true
	case s == nil && c.closed:
	case s == nil && c.count < len(c.buf):
		c.push(v)
		c.leave()
		return true
	case s == nil:
		if s = c.take(me); s == nil {
			break
		}
		s.value = v
		c.sendq.push(s)
		c.leave()
		why := me.Park(coroutine.ReasonChannel)
		if s.w.Tag == loose && s.ok && c.enter(me.Executor()) {
			c.putBack(s)
			c.leave()
			return true
		}
		c.sendWoken(s, why)
		return true
	}
	c.leave()
	return false
}

// pass completes the operation of s, which is out of its queue, leaves the
// channel, and wakes its coroutine, which is of the caller's Processor.
func (c *Chan[T]) pass(s *slot[T], me *coroutine.Caller) {
	w := s.w
	s.ok, w.Tag, c.inside = true, loose, 0
	me.Ready(w)
}

// take returns a slot for the caller to wait in, or nil if there is none to spare
// or the caller cannot park.
func (c *Chan[T]) take(me *coroutine.Caller) *slot[T] {
	w, s := me.Waiter(), c.free
	if s != nil && w != nil {
		c.free, s.next, w.Tag = s.next, nil, waiting
		if s.w != w { // mostly it is the one that used it last: no write barrier then
			s.w = w
		}
		return s
	}
	return nil
}

// putBack is giveBack of a slot that these functions took. It leaves in it what
// the next use is likely to need.
func (c *Chan[T]) putBack(s *slot[T]) {
	var none T
	s.value, s.ok, s.w.Tag = none, false, 0
	s.next, c.free = c.free, s
}
