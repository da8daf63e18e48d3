//go:build !race

package goruntime

import "unsafe"

// RaceEnabled says whether the race detector watches this program.
const RaceEnabled = false

// RaceRelease tells the detector that what the caller did so far happens before a later RaceAcquire of addr.
func RaceRelease(addr unsafe.Pointer) {}

// RaceAcquire is the other half of RaceRelease.
func RaceAcquire(addr unsafe.Pointer) {}

// FindRace prepares RaceReleaseOf; here there is nothing to find.
func FindRace() error { return nil }

// RaceReleaseOf is RaceRelease on behalf of another goroutine.
func RaceReleaseOf(g uintptr, addr unsafe.Pointer) {}

// RaceReadRange tells the detector of a read by the kernel.
func RaceReadRange(addr unsafe.Pointer, n int) {}

// RaceWriteRange tells the detector of a write by the kernel.
func RaceWriteRange(addr unsafe.Pointer, n int) {}
