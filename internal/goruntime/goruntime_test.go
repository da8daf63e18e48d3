package goruntime_test

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// TestVerified: the release that runs the tests is one of those verified, or
// the refusal names it.
func TestVerified(t *testing.T) {
	err := goruntime.Verified()
	known := false
	for _, release := range []string{"go1.25", "go1.26", "go1.27"} {
		known = known || strings.HasPrefix(runtime.Version(), release)
	}
	if known != (err == nil) {
		t.Errorf("%s: %v", runtime.Version(), err)
	}
	if err != nil && !strings.Contains(err.Error(), runtime.Version()) {
		t.Errorf("the refusal does not name the release: %v", err)
	}
}

// TestYield: a goroutine that waits for the caller's P runs first.
func TestYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ran := make(chan bool, 1)
	go func() { ran <- true }()
	goruntime.Yield()
	testenv.Equal(t, len(ran), 1, "runs of the other goroutine")
}

// TestLinkCoro finds the runtime's functions, again and again.
func TestLinkCoro(t *testing.T) {
	for range 3 {
		if err := goruntime.LinkCoro(); err != nil {
			t.Fatal(err)
		}
	}
	// A coro runs when it is switched to, and its end resumes whatever
	// switched.
	ran := 0
	var c asm.Frame
	c.Coro = goruntime.NewCoro(func(goruntime.Coro) {
		for range 2 {
			goruntime.RaceAcquire(unsafe.Pointer(&c))
			ran++
			goruntime.RaceRelease(unsafe.Pointer(&c))
			if ran == 1 {
				asm.Switch(&c, &c)
			}
		}
	})
	for want := range 2 {
		if ran != want {
			t.Errorf("after %d switches it has run %d times", want, ran)
		}
		goruntime.RaceRelease(unsafe.Pointer(&c))
		asm.Switch(&c, &c)
		goruntime.RaceAcquire(unsafe.Pointer(&c))
	}
	if ran != 2 {
		t.Errorf("after 2 switches it has run %d times", ran)
	}
}

func TestRaceHooks(t *testing.T) {
	var x [8]byte
	p := unsafe.Pointer(&x)
	goruntime.RaceRelease(p)
	goruntime.RaceAcquire(p)
	goruntime.RaceReadRange(p, len(x))
	goruntime.RaceWriteRange(p, len(x))
	goruntime.RaceReadRange(p, 0)
	if err := goruntime.FindRace(); err != nil {
		t.Fatal(err)
	}
	own := goruntime.OwnRaceContext()
	other := goruntime.NewRaceContext(own, 0)
	if was := goruntime.SwapRaceContext(other); was != own {
		t.Errorf("swapped %x, want %x", was, own)
	}
	_ = goruntime.SwapRaceContext(own)
	goruntime.EndRaceContext(other)
	goruntime.RaceFresh(p, uintptr(len(x)))
}

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
	timer := time.AfterFunc(time.Hour, func() {})
	defer timer.Stop()
	for range 100 {
		if goruntime.NoTimers() {
			t.Fatal("none, though one is set")
		}
		runtime.Gosched()
	}
}
