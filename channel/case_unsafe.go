package channel

import (
	"unsafe"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/waitq"
)

// Case is one operation of a Select, from Chan.RecvCase, Chan.SendCase or
// Default. A Case may be used again. Two Selects may use it at the same time
// only if it is a receive without a variable.
type Case struct {
	on    selectable     // nil for a nil channel, and for Default
	at    unsafe.Pointer // *T: the value to send, or where to store one; nil for nowhere
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

// RecvCase is a receive from c into v, which is written only if the case is
// chosen; nil drops the value. From a channel that is closed and empty it
// receives the zero value, and Select returns ErrClosed. With a nil channel the
// case is never ready.
func (c *Chan[T]) RecvCase(v *T) Case {
	if c == nil {
		return Case{}
	}
	return Case{on: c, at: unsafe.Pointer(v), kind: kindRecv, timed: c.tick != nil}
}

// SendCase sends v to c. If the channel is closed and the case is chosen,
// Select panics. With a nil channel the case is never ready.
func (c *Chan[T]) SendCase(v T) Case {
	if c == nil {
		return Case{}
	}
	return Case{on: c, at: unsafe.Pointer(&v), kind: kindSend}
}

// Default is chosen if no other case is ready. A Select has at most one.
func Default() Case { return Case{kind: kindDefault} }

// selectable is a channel of any type to a Select. The pointers are *T. Methods
// whose name ends in Locked need the channel locked.
type selectable interface {
	lock()
	release() waitq.Claims
	order() uintptr
	isReadyLocked(k kind) bool
	tryLocked(k kind, at unsafe.Pointer) (ok, done bool)
	newSelectWaiter(k kind, w *coroutine.Waiter) selectWaiter
	nextTickLocked() int64
	isClosed() bool
}

// selectWaiter is a waiter of any type to a Select.
type selectWaiter interface {
	queueLocked(at unsafe.Pointer)
	cancelLocked()
	finish(at unsafe.Pointer) (chosen, ok bool)
}

// release unlocks the channel and returns the claimed waiters.
func (c *Chan[T]) release() waitq.Claims { return c.guard.Release() }

// order returns the channel's place in the order in which channels are locked.
func (c *Chan[T]) order() uintptr { return uintptr(unsafe.Pointer(c)) }

// isReadyLocked reports whether tryLocked would succeed. The result is outdated
// if another channel claims the waiter in between.
func (c *Chan[T]) isReadyLocked(k kind) bool {
	if k == kindSend {
		return c.closed || c.count < len(c.buf) || c.recvq.front() != nil
	}
	return c.closed || c.count > 0 || c.sendq.front() != nil || c.tick != nil && c.tick.Due()
}

// tryLocked does the operation if it need not wait. ok is false if the channel
// is closed.
func (c *Chan[T]) tryLocked(k kind, at unsafe.Pointer) (ok, done bool) {
	if k == kindSend {
		return c.trySendLocked(*(*T)(at))
	}
	v, ok, done := c.tryRecvLocked()
	if done && at != nil {
		*(*T)(at) = v
	}
	return ok, done
}

// newSelectWaiter returns a waiter for a Select that waits with w.
func (c *Chan[T]) newSelectWaiter(k kind, w *coroutine.Waiter) selectWaiter {
	s := c.unused()
	s.w, s.send, s.inSelect = w, k == kindSend, true
	return s
}

// queueLocked queues wa; if it sends, at has the value.
func (wa *waiter[T]) queueLocked(at unsafe.Pointer) {
	if wa.send {
		wa.value = *(*T)(at)
	}
	wa.c.queueOf(wa).push(wa)
}

// cancelLocked takes wa out of its queue, if it is still queued, and recycles
// wa.
func (wa *waiter[T]) cancelLocked() {
	if wa.queued {
		wa.c.queueOf(wa).remove(wa)
	}
	wa.c.recycleLocked(wa)
}

// finish recycles wa after the Select was claimed, and reports whether the
// Select was claimed through wa. If so, it stores the received value at at.
func (wa *waiter[T]) finish(at unsafe.Pointer) (chosen, ok bool) {
	c := wa.c
	c.lock()
	chosen, ok = wa.chosen, wa.ok
	if chosen && !wa.send && at != nil && (ok || c.closed) { // else setTick woke the Select
		*(*T)(at) = wa.value
	}
	wa.cancelLocked()
	c.guard.Unlock()
	return chosen, ok
}

// hidden returns cases such that the variables they point to do not escape: a
// Select uses the variables during the call only, so they may stay on the
// caller's stack. Otherwise each variable would be an allocation. Channels are
// on no stack, see Make.
func hidden(cases []Case) []Case {
	return unsafe.Slice((*Case)(noescape(unsafe.Pointer(unsafe.SliceData(cases)))), len(cases))
}

// hiddenLocker returns s as the guard of a wait, such that s does not escape.
func hiddenLocker(s *selection) *selection { return (*selection)(noescape(unsafe.Pointer(s))) }

// noescape hides p from escape analysis. While the address is a number the
// stack must not move, so noescape makes no call, and is not inlined into
// functions that do: in SelectTimeout the number was once kept across a call
// that could grow the stack.
//
//go:noinline
//go:nosplit
//go:nocheckptr
func noescape(p unsafe.Pointer) unsafe.Pointer {
	address := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
