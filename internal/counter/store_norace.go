//go:build !race

package counter

import (
	"sync/atomic"
	"unsafe"
)

func store(p *uint64, v uint64) { *p = v }

func own(p *uint64) uint64 { return *p }

func load(p *uint64) uint64 { return atomic.LoadUint64(p) }

func storePointer(p *unsafe.Pointer, v unsafe.Pointer) { *p = v }

func ownPointer(p *unsafe.Pointer) unsafe.Pointer { return *p }
