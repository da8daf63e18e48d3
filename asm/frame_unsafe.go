package asm

import "unsafe"

// Slot is one of the runtime's coros and who is parked in it.
type Slot struct {
	Coro   unsafe.Pointer
	Holder *Frame
}

// Frame is what the switch reads and writes of an execution context. All fields: owner: the thread it runs on.
//
// Switch stores Frame.Slot and Slot.Holder without a write barrier. That is sound only because every Frame, and with
// it every Slot, is reachable in another way for as long as it is switched to or from: whoever owns a set of
// contexts keeps them in a list until they have ended.
type Frame struct {
	Slot *Slot   // where it is parked; meaningless while it runs
	SP   uintptr // its stack pointer when it last switched away: a hint for prefetch, the runtime may move stacks
	G    uintptr // its goroutine, see Getg
	Home Slot    // the slot made with it, empty in a loop's
}
