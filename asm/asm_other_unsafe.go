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

// Getg returns the running goroutine's identity: here its number, parsed from
// its stack trace. It costs about a microsecond.
func Getg() uintptr {
	return uintptr(ownGoid())
}

// Pause spins for about the given number of pause instructions; without
// assembly it does nothing.
func Pause(cycles uint32) {}

// Find returns the entry of a table of pointers at which the running goroutine
// hashes to, and that goroutine as Getg gives it.
func Find(table unsafe.Pointer, shift uint64) (unsafe.Pointer, uintptr) {
	g := Getg()
	at := unsafe.Add(table, Hash(g)>>shift*uint64(unsafe.Sizeof(table)))
	return atomic.LoadPointer((*unsafe.Pointer)(at)), g
}

// Prefetch does nothing.
func Prefetch(addr uintptr) {}

// SetSwitch does nothing.
func SetSwitch(pc uintptr) {}

// Switch panics; package context never selects it here.
func Switch(c, next *Frame) {
	panic("netco/asm: no context switch on " + runtime.GOARCH)
}

// At returns no function; it has no caller here.
func At[F any](pc uintptr) (f F) { return f }

// CallerPC returns the program counter to which the function that calls it will
// return.
var CallerPC = func() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

// Load panics; it has no caller here.
func Load(addr uintptr) uintptr { panic("netco/asm: no view of the runtime on " + runtime.GOARCH) }

// RaceAcquireAll does nothing; it has no caller here.
func RaceAcquireAll(racecall, ctx uintptr) {}

// Goid returns the number of a goroutine, which here is its identity.
func Goid(g uintptr) (uint64, error) { return uint64(g), nil }

// GoidOffset returns an error.
func GoidOffset() (uintptr, error) {
	return 0, errors.New("netco/asm: no view of the runtime on " + runtime.GOARCH)
}

// Locked returns false: the locks are not known.
func Locked(g uintptr) bool { return false }

// Where returns the running goroutine's identity, and whether it is locked to
// its thread: 0 if not, else 1. It costs about a microsecond.
var Where = whereSlow

// LocksKnown reports whether Where distinguishes states of locks: it does not.
func LocksKnown() bool { return false }
