package goruntime

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/netco-go/netco/asm"
)

// Offsets of a goroutine's thread and number in its struct, runtime.g, and of a
// thread's number in the operating system in runtime.m: on 64-bit machines, in
// all verified releases. In runtime.g the stack's bounds, both guards, _panic
// and _defer come before m; in runtime.m g0, morebuf, a gobuf of six words, and
// divmod before procid.
const (
	threadInG = 48
	goidInG   = 152
	idInM     = 64
)

var errGoroutines = errors.New(
	"the places of a goroutine's number and thread in this Go release were not found")

// findGoroutines checks these offsets on the caller, locked to its thread.
var findGoroutines = sync.OnceValue(func() error {
	if err := Verified(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g := asm.Getg()
	var buf [40]byte
	trace := string(buf[:runtime.Stack(buf[:], false)])
	if !strings.HasPrefix(trace, fmt.Sprintf("goroutine %d ", asm.Load(g+goidInG))) ||
		threadOf(g) != syscall.Gettid() {
		return errGoroutines
	}
	return nil
})

// Goid returns the number, as stack traces show it, of the goroutine g, an
// identity that asm.Getg returned once: its struct is never freed, but may
// belong to a later goroutine. From any thread. An error means that this Go
// release is not understood.
func Goid(g uintptr) (uint64, error) {
	if err := findGoroutines(); err != nil {
		return 0, err
	}
	return uint64(asm.Load(g + goidInG)), nil
}

// ThreadOf returns the operating system's number of the thread that runs the
// goroutine g, an identity that asm.Getg returned once; 0 if no thread does.
// From any thread; the answer may be out of date when it arrives. An error
// means that this Go release is not understood.
func ThreadOf(g uintptr) (tid int, err error) {
	if err := findGoroutines(); err != nil {
		return 0, err
	}
	return threadOf(g), nil
}

func threadOf(g uintptr) int {
	m := asm.Load(g + threadInG)
	if m == 0 {
		return 0
	}
	return int(asm.Load(m + idInM))
}
