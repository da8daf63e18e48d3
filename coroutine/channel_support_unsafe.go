//go:build amd64 && !race

package coroutine

import (
	"reflect"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/context"
)

func meEntry()
func parkTailEntry()

var (
	meEntryPC       uintptr // set by the assembler, never written
	parkTailEntryPC uintptr

	selfPC = reflect.ValueOf(self).Pointer()

	me = asm.At[func() *worker](meEntryPC)
)

// The assembly takes these for bytes, and this word for that of its value.
const (
	_ = 1 - unsafe.Sizeof(Executor{}.handoff)
	_ = 1 - unsafe.Sizeof(Coroutine{}.woken)
	_ = 8 - unsafe.Sizeof(Coroutine{}.status)
)

// Me returns the caller, or nil on an ordinary goroutine. It is Here and Current in one, and faster.
func Me() *Caller { return me() }

// ParkTail returns a function that parks the calling coroutine, w, which must have a prepared waiter, and ends the function that
// calls it: when the coroutine is woken, that function's caller goes on, as if it had returned. It may do nothing instead; then
// the function goes on, and Parked is false. The function must not be inlined, must have a pointer for its first argument, no
// results and no deferred calls, and must do nothing after the call if Parked is true. It is nil where that cannot be done.
func ParkTail() func(w *Caller) {
	if !context.Symmetric() {
		return nil
	}
	return asm.At[func(*worker)](parkTailEntryPC)
}
