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
// later RaceAcquire of addr, in place of what was released there before.
func RaceRelease(addr unsafe.Pointer) { runtime.RaceRelease(addr) }

// RaceReleaseMerge is RaceRelease beside what was released there before.
func RaceReleaseMerge(addr unsafe.Pointer) { runtime.RaceReleaseMerge(addr) }

// RaceAcquire is the other half of both.
func RaceAcquire(addr unsafe.Pointer) { runtime.RaceAcquire(addr) }

// TurnsOrder has what one loop drives be ordered as it runs, as if it were one
// goroutine. It is for tests whose coroutines share variables as what runs on
// one thread can, and is set before they start any.
var TurnsOrder bool

// RaceContext is what the detector knows a goroutine by: the goroutine's
// accesses to memory are those of the context that its struct names. A context
// must not be used by two threads at once. 0 is none.
type RaceContext uintptr

// callRace is the runtime's racecall, which is for assembly. Written once, by
// FindRace.
var callRace uintptr

// FindRace prepares what follows. The error names the part of the runtime that
// was not found. The first call takes some milliseconds.
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
	return probeRace()
}

// probeRace checks that the field of a goroutine's struct that is taken for its
// context follows the runtime: each goroutine has one of its own.
func probeRace() error {
	here := OwnRaceContext()
	other := make(chan RaceContext)
	go func() { other <- OwnRaceContext() }()
	if there := <-other; here == 0 || there == 0 || here == there {
		return errors.New("where a goroutine's state of the race detector is was not found")
	}
	return nil
}

// OwnRaceContext returns the caller's. Precondition, as for all that follows:
// FindRace has succeeded.
//
//go:norace
func OwnRaceContext() RaceContext {
	return RaceContext(asm.Load(asm.Getg() + standings.racectx))
}

// SwapRaceContext gives the caller another one and returns the former. What the
// former did to the goroutine's stack is forgotten, as the runtime does where
// it gives a goroutine another one (raceEnterNewCtx in runtime/mcleanup.go):
// nothing else uses that memory.
//
//go:norace
func SwapRaceContext(c RaceContext) (was RaceContext) {
	g := asm.Getg()
	at := g + standings.racectx
	was = RaceContext(asm.Load(at))
	asm.Store(at, uintptr(c))
	var here byte
	sp := uintptr(unsafe.Pointer(&here))
	lo := max(asm.Load(g), sp-stackBelow)
	hi := min(asm.Load(g+stackHi), sp+stackAbove)
	asm.RaceFresh(callRace, lo, hi-lo)
	return was
}

// How much of a stack below and above a swap is used by both: what netco calls
// in between, and the frames that call netco.
const (
	stackBelow = 12 << 10
	stackAbove = 2 << 10
)

// SetRaceContext gives another one of an owner's to the goroutine g, which is
// parked.
//
//go:norace
func SetRaceContext(g uintptr, c RaceContext) { asm.Store(g+standings.racectx, uintptr(c)) }

// NewRaceContext makes one. What parent, which nothing else may use meanwhile,
// has done and acquired comes before what it does. pc is where reports say that
// it was created.
func NewRaceContext(parent RaceContext, pc uintptr) RaceContext {
	return RaceContext(asm.RaceStart(callRace, uintptr(parent), pc))
}

// EndRaceContext ends one that nothing uses any more.
func EndRaceContext(c RaceContext) { asm.RaceEnd(callRace, uintptr(c)) }

// RaceFresh makes the detector forget what was done to memory that is used
// again for something else.
func RaceFresh(addr unsafe.Pointer, size uintptr) {
	asm.RaceFresh(callRace, uintptr(addr), size)
}

// RaceReadRange reports a read by the kernel to the detector.
func RaceReadRange(addr unsafe.Pointer, n int) { runtime.RaceReadRange(addr, n) }

// RaceWriteRange reports a write by the kernel to the detector.
func RaceWriteRange(addr unsafe.Pointer, n int) { runtime.RaceWriteRange(addr, n) }
