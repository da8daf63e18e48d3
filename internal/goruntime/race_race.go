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

// Functions for RaceReleaseOf. Written once, by FindRace.
var (
	releaseOf func(g uintptr, addr unsafe.Pointer) // the runtime's racereleasemergeg
	callRace  uintptr                              // its racecall, which is for assembly
)

// FindRace prepares RaceReleaseOf. The error names the part of the runtime that
// was not found. The first call takes some milliseconds.
var FindRace = sync.OnceValue(findRace)

func findRace() error {
	if err := FindStandings(); err != nil {
		return err
	}
	// The linker keeps both: the runtime calls them where it starts a
	// goroutine.
	found := findFuncs("runtime.racereleasemergeg", "runtime.racecall")
	if found == nil {
		return errors.New("the runtime's functions that release on behalf of a goroutine were " +
			"not found")
	}
	releaseOf = asm.At[func(uintptr, unsafe.Pointer)](found[0])
	callRace = found[1]
	before := ignores(asm.Getg())
	runtime.RaceDisable()
	after := ignores(asm.Getg())
	runtime.RaceEnable()
	if before || !after {
		return errors.New("where this Go release counts the calls of RaceDisable was not found")
	}
	return nil
}

// ignores reports whether the detector ignores what g does to order others.
func ignores(g uintptr) bool {
	at := g + standings.goid + ignoreAfterGoid
	return byte(asm.Load(at&^7)>>(at%8*8)) != 0
}

// RaceReleaseOf is RaceRelease on behalf of the goroutine of which asm.Getg
// gave g: what that one did so far happens before a later RaceAcquire of addr,
// which is of Go's memory.
//
// Under RaceDisable, as in the waits of sync.WaitGroup and RWMutex, nothing can
// be released on its behalf. Then what all goroutines did so far happens before
// that RaceAcquire, which may hide a race.
//
// Preconditions: FindRace has succeeded; that goroutine has not ended and does
// not run until RaceReleaseOf has returned.
func RaceReleaseOf(g uintptr, addr unsafe.Pointer) {
	if !ignores(g) {
		releaseOf(g, addr)
		return
	}
	asm.RaceAcquireAll(callRace, asm.Load(asm.Getg()+standings.racectx))
	RaceRelease(addr)
}

// RaceReadRange reports a read by the kernel to the detector.
func RaceReadRange(addr unsafe.Pointer, n int) { runtime.RaceReadRange(addr, n) }

// RaceWriteRange reports a write by the kernel to the detector.
func RaceWriteRange(addr unsafe.Pointer, n int) { runtime.RaceWriteRange(addr, n) }
