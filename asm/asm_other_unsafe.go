//go:build !amd64 && !arm64

package asm

import (
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
func Switch(from, to, warm *Frame) {
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

// Where returns the running goroutine's identity, and how it is locked to its
// thread: 0 if it is not, else 1. About a microsecond.
var Where = whereSlow

// LocksKnown reports whether Where tells one state of locks from another: no.
func LocksKnown() bool { return false }
