package epoller

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRingDuringClose: a bell that is about to be written is not closed. It
// was, when the owner woke by itself and ended, and the eight bytes went to
// whatever file had got its number.
func TestRingDuringClose(t *testing.T) {
	e, err := Open[int]()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { betweenRing = nil }()
	closed := make(chan struct{})
	betweenRing = func() {
		go func() {
			defer close(closed)
			e.Awake()
			e.Close()
		}()
		for { // until Close waits for this ringer, or is over
			if !e.life.TryRLock() {
				break
			}
			over := e.closed
			e.life.RUnlock()
			if over {
				break
			}
			runtime.Gosched()
		}
		if _, err := unix.FcntlInt(uintptr(e.bell), unix.F_GETFD, 0); err != nil {
			t.Errorf("the bell is closed while it is rung: %v", err)
		}
	}
	e.Asleep()
	if !e.Ring() {
		t.Error("did not ring")
	}
	<-closed
	betweenRing = func() { t.Error("rang after Close") }
	e.Asleep() // as one who has looked before Close
	if e.Ring() {
		t.Error("rang after Close")
	}
}
