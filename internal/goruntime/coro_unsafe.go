package goruntime

import (
	"errors"
	"iter"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/netco-go/netco/asm"
)

// Coro is the runtime's coro: it holds exactly one parked goroutine. It is
// garbage collected.
type Coro = unsafe.Pointer

// NewCoro makes a coro holding a new goroutine that will run f once switched
// to. Set by LinkCoro. When f returns (or unwinds by Goexit), that goroutine
// ends and the goroutine parked in the coro continues. A panic that leaves f is
// lost in the runtime's exit path, so f must not panic.
var NewCoro func(f func(Coro)) Coro

// LinkCoro finds the runtime's newcoro and coroswitch and prepares NewCoro and
// asm.Switch.
//
// The linker forbids naming the two, so they are looked up by name through
// runtime.FuncForPC, walking the text of the runtime from a known function:
// about 1.5 ms, once. They are linked in because iter.Pull refers to them.
func LinkCoro() error {
	keepLinked()
	found := findFuncs("runtime.newcoro", "runtime.coroswitch")
	if found == nil {
		return errors.New("the runtime's coroutine functions were not found")
	}
	NewCoro = asm.At[func(func(Coro)) Coro](found[0])
	asm.SetSwitch(found[1])
	return nil
}

// keepLinked uses iter.Pull, so that the linker keeps what it refers to.
func keepLinked() {
	_, stop := iter.Pull(func(func(struct{}) bool) {})
	stop()
}

// findFuncs returns the entry points of the named functions of package runtime,
// or nil if one is missing.
func findFuncs(names ...string) []uintptr {
	const step = 16 // functions start at multiples of 16 or 32
	entries := make([]uintptr, len(names))
	missing := len(names)
	look := func(pc uintptr) (more bool) {
		f := runtime.FuncForPC(pc)
		if f == nil {
			return false
		}
		for i, name := range names {
			// Other addresses may name a function that is inlined there, with
			// the entry of the function that it is inlined in.
			if entries[i] == 0 && f.Entry() == pc && f.Name() == name {
				entries[i] = pc
				missing--
			}
		}
		return missing > 0
	}
	start := reflect.ValueOf(runtime.Gosched).Pointer()
	for pc := start; look(pc); pc += step {
	}
	for pc := start; missing > 0 && look(pc); pc -= step {
	}
	if missing > 0 {
		return nil
	}
	return entries
}
