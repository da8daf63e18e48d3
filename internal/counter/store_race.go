//go:build race

package counter

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// The detector sees no access to a Counter, and takes none for synchronisation:
// what many count must not order what they do. The words are aligned and so
// written whole.

//go:norace
func store(p *uint64, v uint64) { *p = v }

// Load returns the value, from any thread.
//
//go:norace
func (c *Counter) Load() uint64 {
	runtime.RaceDisable()
	v := atomic.LoadUint64(&c.v)
	runtime.RaceEnable()
	return v
}

// A Pointer's store comes before what is done by a thread that loads it.

func storePointer(p *unsafe.Pointer, v unsafe.Pointer) { atomic.StorePointer(p, v) }
