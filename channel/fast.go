package channel

import "github.com/netco-go/netco/coroutine"

// Send and Recv are loops that are inlined into their callers: a step that has to park ends as if it had returned (see
// coroutine.ParkTail), and the next step, in the woken coroutine, finishes the operation. So a wake passes one function return
// less, which the processor would mispredict.

// op is an operation under way, on the stack of its caller.
type op[T any] struct {
	v    T
	ok   bool
	done bool
	s    *slot[T] // while it waits in a channel that is its own thread's
}

// parkTail is nil where a function cannot end by parking.
var parkTail = coroutine.ParkTail()

// recvStep begins o, or finishes it after a park.
//
//go:noinline
func (c *Chan[T]) recvStep(o *op[T]) {
	if s := o.s; s != nil {
		s.by.PassOn()
		o.s, o.done = nil, true
		if s.w.Tag == loose && c.enter(s.by.Executor()) {
			o.v, o.ok = s.value, s.ok
			c.putBack(s)
			c.leave()
			return
		}
		o.v, o.ok = c.recvWoken(s, s.by.LastWake())
		return
	}
	var me *coroutine.Caller
	if c != nil && c.owner.Load() != shared && c.tick == nil {
		me = coroutine.Me()
	}
	if me == nil || !c.enter(me.Executor()) {
		c.recvShared(o)
		return
	}
	if s := c.sendq.head; s != nil && !s.many && c.count == 0 {
		c.sendq.pop(s)
		o.v, o.ok, o.done = s.value, true, true
		c.pass(s, me)
		return
	} else if s == nil && c.count > 0 {
		o.v, o.ok, o.done = c.pop(), true, true
		c.leave()
		return
	} else if s == nil && !c.closed {
		if o.s = c.take(me); o.s != nil {
			c.recvq.push(o.s)
			c.leave()
			if parkTail != nil {
				parkTail(me)
			}
			if !me.Parked() {
				me.Park(coroutine.ReasonChannel)
			}
			return
		}
	}
	c.leave()
	c.recvShared(o)
}

// sendStep begins o, or finishes it after a park.
//
//go:noinline
func (c *Chan[T]) sendStep(o *op[T]) {
	if s := o.s; s != nil {
		s.by.PassOn()
		o.s, o.done = nil, true
		if s.w.Tag == loose && s.ok && c.enter(s.by.Executor()) {
			c.putBack(s)
			c.leave()
			return
		}
		c.sendWoken(s, s.by.LastWake())
		return
	}
	var me *coroutine.Caller
	if c != nil && c.owner.Load() != shared {
		me = coroutine.Me()
	}
	if me == nil || !c.enter(me.Executor()) {
		c.sendShared(o)
		return
	}
	if s := c.recvq.head; s != nil && !s.many {
		c.recvq.pop(s)
		s.value, o.done = o.v, true
		c.pass(s, me)
		return
	} else if s == nil && c.count < len(c.buf) && !c.closed {
		c.push(o.v)
		o.done = true
		c.leave()
		return
	} else if s == nil && !c.closed {
		if o.s = c.take(me); o.s != nil {
			o.s.value = o.v
			c.sendq.push(o.s)
			c.leave()
			if parkTail != nil {
				parkTail(me)
			}
			if !me.Parked() {
				me.Park(coroutine.ReasonChannel)
			}
			return
		}
	}
	c.leave()
	c.sendShared(o)
}

// pass completes the operation of s, which is out of its queue, leaves the channel, and wakes its coroutine, which is of the
// caller's thread.
func (c *Chan[T]) pass(s *slot[T], me *coroutine.Caller) {
	w := s.w
	s.ok, w.Tag, c.inside = true, loose, 0
	me.Ready(w)
}

// take returns a slot for the caller to wait in, or nil if there is none to spare or the caller cannot park.
func (c *Chan[T]) take(me *coroutine.Caller) *slot[T] {
	w, s := me.Waiter(), c.free
	if s != nil && w != nil {
		c.free, s.next, w.Tag = s.next, nil, waiting
		if s.by != me || s.w != w { // mostly it is who used it last: no write barriers then
			s.by, s.w = me, w
		}
		return s
	}
	return nil
}

// putBack is giveBack of a slot that these functions took. It leaves in it what the next use is likely to need.
func (c *Chan[T]) putBack(s *slot[T]) {
	var none T
	s.value, s.ok, s.w.Tag = none, false, 0
	s.next, c.free = c.free, s
}
