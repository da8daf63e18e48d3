package asm

import "unsafe"

// Frame is the part of an execution context that the switch reads and writes.
// Fields without a note are owned by whichever side of the coro has the thread.
type Frame struct {
	Coro unsafe.Pointer // the runtime's coro made with the context; constant
	SP   uintptr        // the stack pointer at the last switch; a prefetch hint: stacks move
	G    uintptr        // the context's goroutine, see Getg; written once, at its start
}
