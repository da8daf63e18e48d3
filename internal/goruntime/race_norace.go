//go:build !race

package goruntime

import "unsafe"

// RaceEnabled reports whether this is a race build.
const RaceEnabled = false

// RaceRelease orders, for the detector, what the caller did so far before a
// later RaceAcquire of addr.
func RaceRelease(addr unsafe.Pointer) {}

// RaceAcquire is the other half of RaceRelease.
func RaceAcquire(addr unsafe.Pointer) {}

// FindRace prepares RaceReleaseAll; here there is nothing to find.
func FindRace() error { return nil }

// RaceReleaseAll is RaceRelease on behalf of all goroutines.
func RaceReleaseAll(addr unsafe.Pointer) {}

// RaceReadRange reports a read by the kernel to the detector.
func RaceReadRange(addr unsafe.Pointer, n int) {}

// RaceWriteRange reports a write by the kernel to the detector.
func RaceWriteRange(addr unsafe.Pointer, n int) {}
