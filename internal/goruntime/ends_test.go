package goruntime_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// TestSignalAwaited: what waits for a channel of signals is distinguished
// from what waits for other channels.
func TestSignalAwaited(t *testing.T) {
	if goruntime.Verified() != nil {
		t.Skip("not a verified release")
	}
	findStandings(t)
	signals := make(chan os.Signal, 1)
	other := make(chan int)
	for _, c := range []struct {
		name, state string
		block       func()
		want        bool
	}{
		{"receive", "chan receive", func() { <-other }, false},
		{"signal", "chan receive", func() { <-signals }, true},
		{"select", "select", func() {
			select {
			case <-other:
			case other <- 1:
			}
		}, false},
		{"select with a signal", "select", func() {
			select {
			case <-signals:
			case <-other:
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, end := started(c.block)
			awaitStanding(t, g, c.state, goruntime.Blocked)
			no := func(uintptr) bool { return false }
			testenv.Equal(t, goruntime.SignalAwaited(no), c.want, "SignalAwaited")
			if goruntime.SignalAwaited(func(one uintptr) bool { return one == g }) {
				t.Error("SignalAwaited, but for this goroutine")
			}
			if c.want {
				signals <- syscall.SIGWINCH
			} else {
				other <- 1
			}
			end()
		})
	}
}

// TestNoTimers: a timer that is set is seen.
func TestNoTimers(t *testing.T) {
	if goruntime.Verified() != nil {
		t.Skip("not a verified release")
	}
	goruntime.NoTimers() // its first call sets some itself
	timer := time.AfterFunc(time.Hour, func() {})
	defer timer.Stop()
	for range 100 {
		if goruntime.NoTimers() {
			t.Fatal("none, though one is set")
		}
		runtime.Gosched()
	}
}
