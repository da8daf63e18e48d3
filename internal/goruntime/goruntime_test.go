package goruntime_test

import (
	"runtime"
	"strings"
	"testing"
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
