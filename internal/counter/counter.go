// Package counter is a single-writer counter: one thread adds, any thread
// reads. The writer uses an ordinary add without a locked instruction, which on
// the hot paths of the engine would cost more than everything else there.
//
// The race detector sees no Counter, which so orders nothing, and Pointers as
// atomic ones, see store_race.go.
package counter

import "sync/atomic"

// Counter is a count that its owner changes. The zero value is ready.
type Counter struct{ v uint64 } // owner: writes; atomic: reads

// Inc adds one. Owner only.
//
//go:norace
func (c *Counter) Inc() { store(&c.v, c.v+1) }

// Dec takes one away. Owner only.
//
//go:norace
func (c *Counter) Dec() { store(&c.v, c.v-1) }

// Add adds n. Owner only.
//
//go:norace
func (c *Counter) Add(n uint64) { store(&c.v, c.v+n) }

// Set replaces the value. Owner only.
func (c *Counter) Set(n uint64) { store(&c.v, n) }

// SetOrdered is Set for a value that is only right together with others: any
// thread sees what was set by SetOrdered and Publish in the order in which the
// owner did so. Owner only. On amd64 it needs no locked instruction.
func (c *Counter) SetOrdered(n uint64) { storeOrdered(&c.v, n) }

// Publish replaces the value in the order in which all threads see atomic
// operations. Owner only. It costs a locked instruction.
func (c *Counter) Publish(n uint64) { atomic.StoreUint64(&c.v, n) }

// Own returns the value without an atomic load. Owner only.
//
//go:norace
func (c *Counter) Own() uint64 { return c.v }
