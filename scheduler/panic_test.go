package scheduler_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

type brokenError struct{}

func (brokenError) Error() string { panic("Error itself panics") }

// explosive panics; its name must be in the stack.
//
//go:noinline
func explosive(value any) { panic(value) }

var noMap map[int]int

//go:noinline
func nilMap() { noMap[1] = 2 }

// crashing returns a child that runs fn as a named coroutine of a Scheduler.
//
//go:noinline
func crashing(o scheduler.Options, fn func()) func() {
	return func() {
		s := testenv.Must(scheduler.New(o))
		testenv.MustOK(s.Start())
		sp := coroutine.SpawnAt(fn, asm.CallerPC())
		sp.Name = "bomb"
		fmt.Println("survived:", s.Run(sp))
		os.Exit(0)
	}
}

var two = scheduler.Options{Processors: 2}

// children are what child processes do.
var children = testenv.Children{
	"string": crashing(two, func() { explosive("boom") }),
	"error":  crashing(two, func() { explosive(errors.New("an error value")) }),
	"after switches": crashing(two, func() {
		for range 100 {
			coroutine.Yield()
			processor.Sleep(1)
		}
		explosive("boom")
	}),
	"wrapped":      crashing(two, func() { explosive(fmt.Errorf("outer: %w", os.ErrNotExist)) }),
	"nil":          crashing(two, func() { explosive(nil) }),
	"runtime":      crashing(two, nilMap),
	"number":       crashing(two, func() { explosive(42) }),
	"broken error": crashing(two, func() { explosive(brokenError{}) }),
	"deferred": crashing(two, func() {
		defer explosive("from a deferred call")
		runtime.Goexit()
	}),
	"locked": crashing(scheduler.Options{Processors: 1, LockThreads: true}, func() {
		explosive("boom")
	}),
	"handler panics": crashing(scheduler.Options{OnPanic: func(scheduler.PanicInfo) {
		explosive("the handler's own")
	}},
		func() { panic("boom") }),
	"handler exits": crashing(scheduler.Options{OnPanic: func(scheduler.PanicInfo) {
		runtime.Goexit()
	}},
		func() { explosive("boom") }),
	"while unwinding": func() {
		s, _ := scheduler.New(two)
		s.Start()
		s.Go(func() {
			defer explosive("boom")
			processor.Sleep(1 << 50)
		})
		s.Shutdown(testenv.Over())
		fmt.Println("survived")
		os.Exit(0)
	},
	"locked, waits": crashing(two, func() {
		runtime.LockOSThread()
		processor.Sleep(1)
	}),
	"locked, yields": crashing(scheduler.Options{Processors: 1}, func() {
		scheduler.Current().GoWith(scheduler.Spawn{Local: true, Fn: func() {}})
		runtime.LockOSThread()
		coroutine.YieldTurn()
	}),
	"locked, ends": crashing(two, runtime.LockOSThread),
}

// TestPanicCrashes: a panic in a coroutine ends the program as one in a
// goroutine does.
func TestPanicCrashes(t *testing.T) {
	for name, want := range map[string]string{
		"string":         "panic: boom",
		"error":          "panic: an error value",
		"after switches": "panic: boom",
		"wrapped":        "panic: outer: file does not exist",
		// Go releases differ in the words before it.
		"nil":             "panic called with nil argument",
		"runtime":         "panic: assignment to entry in nil map",
		"number":          "panic: 42",
		"broken error":    "panic: ",
		"deferred":        "panic: from a deferred call",
		"locked":          "panic: boom",
		"handler panics":  "panic: the handler's own",
		"handler exits":   "panic: boom",
		"while unwinding": "panic: boom",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, status := child(t, name)
			testenv.Equal(t, status, 2, "exit status N")
			guilty := "scheduler_test.explosive"
			if name == "runtime" {
				guilty = "scheduler_test.nilMap"
			}
			wants := []string{want, guilty, "in netco coroutine "}
			if name != "while unwinding" {
				wants = append(wants, `"bomb" created at `, "panic_test.go:")
			}
			for _, want := range wants {
				testenv.True(t, strings.Contains(out, want), "the output has no %q", want)
			}
			if t.Failed() {
				t.Logf("%.3000s", out)
			}
		})
	}
}

// TestLockedIsNamed: the runtime ends the program if a coroutine gives up its
// thread while it holds LockOSThread. Before that netco names the coroutine.
func TestLockedIsNamed(t *testing.T) {
	if !asm.LocksKnown() {
		t.Skip("thread locks are not known with this Go release")
	}
	for name, want := range map[string]string{
		"locked, waits":  " waits while it holds runtime.LockOSThread",
		"locked, yields": " yields while it holds ",
		"locked, ends":   " ends while it holds ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, status := child(t, name)
			said := strings.Index(out, `netco: coroutine `)
			thrown := strings.Index(out, "fatal error: coro: OS thread locking must match")
			testenv.True(t, status == 2 && said >= 0 && thrown >= said,
				"exit status %d; netco's line at %d, the runtime's at %d:\n%.3000s", status, said,
				thrown, out)
			line, _, _ := strings.Cut(out[max(said, 0):], "\n")
			testenv.True(t, strings.Contains(line, `"bomb" created at `) &&
				strings.Contains(line, "main_test.go:") && strings.Contains(line, want),
				"it says %q", line)
		})
	}
}

// TestOnPanic: with a handler the program goes on. The handler gets the
// coroutine that panicked, the value and the stack, and the coroutine can be
// joined.
func TestOnPanic(t *testing.T) {
	var mu sync.Mutex
	var infos []scheduler.PanicInfo
	s := start(t, scheduler.Options{Processors: 2, OnPanic: func(info scheduler.PanicInfo) {
		if co := coroutine.Current(); co == nil || co.ID() != info.Coroutine {
			t.Error("the handler does not run on the coroutine")
		}
		coroutine.Yield() // a handler may wait
		mu.Lock()
		defer mu.Unlock()
		infos = append(infos, info)
	}})
	ids := make(map[uint64]int)
	deferred := 0
	for i := range 100 {
		sp := scheduler.Spawn{Name: fmt.Sprint("bomb ", i), On: scheduler.OnProcessor(1)}
		sp.Fn = func() {
			defer func() { deferred++ }()
			coroutine.Yield()
			switch i % 3 {
			case 0:
				explosive(i)
			case 1:
				explosive(nil)
			case 2:
				nilMap()
			}
		}
		h := testenv.Must(s.GoWith(sp))
		ids[h.ID()] = i
		testenv.NoError(t, h.Join())
	}
	if len(infos) != 100 || deferred != 100 {
		t.Fatalf("%d panics handled, %d deferred calls", len(infos), deferred)
	}
	for _, info := range infos {
		i, known := ids[info.Coroutine]
		testenv.True(t, known && info.Name == fmt.Sprint("bomb ", i) && info.Processor == 1,
			"coroutine %d %q on %d", info.Coroutine, info.Name, info.Processor)
		checkBomb(t, i, info)
	}
	testenv.Equal(t, engine.Of(s).Processors()[1].Coroutines().Panics.Load(), 100, "panics counted")
	shutdown(t, s)
}

// checkBomb checks the value and the stack that the handler gets from bomb i.
func checkBomb(t *testing.T, i int, info scheduler.PanicInfo) {
	ok, guilty := false, "explosive"
	switch i % 3 {
	case 0:
		ok = info.Value == i
	case 1:
		_, ok = info.Value.(*runtime.PanicNilError)
	case 2:
		_, ok = info.Value.(runtime.Error)
		guilty = "nilMap"
	}
	testenv.True(t, ok, "panic %d has the value %v", i, info.Value)
	testenv.True(t, strings.Contains(string(info.Stack), guilty), "the stack lacks %s:\n%s", guilty,
		info.Stack)
}
