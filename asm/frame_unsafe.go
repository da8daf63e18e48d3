package asm

import "unsafe"

// Frame is what the switch reads and writes of an execution context. Fields
// without a note: owner: whichever side of the coro has the thread.
type Frame struct {
	Coro unsafe.Pointer // the runtime's coro made with the context; constant
	SP   uintptr        // the stack pointer at the last switch: a hint for prefetch, the runtime may move stacks
	G    uintptr        // the context's goroutine, see Getg; written once, at its start
}
