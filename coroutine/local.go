package coroutine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/inside"
)

// LocalOptions say what a Local does beside holding a value. All fields are
// optional.
type LocalOptions[T any] struct {
	// Make returns a coroutine's value at the first Get; without Make the value
	// is zero. Get or Set of the same Local in Make panics.
	Make func() T
	// Inherit returns the value of a new coroutine, made from its creator's
	// value. It is called if the creator has one, on the creator's thread, when
	// the coroutine is created. Without Inherit nothing is inherited. If
	// Inherit panics, so does the call that starts the coroutine, which then
	// starts none.
	Inherit func(parent *T) T
	// Drop is called with the value at the coroutine's end. It may park.
	Drop func(*T)
}

// Local is a variable with a separate value in every coroutine: a Scheduler's
// coroutine, or a Fiber, which does not share its resumer's value. A coroutine
// that never uses it has no value, and pays nothing.
//
// Ordinary goroutines share one value, made when one of them first asks for it:
// Go has no hook at a goroutine's end that could drop its value. The shared
// value must be safe for concurrent use.
type Local[T any] struct {
	key    localKey
	make   func() T
	mu     sync.Mutex
	shared *T             // of ordinary goroutines; under mu
	maker  atomic.Uintptr // the goroutine that is in make under mu, 0 for none
}

const makeAsks = "netco/coroutine: the Make of a Local gets or sets that Local"

// localKey is the part of a Local that does not depend on its type. Constant.
type localKey struct {
	inherit func(parent any) any
	drop    func(value any)
}

// inheriting counts the Locals ever made with Inherit: while it is 0, making a
// coroutine skips inheritLocals.
var inheriting atomic.Int32

// NewLocal makes a Local. Call it once, for a package's variable.
func NewLocal[T any](o LocalOptions[T]) *Local[T] {
	l := &Local[T]{make: o.Make}
	if o.Inherit != nil {
		l.key.inherit = func(parent any) any {
			v := o.Inherit(parent.(*T))
			return &v
		}
		inheriting.Add(1)
	}
	if o.Drop != nil {
		l.key.drop = func(value any) { o.Drop(value.(*T)) }
	}
	return l
}

// Get returns the caller's value, making it if there is none. It does not park.
// The pointer is valid until the coroutine's end.
func (l *Local[T]) Get() *T {
	values := currentLocals()
	if values == nil {
		return l.getShared()
	}
	switch v := values.find(&l.key).(type) {
	case *T:
		return v
	case beingMade:
		panic(makeAsks)
	}
	return l.makeFor(values)
}

// getShared is Get for an ordinary goroutine.
func (l *Local[T]) getShared() *T {
	if l.isMaker() {
		panic(makeAsks)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared == nil {
		l.maker.Store(asm.Getg())
		defer l.maker.Store(0)
		v := new(T)
		if l.make != nil {
			*v = l.make()
		}
		l.shared = v
	}
	return l.shared
}

// isMaker reports whether the caller, an ordinary goroutine, is in make.
func (l *Local[T]) isMaker() bool { return l.maker.Load() == asm.Getg() }

// makeFor adds a new value to a coroutine's values.
func (l *Local[T]) makeFor(values *localValues) *T {
	v := new(T)
	if l.make != nil {
		values.add(&l.key, beingMade{})
		func() {
			defer values.remove(&l.key)
			*v = l.make()
		}()
	}
	values.add(&l.key, v)
	return v
}

// Peek returns the caller's value, or nil if it has none. It does not call
// Make.
func (l *Local[T]) Peek() *T {
	values := currentLocals()
	if values == nil {
		if l.isMaker() {
			return nil
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.shared
	}
	v, _ := values.find(&l.key).(*T)
	return v
}

// Set sets the caller's value.
func (l *Local[T]) Set(v T) {
	if p := l.Peek(); p != nil {
		*p = v
		return
	}
	values := currentLocals()
	if values == nil {
		*l.getShared() = v
		return
	}
	if values.find(&l.key) != nil {
		panic(makeAsks)
	}
	values.add(&l.key, &v)
}

// localValues are one coroutine's values, in the order in which they were made;
// nil until there is one.
type localValues struct{ list *[]localValue }

type localValue struct {
	key   *localKey
	value any
}

// beingMade is a Local's value while its Make is being called.
type beingMade struct{}

// currentLocals returns the caller's values; nil for ordinary goroutines.
func currentLocals() *localValues {
	switch w := CurrentWorker(); {
	case w == nil:
	case w.fiber != nil:
		if w.fiber.core != nil {
			return &w.fiber.locals
		}
	case w.co.Own() != nil:
		return &w.co.Own().locals
	}
	return nil
}

func (v *localValues) any() bool { return v.list != nil }

func (v *localValues) find(key *localKey) any {
	if v.list == nil {
		return nil
	}
	for i := range *v.list {
		if at := &(*v.list)[i]; at.key == key {
			return at.value
		}
	}
	return nil
}

func (v *localValues) add(key *localKey, value any) {
	if v.list == nil {
		v.list = new([]localValue)
	}
	*v.list = append(*v.list, localValue{key, value})
}

func (v *localValues) remove(key *localKey) {
	*v.list = slices.DeleteFunc(*v.list, func(l localValue) bool { return l.key == key })
	if len(*v.list) == 0 {
		v.list = nil
	}
}

// drop drops all values, the latest first. Values that a Drop makes are dropped
// too.
func (v *localValues) drop() {
	for v.list != nil {
		list := *v.list
		last := len(list) - 1
		l := list[last]
		list[last] = localValue{}
		if *v.list = list[:last]; last == 0 {
			v.list = nil
		}
		if l.key.drop != nil {
			l.key.drop(l.value)
		}
	}
}

// inheritLocals gives a new coroutine the values that it inherits from the
// caller. If an Inherit panics, the values inherited so far are dropped, since
// the coroutine will not exist.
func inheritLocals(to *localValues) {
	from := currentLocals()
	if from == nil || from.list == nil {
		return
	}
	inherited := false
	defer func() {
		if !inherited {
			to.drop()
		}
	}()
	// Pinned: otherwise a user's function could make the caller move, in the
	// middle of an operation of the executor.
	defer inside.Pin().Unpin()
	for i := 0; from.list != nil && i < len(*from.list); i++ {
		l := (*from.list)[i]
		if l.key.inherit != nil && l.value != any(beingMade{}) {
			to.add(l.key, l.key.inherit(l.value))
		}
	}
	inherited = true
}

// Discard drops the values that a coroutine has inherited, and takes it out of
// its parent's children. It is for a coroutine that was made and will not be
// adopted.
func (co *Coroutine) Discard() {
	co.children.leave()
	co.locals.drop()
}

// MakingMayPanic reports whether making a coroutine may panic, or not return:
// it may call a Local's Inherit, a function of the user's.
func MakingMayPanic() bool { return inheriting.Load() != 0 }
