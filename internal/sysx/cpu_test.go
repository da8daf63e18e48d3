package sysx_test

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// TestMoveThread: a thread moves to a CPU that is free, and may go back.
func TestMoveThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil || before.Count() < 2 {
		t.Skip("one CPU", err)
	}
	arrived := false
	for range 1000 { // the kernel may move it back at any time
		from := sysx.CPU()
		to := sysx.MoveThread(func(cpu int) bool { return cpu != from })
		if to < 0 || to == from || !before.IsSet(to) {
			t.Fatalf("moved from %d to %d", from, to)
		}
		arrived = arrived || sysx.CPU() == to
	}
	if !arrived {
		t.Error("it is never where it has moved to")
	}
	if to := sysx.MoveThread(func(int) bool { return false }); to != -1 {
		t.Errorf("moved to %d though none is free", to)
	}
	if unix.SchedGetaffinity(0, &after) != nil || after != before {
		t.Errorf("it may run on %v, before on %v", after, before)
	}
}
