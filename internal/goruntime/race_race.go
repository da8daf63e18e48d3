//go:build race

package goruntime

import (
	"runtime"
	"unsafe"
)

// RaceEnabled says whether the race detector watches this program.
const RaceEnabled = true

// RaceRelease tells the detector that what the caller did so far happens before a later RaceAcquire of addr.
func RaceRelease(addr unsafe.Pointer) { runtime.RaceReleaseMerge(addr) }

// RaceAcquire is the other half of RaceRelease.
func RaceAcquire(addr unsafe.Pointer) { runtime.RaceAcquire(addr) }

// RaceReadRange tells the detector of a read by the kernel.
func RaceReadRange(addr unsafe.Pointer, n int) { runtime.RaceReadRange(addr, n) }

// RaceWriteRange tells the detector of a write by the kernel.
func RaceWriteRange(addr unsafe.Pointer, n int) { runtime.RaceWriteRange(addr, n) }
