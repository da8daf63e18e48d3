package coroutine

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
)

// setG makes w the worker of an invented goroutine.
func setG(w *worker, g uintptr) {
	*(*uintptr)(unsafe.Add(unsafe.Pointer(w), unsafe.Offsetof(asm.Frame{}.G))) = g
}
