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
