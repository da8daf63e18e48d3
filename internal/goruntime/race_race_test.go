//go:build race

package goruntime_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// racyVar makes a child process of the tests commit a race, or not.
const racyVar = "NETCO_TEST_RACE"

// contextUses are what one goroutine does in two contexts, and whether that is
// a race.
var contextUses = map[string]struct {
	do   func(swap func())
	racy bool
}{
	"write, write": {func(swap func()) {
		x := heap()
		*x = 1
		swap()
		*x = 2
	}, true},
	"release, acquire": {func(swap func()) {
		x, mark := heap(), heap()
		*x = 1
		goruntime.RaceRelease(unsafe.Pointer(mark))
		swap()
		goruntime.RaceAcquire(unsafe.Pointer(mark))
		*x = 2
	}, false},
	"fresh memory": {func(swap func()) {
		x := heap()
		*x = 1
		swap()
		goruntime.RaceFresh(unsafe.Pointer(x), 8)
		*x = 2
	}, false},
	"the stack": {func(swap func()) {
		touch(40)
		swap()
		touch(40)
	}, false},
}

// heap returns memory that is not on the stack.
//
//go:noinline
func heap() *int { return new(int) }

// touch writes to n frames of the stack, where the detector sees it.
//
//go:noinline
func touch(n int) {
	x := [16]int{n}
	through(&x)
	if n > 0 {
		touch(n - 1)
	}
}

//go:noinline
func through(x *[16]int) { x[len(x)-1] = x[0] }

// swapped is the context that swap gives the caller for the one it has.
var swapped goruntime.RaceContext

// swap is not instrumented: the detector must not count a call in one context
// and the return in another.
//
//go:norace
func swap() { swapped = goruntime.SwapRaceContext(swapped) }

// TestRaceContexts: what one goroutine does in two contexts is for the detector
// what two goroutines do, but for its stack.
func TestRaceContexts(t *testing.T) {
	testenv.OK(t, goruntime.FindRace())
	if use, ok := contextUses[os.Getenv(racyVar)]; ok {
		own := goruntime.OwnRaceContext()
		swapped = goruntime.NewRaceContext(own, 0)
		use.do(swap)
		swap()
		return
	}
	exe := testenv.Must(os.Executable())
	for name, use := range contextUses {
		cmd := exec.Command(exe, "-test.run=^TestRaceContexts$")
		cmd.Env = append(os.Environ(), fmt.Sprint(racyVar, "=", name), "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if got := strings.Contains(string(out), "DATA RACE"); got != use.racy ||
			(err != nil) != use.racy {
			t.Errorf("%s: race %v, want %v; %v\n%.2000s", name, got, use.racy, err, out)
		}
	}
}
