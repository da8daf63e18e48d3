package epoller

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

// TestRingDuringClose: Close waits while the bell is about to be written.
// Regression: an owner that woke by itself closed the bell, and the eight bytes
// went to another file with the same number.
func TestRingDuringClose(t *testing.T) {
	e, err := Open[int]()
	testenv.OK(t, err)
	defer func() { betweenRing = nil }()
	closed := make(chan struct{})
	betweenRing = func() {
		go func() {
			defer close(closed)
			e.Awake()
			e.Close()
		}()
		for { // until Close waits for this ringer, or has returned
			if !e.mu.TryRLock() {
				break
			}
			over := e.closed.Load()
			e.mu.RUnlock()
			if over {
				break
			}
			runtime.Gosched()
		}
		testenv.Fails(t, testenv.Err(unix.FcntlInt(uintptr(e.bell), unix.F_GETFD, 0)), nil,
			"the bell is closed while it is rung")
	}
	e.Asleep()
	testenv.True(t, e.Ring(), "did not ring")
	<-closed
	betweenRing = func() { t.Error("rang after Close") }
	e.Asleep() // as an owner that checked for work before Close
	testenv.True(t, !e.Ring(), "rang after Close")
}
