// Package asm holds the few instructions netco needs that Go has no words for: the current goroutine's
// identity, the transfer into the runtime's coroutine switch, cache prefetch, the spin pause, and a caller's
// program counter without a stack walk.
//
// # Calling convention
//
// A call from Go into an assembly function normally goes through a generated wrapper that moves arguments from
// registers to the stack. On the context switch that wrapper costs a fifth of the whole switch, so the routines
// on the hot path are entered with their arguments in registers: a Go func value is made whose code pointer is
// the assembly routine itself (see entry). The registers used (arguments in AX, BX, CX, DI on amd64 and R0 to R3 on
// arm64, the goroutine in R14 and R28) are those of Go's register ABI; which Go releases have been verified with
// them is internal/goruntime's to say, and package context tests the switch before it uses it.
//
// # Why it is sound
//
// No routine here changes a stack pointer, a goroutine or a thread. [Switch] ends in a jump into
// runtime.coroswitch with an argument that function takes, so that the runtime sees an ordinary call from
// Go code and keeps its own books. [Prefetch] cannot fault. docs/RATIONALE.md, "The context switch", has the rest.
//
// On architectures without assembly the same names exist: Supported is false, [Getg] parses the goroutine's
// number out of its stack trace (correct, about a microsecond), and Switch panics.
package asm
