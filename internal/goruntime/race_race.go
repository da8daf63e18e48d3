//go:build race

package goruntime

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/netco-go/netco/asm"
)

// RaceEnabled reports whether this is a race build.
const RaceEnabled = true

// RaceRelease orders, for the detector, what the caller did so far before a
// later RaceAcquire of addr.
func RaceRelease(addr unsafe.Pointer) { runtime.RaceReleaseMerge(addr) }

// RaceAcquire is the other half of RaceRelease.
func RaceAcquire(addr unsafe.Pointer) { runtime.RaceAcquire(addr) }

// callRace is the runtime's racecall, which is for assembly. Written once, by
// FindRace.
var callRace uintptr

// FindRace prepares RaceReleaseAll. The error names the part of the runtime
// that was not found. The first call takes some milliseconds.
var FindRace = sync.OnceValue(findRace)

func findRace() error {
	if err := FindStandings(); err != nil {
		return err
	}
	// The linker keeps it: the runtime calls it where it starts a goroutine.
	found := findFuncs("runtime.racecall")
	if found == nil {
		return errors.New("the runtime's function that calls the race detector was not found")
	}
	callRace = found[0]
	return nil
}

// RaceReleaseAll orders what all goroutines did so far before a later
// RaceAcquire of addr. That may hide a race, but what one goroutine did cannot
// be released on its behalf while it is blocked: the detector does not bear two
// threads in one goroutine's state, and what wakes a goroutine from a channel
// is already in it.
//
// Precondition: FindRace has succeeded.
func RaceReleaseAll(addr unsafe.Pointer) {
	asm.RaceAcquireAll(callRace, asm.Load(asm.Getg()+standings.racectx))
	RaceRelease(addr)
}

// RaceReadRange reports a read by the kernel to the detector.
func RaceReadRange(addr unsafe.Pointer, n int) { runtime.RaceReadRange(addr, n) }

// RaceWriteRange reports a write by the kernel to the detector.
func RaceWriteRange(addr unsafe.Pointer, n int) { runtime.RaceWriteRange(addr, n) }
