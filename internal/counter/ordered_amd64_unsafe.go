//go:build amd64

package counter

import "unsafe"

// The processor keeps stores in order by itself.

func storeOrdered(p *uint64, v uint64) { store(p, v) }

func storePointerOrdered(p *unsafe.Pointer, v unsafe.Pointer) { storePointer(p, v) }
