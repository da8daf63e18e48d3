//go:build !amd64

package counter

import (
	"sync/atomic"
	"unsafe"
)

func storeOrdered(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

func storePointerOrdered(p *unsafe.Pointer, v unsafe.Pointer) { atomic.StorePointer(p, v) }
