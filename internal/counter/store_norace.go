//go:build !race

package counter

import (
	"sync/atomic"
	"unsafe"
)

func store(p *uint64, v uint64) { *p = v }

// Load returns the value, from any thread.
func (c *Counter) Load() uint64 { return atomic.LoadUint64(&c.v) }

func storePointer(p *unsafe.Pointer, v unsafe.Pointer) { *p = v }
