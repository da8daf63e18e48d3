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

// RaceRelease orders, for the detector, the caller's actions so far before a
// later RaceAcquire of addr. It replaces earlier releases of addr.
func RaceRelease(addr unsafe.Pointer) { runtime.RaceRelease(addr) }

// RaceReleaseMerge is RaceRelease that keeps earlier releases of addr.
func RaceReleaseMerge(addr unsafe.Pointer) { runtime.RaceReleaseMerge(addr) }

// RaceAcquire orders the releases of addr before the caller's later actions.
func RaceAcquire(addr unsafe.Pointer) { runtime.RaceAcquire(addr) }

// TurnsOrder makes the detector treat all coroutines of one loop as one
// goroutine. It is for tests whose coroutines share variables without a lock
// because they take turns. Set it before the first starts.
var TurnsOrder bool

// RaceContext is the detector's identity of a goroutine: it attributes the
// goroutine's accesses to the context that the goroutine's struct names. Two
// threads must not use one context at the same time. 0 is none.
type RaceContext uintptr

// callRace is the runtime's racecall, which only assembly can call. Written
// once, by FindRace.
var callRace uintptr

// FindRace prepares the functions below. The error names the part of the
// runtime that was not found. The first call takes some milliseconds.
var FindRace = sync.OnceValue(findRace)

func findRace() error {
	if err := FindStandings(); err != nil {
		return err
	}
	// The linker keeps racecall: the runtime calls it to start a goroutine.
	found := findFuncs("runtime.racecall")
	if found == nil {
		return errors.New("the runtime's function that calls the race detector was not found")
	}
	callRace = found[0]
	return probeRace()
}

// probeRace checks the field that is taken for a goroutine's context: two
// goroutines must have different contexts.
func probeRace() error {
	here := OwnRaceContext()
	other := make(chan RaceContext)
	go func() { other <- OwnRaceContext() }()
	if there := <-other; here == 0 || there == 0 || here == there {
		return errors.New("the race detector's state of a goroutine was not found")
	}
	return nil
}

// OwnRaceContext returns the caller's context. Precondition of this function
// and those below: FindRace has succeeded.
//
//go:norace
func OwnRaceContext() RaceContext {
	return RaceContext(asm.Load(asm.Getg() + standings.racectx))
}

// SwapRaceContext gives the caller the context c and returns the former one.
// The detector forgets the former context's accesses to the goroutine's stack,
// which no other goroutine uses. The runtime does the same (raceEnterNewCtx in
// runtime/mcleanup.go).
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

// The part of a stack that both contexts of a swap use: the functions that
// netco calls in between lie below it, the frames that call netco above it.
const (
	stackBelow = 12 << 10
	stackAbove = 2 << 10
)

// SetRaceContext gives an owner's context to the goroutine g, which is parked.
//
//go:norace
func SetRaceContext(g uintptr, c RaceContext) { asm.Store(g+standings.racectx, uintptr(c)) }

// NewRaceContext makes a context. The actions of parent, which no thread may
// use meanwhile, come before those of the new context. Reports name pc as the
// place that created it.
func NewRaceContext(parent RaceContext, pc uintptr) RaceContext {
	return RaceContext(asm.RaceStart(callRace, uintptr(parent), pc))
}

// EndRaceContext ends a context that is not used any more.
func EndRaceContext(c RaceContext) { asm.RaceEnd(callRace, uintptr(c)) }

// RaceFresh makes the detector forget the accesses to memory that is reused.
func RaceFresh(addr unsafe.Pointer, size uintptr) {
	asm.RaceFresh(callRace, uintptr(addr), size)
}

// RaceReadRange reports a read by the kernel to the detector.
func RaceReadRange(addr unsafe.Pointer, n int) { runtime.RaceReadRange(addr, n) }

// RaceWriteRange reports a write by the kernel to the detector.
func RaceWriteRange(addr unsafe.Pointer, n int) { runtime.RaceWriteRange(addr, n) }
