package channel

import (
	"unsafe"

	"github.com/netco-go/netco/coroutine"
)

// Case is one operation of a Select, from RecvCase, SendCase or Default. It may be used again, also at the same time for a receive
// whose variable is nil.
type Case struct {
	on    party          // nil for a nil channel, and for Default
	at    unsafe.Pointer // *T: what to send, or where to put what is received; nil for nowhere
	kind  kind
	timed bool // time sends on the channel
}

type kind uint8

const (
	kindNone kind = iota
	kindRecv
	kindSend
	kindDefault
)

// RecvCase is a receive from c into v, which is not written to before this case has been chosen; nil drops the value. From a channel
// that is closed and empty it is the zero value, and Select returns ErrClosed. With a nil channel the case is never ready.
func RecvCase[T any](c *Chan[T], v *T) Case {
	if c == nil {
		return Case{}
	}
	return Case{on: c, at: unsafe.Pointer(v), kind: kindRecv, timed: c.tick != nil}
}

// SendCase sends v to c. If the channel is closed and the case is chosen, Select panics. With a nil channel the case is never ready.
func SendCase[T any](c *Chan[T], v T) Case {
	if c == nil {
		return Case{}
	}
	return Case{on: c, at: unsafe.Pointer(&v), kind: kindSend}
}

// Default is chosen when no other case is ready. A Select has one at most.
func Default() Case { return Case{kind: kindDefault} }

// party is a channel, whatever the type of its values, to a Select. The pointers are *T. Those whose name ends in Locked are called
// under the guard.
type party interface {
	lock()
	unlock()
	order() uintptr
	readyLocked(k kind) bool
	tryLocked(k kind, at unsafe.Pointer) (to *coroutine.Waiter, ok, done bool)
	queueLocked(k kind, at unsafe.Pointer, s seat)
	newSeat() seat
	nextLocked() int64
	over() bool
}

// seat is a slot, whatever the type of its value.
type seat interface {
	fill(w *coroutine.Waiter)
	leave(at unsafe.Pointer) (chosen, ok bool)
	leaveLocked()
}

// order is the place of the channel in the order in which guards are taken.
func (c *Chan[T]) order() uintptr { return uintptr(unsafe.Pointer(c)) }

// readyLocked reports whether tryLocked would do anything. It may be wrong about a waiter that is being claimed elsewhere.
func (c *Chan[T]) readyLocked(k kind) bool {
	if k == kindSend {
		return c.closed || c.count < len(c.buf) || c.recvq.head != nil
	}
	return c.closed || c.count > 0 || c.sendq.head != nil || c.tick != nil && c.tick.due()
}

// tryLocked does the operation if that needs no wait. ok is false if it met the channel's end.
func (c *Chan[T]) tryLocked(k kind, at unsafe.Pointer) (to *coroutine.Waiter, ok, done bool) {
	if k == kindSend {
		if c.closed {
			return nil, false, true
		}
		to, done = c.offer(*(*T)(at))
		return to, true, done
	}
	v, to, ok, done := c.accept()
	if done && at != nil {
		*(*T)(at) = v
	}
	return to, ok, done
}

func (c *Chan[T]) newSeat() seat {
	c.lock()
	s := c.spare()
	c.unlock()
	if s == nil {
		s = &slot[T]{c: c}
	}
	return s
}

func (s *slot[T]) fill(w *coroutine.Waiter) { s.w, s.many = w, true }

func (c *Chan[T]) queueLocked(k kind, at unsafe.Pointer, st seat) {
	s := st.(*slot[T])
	if k == kindSend {
		s.value = *(*T)(at)
		s.send = true
		c.sendq.push(s)
	} else {
		c.recvq.push(s)
	}
}

// leaveLocked gives back a seat that was not needed.
func (s *slot[T]) leaveLocked() { s.c.giveBack(s) }

// leave takes s out of its queue if it is still there, and gives it back. If it was chosen, at is where to put what it received.
func (s *slot[T]) leave(at unsafe.Pointer) (chosen, ok bool) {
	c := s.c
	c.lock()
	if s.queued {
		c.queueOf(s).remove(s)
	}
	chosen, ok = s.chosen, s.ok
	if chosen && !s.send && at != nil && (ok || c.closed) { // else Timed.set has sent it back to look again
		*(*T)(at) = s.value
	}
	c.giveBack(s)
	c.unlock()
	return chosen, ok
}

func (c *Chan[T]) queueOf(s *slot[T]) *queue[T] {
	if s.send {
		return &c.sendq
	}
	return &c.recvq
}

// hidden returns cases such that the compiler does not take what they point at for escaping. A party uses it during a call only, so what the
// caller of Select points at may stay on the caller's stack. A channel is on no stack, see Make.
//
// While the address is a number, the stack must not move: so there is no call here, and this is not inlined into where there are some.
//
//go:noinline
//go:nosplit
//go:nocheckptr
func hidden(cases []Case) []Case {
	as := [3]uintptr{uintptr(unsafe.Pointer(unsafe.SliceData(cases))), uintptr(len(cases)), uintptr(len(cases))}
	return *(*[]Case)(unsafe.Pointer(&as))
}
