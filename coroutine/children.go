package coroutine

import (
	"errors"

	"github.com/netco-go/netco/internal/inside"
)

// ErrNotCoroutine is returned on an ordinary goroutine by what only a coroutine can do.
var ErrNotCoroutine = errors.New("netco: called from an ordinary goroutine, not from a coroutine")

// kin is what binds coroutines to the life of another: one for a child, made with it, and one for a parent that is nobody's child, made
// with its first child. A child may be a parent in turn.
//
// A child is in its parent's list from before it can be seen until after it has ended, so that whoever finds the list empty knows
// that nobody is left. Its end takes it out, whatever thread that is on; so a long life does not gather what is over.
type kin struct {
	of Handle // constant: the life this belongs to, once it is made

	above      *kin // constant: the parent; nil if it is nobody's child
	prev, next *kin // in one of above's lists; under above.mu

	mu      inside.Mutex // held for some instructions, never across a park
	first   *kin         // the children; under mu
	told    *kin         // those that the parent's end has stopped; under mu
	waiting *Waiter      // the parent at its end, to be woken when both lists are empty; under mu
}

// StartChild calls start, which is to make one coroutine and return what Go returned, on the caller's thread without parking, and
// binds what it makes to the life of the calling coroutine: when that ends, each of its children is stopped ([Handle.Stop]), and only
// when all of them have ended the parent has, so that its joiners wait for them too.
//
// The error is ErrNotCoroutine, then start is not called, or start's. Inside of a coroutine driven by hand it binds to the coroutine that
// drives it. It allocates some 100 bytes for the bond.
func StartChild(start func() (Handle, error)) (Handle, error) {
	w := self()
	if w == nil || w.co.Own() == nil {
		return Handle{}, ErrNotCoroutine
	}
	co := w.co.Own()
	if co.kin == nil {
		co.kin = &kin{of: co.Handle()}
	}
	k := &kin{above: co.kin}
	k.join()
	w.unborn = k
	started := false
	defer func() {
		w.unborn = nil
		if !started { // or start has panicked
			k.leave()
		}
	}()
	h, err := start()
	started = err == nil && k.of != (Handle{})
	return h, err
}

// expected returns what StartChild waits to bind to the next coroutine that the
// calling goroutine makes, or nil.
func expected() *kin {
	w := found()
	if w == nil {
		return nil
	}
	k := w.unborn
	if k != nil {
		w.unborn = nil
	}
	return k
}

// bind makes a new coroutine a child, unless k is nil.
func (co *Coroutine) bind(k *kin) {
	if k != nil {
		k.of = co.Handle()
		co.kin = k
	}
}

// join adds a child to its parent's list.
func (k *kin) join() {
	up := k.above
	up.mu.Lock()
	k.push(&up.first)
	up.mu.Unlock()
}

// push puts k in front of a list. Under above.mu.
func (k *kin) push(list **kin) {
	if k.next = *list; k.next != nil {
		k.next.prev = k
	}
	*list = k
}

// cut takes k out of the list it is in. Under above.mu.
func (k *kin) cut() {
	switch {
	case k.prev != nil:
		k.prev.next = k.next
	case k.above.first == k:
		k.above.first = k.next
	default:
		k.above.told = k.next
	}
	if k.next != nil {
		k.next.prev = k.prev
	}
	k.prev, k.next = nil, nil
}

// leave takes a child that has ended out of its parent's list, if it is one.
func (k *kin) leave() {
	up := k.above
	if up == nil {
		return
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	k.cut()
	if w := up.waiting; w != nil && up.noneLocked() {
		up.waiting = nil
		w.Wake()
	}
}

// parent reports whether there are children. k may be nil.
func (k *kin) parent() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.noneLocked()
}

func (k *kin) noneLocked() bool { return k.first == nil && k.told == nil }

// end stops the children and waits until all have ended. Parks the parent, whatever becomes of it meanwhile: a child that computes for
// ever holds up its parent, as it would hold up the Scheduler's end.
func (k *kin) end() {
	Firmly(func() {
		for k.stopSome() {
			self().pass()
		}
		k.await()
	})
}

// atOnce is how many children are stopped while others wait for mu and for the thread.
const atOnce = 128

// stopSome stops as many and reports whether there are more.
func (k *kin) stopSome() (more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range atOnce {
		c := k.first
		if c == nil {
			return false
		}
		c.cut()
		c.push(&k.told)
		c.of.Stop()
	}
	return true
}

// await parks until there are no children.
func (k *kin) await() {
	w := AcquireWaiter()
	defer w.Release()
	for {
		k.mu.Lock()
		if k.noneLocked() {
			k.mu.Unlock()
			return
		}
		w.Prepare()
		k.waiting = w
		k.mu.Unlock()
		w.Park(ReasonJoin)
	}
}
