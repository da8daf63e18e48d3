//go:build amd64

package counter

import "unsafe"

// On amd64 other threads see stores in program order (TSO).

func storeOrdered(p *uint64, v uint64) { store(p, v) }

func storePointerOrdered(p *unsafe.Pointer, v unsafe.Pointer) { storePointer(p, v) }
