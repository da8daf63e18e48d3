//go:build race

package counter

import (
	"sync/atomic"
	"unsafe"
)

func store(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

func storePointer(p *unsafe.Pointer, v unsafe.Pointer) { atomic.StorePointer(p, v) }
