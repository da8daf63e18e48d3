package blocking_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// whereItHappens panics; its name is looked for in the stack.
//
//go:noinline
func whereItHappens(v any) { panic(v) }

// caught returns what f panics with.
func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// TestPanic: a coroutine panics with the function's panic and its stack.
func TestPanic(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	for _, where := range testrun.Coroutines {
		for _, c := range []struct {
			name  string
			value any // nil: whatever it is, but an error
			call  func()
		}{
			{"a text", "text", func() { p.Do(bg, func() { whereItHappens("text") }) }},
			{"an error", errOwn, func() {
				callOn(bg, p, func() (_ int, _ error) { whereItHappens(errOwn); return })
			}},
			{"nil", nil, func() { p.Do(bg, func() { whereItHappens(nil) }) }},
			{"the runtime's", nil, func() {
				p.Do(bg, func() {
					// A panic in a deferred call is as good.
					defer func() { whereItHappens(recover()) }()
					var none []int
					none[p.Stats().Queued]++
				})
			}},
			{"in a Goexit", "late", func() {
				p.Do(bg, func() {
					defer whereItHappens("late")
					runtime.Goexit()
				})
			}},
		} {
			where.Do(t, func() {
				v := caught(c.call)
				e, ok := v.(*netco.PanicError)
				if !ok {
					t.Errorf("%s: panic with %T %v", c.name, v, v)
					return
				}
				if c.value != nil && e.Value != c.value {
					t.Errorf("%s: value %v, want %v", c.name, e.Value, c.value)
				}
				if _, isError := e.Value.(error); isError && !errors.Is(e, e.Value.(error)) ||
					!isError && c.value == nil {
					t.Errorf("%s: not the error %v", c.name, e.Value)
				}
				for _, text := range []string{string(e.Stack), e.Error()} {
					if !strings.Contains(text, "whereItHappens") ||
						!strings.Contains(text, "panic_test.go") {
						t.Errorf("%s: the stack does not show where it happened:\n%s", c.name, text)
					}
				}
				n, err := callOn(bg, p, func() (int, error) { return 1, nil })
				if n != 1 || err != nil {
					t.Errorf("after %s: %d, %v", c.name, n, err)
				}
			})
		}
	}
}

// TestPanicReachesOnPanic: a panic that the coroutine does not recover either
// is reported with both stacks.
func TestPanicReachesOnPanic(t *testing.T) {
	p := pool(t, 1)
	infos := make(chan netco.PanicInfo, 1)
	testrun.StartWith(t, netco.Options{Processors: 1, OnPanic: func(i netco.PanicInfo) {
		infos <- i
	}})
	testrun.First.Go(func() { callsTheFunction(p) }).Wait(t)
	info := testenv.Await(t, infos, "OnPanic")
	e, ok := info.Value.(*netco.PanicError)
	if !ok || e.Value != "text" || !strings.Contains(string(e.Stack), "whereItHappens") {
		t.Errorf("value %v", info.Value)
	}
	if !strings.Contains(string(info.Stack), "callsTheFunction") {
		t.Errorf("stack does not show the caller:\n%s", info.Stack)
	}
}

//go:noinline
func callsTheFunction(p *blocking.Pool) { p.Do(bg, func() { whereItHappens("text") }) }

// TestGoexit: a Goexit in the function ends its caller, deferred calls and all,
// and the next call of the queue is started.
func TestGoexit(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	for _, where := range testrun.Places {
		deferred, after := false, false
		where.Do(t, func() {
			defer func() { deferred = recover() == nil }()
			p.Do(bg, runtime.Goexit)
			after = true
		})
		if !deferred || after {
			t.Errorf("%s: deferred calls ran: %v, what follows ran: %v", where.Name,
				deferred, after)
		}
	}
	exact(t, p, blocking.Stats{Done: 2}, "after two Goexits")

	// Others wait for its place.
	g := newGate()
	first := testrun.First.Go(func() { p.Do(bg, func() { g.pass(); runtime.Goexit() }) })
	testenv.Await(t, g.entered, "the function")
	var rest []*testrun.Task
	for i := range 4 {
		rest = append(rest, testrun.Coroutines[i%2].Go(func() {
			testenv.NoError(t, p.Do(bg, func() {}))
		}))
		rest[i].UntilParked(t, coroutine.ReasonBlocking)
	}
	close(g.opened)
	first.Wait(t)
	testrun.WaitAll(t, rest...)
	exact(t, p, blocking.Stats{Done: 7}, "after all")
}

// TestPanicNil: under GODEBUG=panicnil=1 a panic(nil) is delivered as a panic.
// It was taken for a Goexit, and ended the caller.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	testrun.Start(t, 1)
	p := pool(t, 1)
	netco.Run(func() {
		defer func() {
			err, _ := recover().(error)
			if nilError := new(runtime.PanicNilError); !errors.As(err, &nilError) {
				t.Errorf("panicked with %v", err)
			}
		}()
		p.Do(bg, func() { panic(nil) })
	})
}

var children = testenv.Children{
	"left by context":  leftByContext,
	"left by shutdown": leftByShutdown,
	"not recovered":    notRecovered,
}

// TestCrash: a panic in an abandoned call ends the program as any does, and
// shows where it happened.
func TestCrash(t *testing.T) {
	for name := range children {
		t.Run(name, func(t *testing.T) {
			cmd := children.Command(t, name)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("ended with %v", err)
			}
			for _, want := range []string{"panic: ", "text", "whereItHappens", "panic_test.go"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if n := strings.Count(string(out), "panic: "); n != 1 {
				t.Errorf("%d panics:\n%s", n, out)
			}
			if strings.Contains(string(out), "goes on") {
				t.Errorf("it went on:\n%s", out)
			}
		})
	}
}

func leftByContext() {
	var p blocking.Pool
	left := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	netco.Go(func() {
		p.Do(ctx, func() {
			cancel()
			<-left
			whereItHappens("text")
		})
		close(left)
	})
	time.Sleep(limit)
	fmt.Println("goes on")
}

func leftByShutdown() {
	entered, left := make(chan struct{}), make(chan struct{})
	netco.Go(func() {
		blocking.Do(bg, func() {
			close(entered)
			<-left
			whereItHappens("text")
		})
	})
	<-entered
	netco.Shutdown(testenv.Over())
	close(left)
	time.Sleep(limit)
	fmt.Println("goes on")
}

// notRecovered panics for a caller that still waits, which panics in turn.
func notRecovered() {
	netco.Go(func() { blocking.Do(bg, func() { whereItHappens("text") }) })
	time.Sleep(limit)
	fmt.Println("goes on")
}
