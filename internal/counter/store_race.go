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

//go:norace
func own(p *uint64) uint64 { return *p }

//go:norace
func load(p *uint64) uint64 {
	runtime.RaceDisable()
	v := atomic.LoadUint64(p)
	runtime.RaceEnable()
	return v
}

// A Pointer's store comes before what is done by a thread that loads it.

func storePointer(p *unsafe.Pointer, v unsafe.Pointer) { atomic.StorePointer(p, v) }

//go:norace
func ownPointer(p *unsafe.Pointer) unsafe.Pointer { return *p }
