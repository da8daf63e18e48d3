//go:build race && (amd64 || arm64)

package asm

import "unsafe"

// raceCall calls a function of the race detector's by the runtime's racecall,
// whose entry is the first argument.
//
//go:uintptrescapes
func raceCall(racecall, fn, arg0, arg1, arg2, arg3 uintptr)

var tsanGoStart, tsanGoEnd, tsanMalloc uintptr // functions; set by the assembler, never written

// RaceStart returns a new racectx, like that of a goroutine that parent starts
// at pc. racecall is the entry of the runtime's function of that name.
func RaceStart(racecall, parent, pc uintptr) uintptr {
	made := new(uintptr) // not on a stack: the detector's C code could not follow a moved stack
	raceCall(racecall, tsanGoStart, parent, uintptr(unsafe.Pointer(made)), pc, 0)
	return *made
}

// RaceEnd ends a racectx that is out of use.
func RaceEnd(racecall, ctx uintptr) { raceCall(racecall, tsanGoEnd, ctx, 0, 0, 0) }

// RaceFresh makes the detector forget all accesses to size bytes at addr, as
// for memory that is newly allocated. As in the runtime's racemalloc, there is
// no context and no program counter.
func RaceFresh(racecall, addr, size uintptr) { raceCall(racecall, tsanMalloc, 0, 0, addr, size) }

// Store stores a word at addr, in a goroutine's struct.
func Store(addr, v uintptr)
