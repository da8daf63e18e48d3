//go:build (amd64 || arm64) && !race

package coroutine

import (
	"reflect"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
)

func yieldEntry()

var (
	yieldEntryPC uintptr // set by the assembler, never written

	// What yieldEntry jumps to: register entries, since the stack entry of a Go function would be one more return.
	switchPC  = asm.SwitchPC()
	yieldGoPC = reflect.ValueOf(yieldGo).Pointer()
)

// The assembly takes a worker's address for that of its frame, and an atomic or relaxed word's for that of its value.
const (
	_ = -(unsafe.Offsetof(worker{}.ctx))
	_ = unsafe.Sizeof(table) - 8
	_ = 8 - unsafe.Sizeof(table)
	_ = 4 - unsafe.Sizeof(Executor{}.attention)
	_ = unsafe.Sizeof(Executor{}.attention) - 4
	_ = 8 - unsafe.Sizeof(Executor{}.current)
)

// yield is Yield's implementation.
var yield = chooseYield()

func chooseYield() func(uintptr) {
	if context.Symmetric() {
		return asm.At[func(uintptr)](yieldEntryPC)
	}
	return yieldGo
}
