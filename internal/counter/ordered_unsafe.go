package counter

import "unsafe"

// SetOrdered is Set for what is only right together with other words: any thread sees what was set by SetOrdered and Publish in the
// order in which the owner did so. Owner only. Without a locked instruction, too.
func (c *Counter) SetOrdered(n uint64) { storeOrdered(&c.v, n) }

// SetOrdered is Counter.SetOrdered. What the owner wrote to where v points is seen by who sees v.
func (p *Pointer[T]) SetOrdered(v *T) {
	storePointerOrdered((*unsafe.Pointer)(unsafe.Pointer(&p.p)), unsafe.Pointer(v))
}
