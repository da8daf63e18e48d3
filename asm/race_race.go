//go:build race && (amd64 || arm64)

package asm

// These call a function of the race detector's by the runtime's racecall, whose
// entry is the first argument.

func raceStart(racecall, parent uintptr, made *uintptr, pc uintptr)
func raceEnd(racecall, ctx uintptr)
func raceFresh(racecall, addr, size uintptr)

// RaceStart returns a new racectx, as a goroutine has that parent starts at pc.
// racecall is the entry of the runtime's function of that name.
func RaceStart(racecall, parent, pc uintptr) uintptr {
	made := new(uintptr) // not on a stack, which the detector's cannot follow
	raceStart(racecall, parent, made, pc)
	return *made
}

// RaceEnd ends a racectx, which nothing uses any more.
func RaceEnd(racecall, ctx uintptr) { raceEnd(racecall, ctx) }

// RaceFresh makes the detector forget all accesses to size bytes at addr, as
// for memory that is newly allocated.
func RaceFresh(racecall, addr, size uintptr) { raceFresh(racecall, addr, size) }

// Store stores a word at addr, in a goroutine's struct.
func Store(addr, v uintptr)
