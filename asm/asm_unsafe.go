//go:build amd64 || arm64

package asm

import (
	"runtime"
	"unsafe"
)

// Getg returns the running goroutine's identity: its address in the runtime,
// unique while the goroutine exists and reused by a later one. It is never
// dereferenced. It costs about a nanosecond.
func Getg() uintptr

// Pause spins for about the given number of pause instructions without leaving
// the core.
func Pause(cycles uint32)

// The bodies are in the .s files; the func values below enter them.
func switchEntry()
func findEntry()
func prefetchEntry()
func callerPCEntry()
func whereEntry()
func peekEntry()

var (
	switchEntryPC   uintptr // set by the assembler, never written
	findEntryPC     uintptr
	prefetchEntryPC uintptr
	callerPCEntryPC uintptr

	whereEntryPC uintptr
	peekEntryPC  uintptr

	// Where a goroutine's struct points to the thread it is locked to, and
	// where that thread's struct counts LockOSThread; the count of the
	// runtime's own locks follows. Written once by findLocks, before Where
	// reads them.
	lockedmOffset, lockedExtOffset uintptr

	coroswitchPC uintptr // written once by SetSwitch, before the first Switch
)

// code is what a Go func value points at: a code pointer and, for closures, the
// captured variables.
type code struct{ pc uintptr }

// entry makes a func value of type F whose code is at pc. The code pointer
// lives on the heap like a closure's.
func entry[F any](pc uintptr) F {
	c := &code{pc}
	return *(*F)(unsafe.Pointer(&c))
}

var (
	swap func(c, next *Frame)

	// Find returns the running goroutine's entry in a table of pointers,
	// table[Hash(g)>>shift], and the goroutine's identity g. The table has
	// 2^(64-shift) entries, which other threads change only by atomic stores.
	Find = entry[func(table unsafe.Pointer, shift uint64) (unsafe.Pointer, uintptr)](findEntryPC)

	// Prefetch asks the core to load the cache line at addr. It cannot fault,
	// whatever addr is.
	Prefetch = entry[func(addr uintptr)](prefetchEntryPC)
)

// SetSwitch sets the entry point of the runtime's coroutine switch. Call it
// once, before the first Switch.
func SetSwitch(pc uintptr) {
	coroswitchPC = pc
	swap = entry[func(c, next *Frame)](switchEntryPC)
}

// Switch parks the calling goroutine in c's coro and runs the goroutine that
// was parked there; it returns when another goroutine switches through c. On
// the way it prefetches the goroutine and the top of the stack of next, which
// is to run soon; next == c prefetches nothing.
//
// Preconditions: SetSwitch was called; c's coro came from the runtime's
// newcoro, and the caller is locked to its thread as newcoro's caller was.
func Switch(c, next *Frame) { swap(c, next) }

// At returns a func value of type F whose code is at pc.
//
// Precondition: pc is the register-ABI entry of a Go function of type F.
func At[F any](pc uintptr) F { return entry[F](pc) }

// CallerPC returns the return address of its caller, which identifies the line
// that called the caller, in two nanoseconds instead of a stack walk. The
// caller must not be inlined.
//
// It is a variable because the caller must enter it without a wrapper: it reads
// the frame pointer. If at init the frame pointer and the runtime's own
// unwinder disagree, the unwinder is used.
var CallerPC = chooseCallerPC()

func chooseCallerPC() func() uintptr {
	read := entry[func() uintptr](callerPCEntryPC)
	if probeCallerPC(read) {
		return read
	}
	return callerPCSlow
}

func callerPCSlow() uintptr {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return pcs[0]
}

//go:noinline
func probeCallerPC(read func() uintptr) bool { return read() == callerPCSlow() }
