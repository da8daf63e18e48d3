// Package counter is a single-writer counter: one thread adds, any thread
// reads. The writer uses an ordinary add: a locked instruction would cost more
// than the rest of the engine's hot paths.
//
// The race detector sees writes of a Counter only by Publish, so counting
// orders nothing; it sees the writes of a Pointer as atomic writes.
package counter

import (
	"runtime"
	"sync/atomic"
)

// inOrder says that other threads see stores in program order, as the total
// store order of amd64 has it.
const inOrder = runtime.GOARCH == "amd64"

// Counter is a count that its owner changes. The zero value is ready.
type Counter struct{ v uint64 } // owner: writes; atomic: reads

// Inc adds one. Owner only.
//
//go:norace
func (c *Counter) Inc() { c.v++ }

// Dec subtracts one. Owner only.
//
//go:norace
func (c *Counter) Dec() { c.v-- }

// Add adds n. Owner only.
//
//go:norace
func (c *Counter) Add(n uint64) { c.v += n }

// AddShared adds n to a counter that has no owner: any thread may, and all do
// so by AddShared. It costs a locked instruction.
func (c *Counter) AddShared(n uint64) { atomic.AddUint64(&c.v, n) }

// Set replaces the value. Owner only.
//
//go:norace
func (c *Counter) Set(n uint64) { c.v = n }

// SetOrdered is Set for a value that readers combine with others: any thread
// sees the values of SetOrdered and Publish in the order in which the owner
// stored them. Owner only. On amd64 it needs no locked instruction.
func (c *Counter) SetOrdered(n uint64) {
	if inOrder {
		c.Set(n)
	} else {
		c.Publish(n)
	}
}

// Publish replaces the value in the order in which all threads see atomic
// operations. Owner only. It costs a locked instruction.
func (c *Counter) Publish(n uint64) { atomic.StoreUint64(&c.v, n) }

// Own returns the value without an atomic load. Owner only.
//
//go:norace
func (c *Counter) Own() uint64 { return c.v }

// Load returns the value, from any thread.
func (c *Counter) Load() uint64 { return atomic.LoadUint64(&c.v) }
