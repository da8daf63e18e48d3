package counter

import (
	"sync/atomic"
	"unsafe"
)

// Pointer is a pointer that one thread writes and any thread reads, as Counter
// is a count. The owner's store is an ordinary one; a reader may see an old
// value but never a torn one.
type Pointer[T any] struct{ p *T }

// Set replaces the pointer. Owner only.
func (p *Pointer[T]) Set(v *T) {
	storePointer((*unsafe.Pointer)(unsafe.Pointer(&p.p)), unsafe.Pointer(v))
}

// SetOrdered is Counter.SetOrdered. A thread that loads v sees what the owner
// wrote to *v before.
func (p *Pointer[T]) SetOrdered(v *T) {
	storePointerOrdered((*unsafe.Pointer)(unsafe.Pointer(&p.p)), unsafe.Pointer(v))
}

// Publish is Counter.Publish.
func (p *Pointer[T]) Publish(v *T) {
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(&p.p)), unsafe.Pointer(v))
}

// CompareAndSwap replaces old, which no owner writes any more, and makes the
// caller the owner; false if another thread was first.
func (p *Pointer[T]) CompareAndSwap(old, v *T) bool {
	return atomic.CompareAndSwapPointer((*unsafe.Pointer)(unsafe.Pointer(&p.p)),
		unsafe.Pointer(old), unsafe.Pointer(v))
}

// Own returns the pointer without an atomic load. Owner only.
//
//go:norace
func (p *Pointer[T]) Own() *T { return p.p }

// Load returns the pointer, from any thread.
func (p *Pointer[T]) Load() *T {
	return (*T)(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Pointer(&p.p))))
}
