//go:build !amd64 && !arm64

package asm

import (
	"errors"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Supported reports whether this architecture has the assembly.
const Supported = false

// Getg returns the running goroutine's identity, here its number as its stack trace shows it. About a microsecond.
func Getg() uintptr {
	return uintptr(ownGoid())
}

// Pause spins for about the given number of pause instructions; without assembly it does nothing.
func Pause(cycles uint32) {}

// Find returns the entry of a table of pointers at which the running goroutine hashes to, and that goroutine as Getg
// gives it.
func Find(slots unsafe.Pointer, shift uint64) (unsafe.Pointer, uintptr) {
	g := Getg()
	at := unsafe.Add(slots, Hash(g)>>shift*uint64(unsafe.Sizeof(slots)))
	return atomic.LoadPointer((*unsafe.Pointer)(at)), g
}

// Prefetch is a hint, here ignored.
func Prefetch(addr uintptr) {}

// SetSwitch has nothing to set here.
func SetSwitch(pc uintptr) {}

// Switch is never selected here.
func Switch(c, warm *Frame) {
	panic("netco/asm: no context switch on " + runtime.GOARCH)
}

// At is never used here.
func At[F any](pc uintptr) (f F) { return f }

// CallerPC returns the program counter to which the function that calls it will return.
var CallerPC = func() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

// Load returns the word at addr. It is never used here.
func Load(addr uintptr) uintptr { panic("netco/asm: no view of the runtime on " + runtime.GOARCH) }

// RaceAcquireAll is never used here.
func RaceAcquireAll(racecall, ctx uintptr) {}

// GoidOffset fails here.
func GoidOffset() (uintptr, error) {
	return 0, errors.New("netco/asm: no view of the runtime on " + runtime.GOARCH)
}

// Locked says no: it is not known.
func Locked(g uintptr) bool { return false }

// Where returns the running goroutine's identity, and how it is locked to its
// thread: 0 if it is not, else 1. About a microsecond.
var Where = whereSlow

// LocksKnown reports whether Where tells one state of locks from another: no.
func LocksKnown() bool { return false }
