package coroutine

import (
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
)

// The conversions that the package's types need. They are sound because a
// worker is the first field of its fiber, and a context that of its worker. The
// conversions of the table of goroutines are in table_unsafe.go.

// labels are a goroutine's profiler labels, see goruntime.Labels.
type labels = unsafe.Pointer

// poolChunk is how many coroutines are allocated at once: as many as fill one
// of the allocator's 8 KiB blocks.
const poolChunk = (8<<10 - 8) / unsafe.Sizeof(Coroutine{})

// workerOf returns the worker whose first field is c.
func workerOf(c *context.Context) *worker { return (*worker)(unsafe.Pointer(c)) }

// fiberOf returns the fiber whose first field is c.
func fiberOf(c *context.Context) *fiber { return (*fiber)(unsafe.Pointer(c)) }

// codeOf returns the code pointer that all closures of fn's function have. It
// is not instrumented: the race detector may not know here what ordered the
// making of fn.
//
//go:norace
func codeOf(fn func()) uintptr { return **(**uintptr)(unsafe.Pointer(&fn)) }

// addr is the address of w and its context, for the race detector.
func (w *worker) addr() unsafe.Pointer { return unsafe.Pointer(w) }

// prefetch loads w's first cache line.
func (w *worker) prefetch() { asm.Prefetch(uintptr(w.addr())) }
