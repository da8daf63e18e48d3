//go:build !race

package counter

import "unsafe"

func store(p *uint64, v uint64) { *p = v }

func storePointer(p *unsafe.Pointer, v unsafe.Pointer) { *p = v }
