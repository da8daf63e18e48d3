package asm_test

import (
	"runtime"
	"testing"

	"github.com/netco-go/netco/asm"
)

// TestWhere: the second result differs between locked and unlocked, between
// depths and between threads.
func TestWhere(t *testing.T) {
	if !asm.LocksKnown() {
		t.Fatal("the runtime's thread locks were not found")
	}
	where := func() uintptr {
		g, locks := asm.Where()
		if g != asm.Getg() {
			t.Error("Where and Getg differ")
		}
		return locks
	}
	others := make(chan uintptr, 2)
	locked := func() {
		runtime.LockOSThread()
		others <- where()
		runtime.UnlockOSThread()
		if where() != 0 {
			t.Error("locked after UnlockOSThread")
		}
	}
	if where() != 0 {
		t.Error("the test is locked to its thread")
	}
	runtime.LockOSThread()
	once := where()
	runtime.LockOSThread()
	twice := where()
	runtime.UnlockOSThread()
	if once == 0 || twice == 0 || once == twice || where() != once {
		t.Errorf("locked once %#x, twice %#x, then once %#x", once, twice, where())
	}
	go locked() // on another thread, as this one is taken
	if other := <-others; other == once || other == 0 {
		t.Errorf("two threads, one number: %#x", other)
	}
	runtime.UnlockOSThread()
	if where() != 0 {
		t.Error("locked after the last UnlockOSThread")
	}
}
