// Package asm holds the few instructions that Go cannot express: the current
// goroutine's identity, the switch into the runtime's coroutine transfer, cache
// prefetch, the spin pause, a caller's program counter without a stack walk,
// and reading the runtime's structs of goroutines and threads.
//
// Engine: the API follows netco's needs from one release to the next, and is
// public only by its folder. It shows how Go code can call assembly without the
// wrapper, and how to find fields of the runtime's structs without assuming
// their layout.
//
// # Calling convention
//
// A call from Go into an assembly function normally goes through a generated
// wrapper that moves arguments from registers to the stack. On the context
// switch that wrapper costs a fifth of the whole switch, so the routines on the
// hot path take their arguments in registers: their Go func values have the
// assembly routine itself as code pointer (see entry). The registers used
// (arguments in AX, BX, CX, DI on amd64 and R0 to R3 on arm64, the goroutine in
// R14 and R28) are those of Go's register ABI. internal/goruntime says which Go
// releases have been verified with them, and package context tests the switch
// before it uses it.
//
// # The switch
//
// [Switch] parks the caller in the coro of a [Frame] and runs the goroutine
// that was parked there. It records the caller's stack pointer in the Frame,
// prefetches the goroutine and the top of the stack of another Frame, and jumps
// into runtime.coroswitch. The recorded stack pointer is only ever prefetched:
// the runtime may have moved the stack.
//
// # The view of the runtime
//
// [Where], [Locked] and [Load] read words of the runtime's structs of a
// goroutine and a thread. No layout is assumed: the offset of a word is found
// once, by bringing goroutines into known states and searching for the one word
// that follows them. Unless exactly one does, the function returns an error or
// takes a slower way. The runtime never unmaps these structs, so a stale
// identity gives a stale answer and no fault. Only internal/goruntime knows
// what the states of a goroutine mean.
//
// # Why it is sound
//
// No routine here changes a stack pointer, a goroutine or a thread, and none
// writes to the runtime's memory. Switch ends in a jump into runtime.coroswitch
// with an argument that function takes, so the runtime sees an ordinary call
// from Go code and does its own accounting. [Prefetch] cannot fault.
// docs/RATIONALE.md, "The context switch", has the rest.
package asm
