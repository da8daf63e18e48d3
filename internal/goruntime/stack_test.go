package goruntime_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// callsOf returns the calls of the goroutine g, if it is blocked.
func callsOf(g uintptr) []runtime.Frame {
	var pcs [64]uintptr
	return goruntime.Frames(pcs[:goruntime.StackOf(g, pcs[:])])
}

func names(calls []runtime.Frame) (names []string) {
	for _, f := range calls {
		names = append(names, f.Function)
	}
	return names
}

// blocksHere calls what blocks in a call of its own, and returns that one's
// line.
//
//go:noinline
func blocksHere(line *atomic.Int64, block func()) {
	_, _, here, _ := runtime.Caller(0)
	line.Store(int64(here))
	block() // two lines below
}

// TestStackOf: the calls of a blocked goroutine, whatever it waits for, down to
// the one that its go statement names, with their lines.
func TestStackOf(t *testing.T) {
	findStandings(t)
	for _, c := range waits(t) {
		t.Run(c.name, func(t *testing.T) {
			var line atomic.Int64
			g, end := started(func() { blocksHere(&line, c.block) })
			awaitStanding(t, g, c.state, goruntime.Blocked)
			var calls []runtime.Frame
			var i int
			// A goroutine that sleeps may be between two.
			for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
				calls = callsOf(g)
				i = slices.IndexFunc(calls, func(f runtime.Frame) bool {
					return strings.HasSuffix(f.Function, ".blocksHere")
				})
				if i > 0 || time.Now().After(end) {
					break
				}
			}
			if i <= 0 || calls[i].Line != int(line.Load())+2 || !strings.HasSuffix(calls[i].File,
				"/stack_test.go") || calls[len(calls)-1].Function != "runtime.goexit" {
				t.Errorf("blocked two lines below %d: %v", line.Load(), calls)
			}
			c.free()
			end()
			if calls := callsOf(g); len(calls) > 0 {
				t.Errorf("one that has ended is in %v", names(calls))
			}
		})
	}
}

// inlined is a call that the compiler puts into its caller.
func inlined(mu *sync.Mutex) { mu.Lock() }

// TestStackOfInlined: calls that the compiler has inlined are there.
func TestStackOfInlined(t *testing.T) {
	findStandings(t)
	var mu sync.Mutex
	mu.Lock()
	g, end := started(func() { inlined(&mu) })
	awaitStanding(t, g, "sync.Mutex.Lock", goruntime.Blocked)
	got := names(callsOf(g))
	for _, want := range []string{"sync.(*Mutex).Lock",
		"github.com/netco-go/netco/internal/goruntime_test.inlined"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %v", want, got)
		}
	}
	mu.Unlock()
	end()
}

// one and other each wait for a mutex from their own calls, at the same depth.
//
//go:noinline
func one(mu *sync.Mutex, deeper func()) { oneInner(mu); deeper() }

//go:noinline
func oneInner(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

//go:noinline
func other(mu *sync.Mutex, deeper func()) { otherInner(mu); deeper() }

//go:noinline
func otherInner(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

// TestStackOfRunning: a goroutine that wakes and blocks all the time, while its
// stack grows and shrinks, is in one of the places that it blocks in, or
// nothing is known: never in a mixture.
func TestStackOfRunning(t *testing.T) {
	findStandings(t)
	var mu sync.Mutex
	var stop atomic.Bool
	g, end := started(func() {
		for i := 0; !stop.Load(); i++ {
			if i%2 == 0 {
				one(&mu, runtime.Gosched)
			} else {
				other(&mu, runtime.Gosched)
			}
			if i%16 < 2 {
				deep(1+i%1000, runtime.Gosched)
			}
		}
	})
	_, collected := started(func() {
		for !stop.Load() {
			runtime.GC() // which moves stacks
		}
	})
	_, held := started(func() {
		for !stop.Load() {
			mu.Lock()
			for range 10 {
				runtime.Gosched()
			}
			mu.Unlock()
		}
	})
	known := map[string]int{}
	begun, least := time.Now(), time.Duration(testenv.Rounds(500))*time.Millisecond
	enough := func() bool {
		return known["oneInner in one"] >= 50 && known["otherInner in other"] >= 50 &&
			time.Since(begun) > least
	}
	for !enough() && time.Since(begun) < 20*time.Second {
		var where []string
		for _, name := range names(callsOf(g)) {
			if name = name[strings.LastIndexByte(name, '.')+1:]; slices.Contains([]string{"one",
				"oneInner", "other", "otherInner"}, name) {
				where = append(where, name)
			}
		}
		known[strings.Join(where, " in ")]++
	}
	stop.Store(true)
	end()
	held()
	collected()
	t.Log(known)
	for where := range known {
		if where != "" && where != "oneInner in one" && where != "otherInner in other" {
			t.Errorf("%d times %s", known[where], where)
		}
	}
	if !enough() {
		t.Error("it was seldom seen blocked")
	}
}
