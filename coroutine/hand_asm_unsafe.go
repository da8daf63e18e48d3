//go:build (amd64 || arm64) && !race

package coroutine

import (
	"reflect"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
)

func pauseEntry()
func driveEntry()

var (
	pauseEntryPC uintptr // set by the assembler, never written
	driveEntryPC uintptr

	lockedmOffset, lockedExtOffset = asm.LockOffsets()

	coroswitchPC = asm.CoroswitchPC()
	pauseGoPC    = reflect.ValueOf(pauseGo).Pointer()
	pausedGoPC   = reflect.ValueOf(pausedGo).Pointer()
)

// What the assembly knows of package asm's types, and takes for granted of these.
const (
	frameSlot  = unsafe.Offsetof(asm.Frame{}.Slot)
	slotHolder = unsafe.Offsetof(asm.Slot{}.Holder)
	slotCoro   = unsafe.Offsetof(asm.Slot{}.Coro)

	relayOffset = context.RelayOffset

	_ = -(unsafe.Offsetof(fiber{}.w))
)

// fast says whether pause and drive are the assembly's.
var fast = context.Symmetric() && asm.LocksKnown()

// pause is pauseGo, and drive the switch to a coroutine that All has looked at.
var (
	pause = choosePause()
	drive = asm.At[func(*hand)](driveEntryPC)
)

func choosePause() func(*hand) {
	if fast {
		return asm.At[func(*hand)](pauseEntryPC)
	}
	return pauseGo
}
