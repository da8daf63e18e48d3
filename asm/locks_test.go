package asm_test

import (
	"runtime"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// TestWhere: the second result differs between locked and unlocked, between
// depths and between threads.
func TestWhere(t *testing.T) {
	if !asm.LocksKnown() {
		t.Fatal("the runtime's thread locks were not found")
	}
	where := func() uintptr {
		g, locks := asm.Where()
		testenv.Equal(t, g, asm.Getg(), "Where and Getg differ")
		return locks
	}
	others := make(chan uintptr, 2)
	locked := func() {
		runtime.LockOSThread()
		others <- where()
		runtime.UnlockOSThread()
		testenv.Equal(t, where(), 0, "locked after UnlockOSThread")
	}
	testenv.Equal(t, where(), 0, "the test is locked to its thread")
	runtime.LockOSThread()
	once := where()
	runtime.LockOSThread()
	twice := where()
	runtime.UnlockOSThread()
	testenv.True(t, once != 0 && twice != 0 && once != twice && where() == once,
		"locked once %#x, twice %#x, then once %#x", once, twice, where())
	go locked() // on another thread, as this one is taken
	other := <-others
	testenv.True(t, other != once && other != 0, "two threads, one number: %#x", other)
	runtime.UnlockOSThread()
	testenv.Equal(t, where(), 0, "locked after the last UnlockOSThread")
}
