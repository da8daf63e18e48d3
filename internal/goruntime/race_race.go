//go:build race

package goruntime

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/netco-go/netco/asm"
)

// RaceEnabled says whether the race detector watches this program.
const RaceEnabled = true

// RaceRelease tells the detector that what the caller did so far happens before a later RaceAcquire of addr.
func RaceRelease(addr unsafe.Pointer) { runtime.RaceReleaseMerge(addr) }

// RaceAcquire is the other half of RaceRelease.
func RaceAcquire(addr unsafe.Pointer) { runtime.RaceAcquire(addr) }

// releaseOf is the runtime's racereleasemergeg. Written once, by FindRace.
var releaseOf func(g uintptr, addr unsafe.Pointer)

// FindRace prepares RaceReleaseOf. The error says that the runtime's function
// was not found. The first call takes some milliseconds.
var FindRace = sync.OnceValue(findRace)

func findRace() error {
	if !asm.Supported {
		return errors.New("no assembly for " + runtime.GOARCH)
	}
	if err := Verified(); err != nil {
		return err
	}
	// Linked in without our doing: the runtime calls it where it starts a goroutine.
	found := findFuncs("runtime.racereleasemergeg")
	if found == nil {
		return errors.New("the runtime's function that releases on behalf of a goroutine was not found")
	}
	releaseOf = asm.At[func(uintptr, unsafe.Pointer)](found[0])
	return nil
}

// RaceReleaseOf is RaceRelease on behalf of the goroutine of which asm.Getg gave
// g: what that one did so far happens before a later RaceAcquire of addr, which
// is of Go's memory.
//
// Preconditions: FindRace has succeeded; that goroutine lives and does not run
// until this has returned.
func RaceReleaseOf(g uintptr, addr unsafe.Pointer) { releaseOf(g, addr) }

// RaceReadRange tells the detector of a read by the kernel.
func RaceReadRange(addr unsafe.Pointer, n int) { runtime.RaceReadRange(addr, n) }

// RaceWriteRange tells the detector of a write by the kernel.
func RaceWriteRange(addr unsafe.Pointer, n int) { runtime.RaceWriteRange(addr, n) }
