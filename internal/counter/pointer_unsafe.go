package counter

import (
	"sync/atomic"
	"unsafe"

	"github.com/netco-go/netco/internal/goruntime"
)

// Pointer is a pointer that one thread writes and any thread reads, as Counter
// is a count. The owner's store is an ordinary one; a reader may see an old
// value but never a torn one.
type Pointer[T any] struct{ p atomic.Pointer[T] }

// plain returns the pointer as the only word of an atomic.Pointer.
func (p *Pointer[T]) plain() **T { return (**T)(unsafe.Pointer(&p.p)) }

// Set replaces the pointer. Owner only.
func (p *Pointer[T]) Set(v *T) {
	if goruntime.RaceEnabled {
		p.p.Store(v) // happens before the actions of a thread that loads v
	} else {
		*p.plain() = v
	}
}

// SetOrdered is Counter.SetOrdered. A thread that loads v sees what the owner
// wrote to *v before.
func (p *Pointer[T]) SetOrdered(v *T) {
	if inOrder {
		p.Set(v)
	} else {
		p.Publish(v)
	}
}

// Publish is Counter.Publish.
func (p *Pointer[T]) Publish(v *T) { p.p.Store(v) }

// CompareAndSwap replaces old, which has lost its owner, and makes the caller
// the owner. It returns false if another thread was first.
func (p *Pointer[T]) CompareAndSwap(old, v *T) bool { return p.p.CompareAndSwap(old, v) }

// Own returns the pointer without an atomic load. Owner only.
//
//go:norace
func (p *Pointer[T]) Own() *T { return *p.plain() }

// Load returns the pointer, from any thread.
func (p *Pointer[T]) Load() *T { return p.p.Load() }
