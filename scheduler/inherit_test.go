package scheduler_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// startersInside are all ways in which a coroutine starts another.
func startersInside(s *scheduler.Scheduler) map[string]starter {
	var own scheduler.Spawn
	own.Unlimited = true
	all := starters(s)
	all["Child"] = with(s, scheduler.Spawn{Child: true})
	all["the library's"] = with(s, own)
	all["coroutine.Start"] = func(fn func()) (coroutine.Handle, error) {
		return coroutine.Start(coroutine.Spawn{Fn: fn})
	}
	return all
}

// TestInherit: a coroutine inherits from the coroutine that starts it, in
// whatever way, and not from others of its Processor.
func TestInherit(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2, Watchdog: -1})
	generation := coroutine.NewLocal(coroutine.LocalOptions[int]{Inherit: func(n *int) int {
		return *n + 1
	}})
	private := coroutine.NewLocal(coroutine.LocalOptions[int]{})
	for name, start := range startersInside(s) {
		child := func(want int, fn func()) {
			testenv.Must(start(func() {
				testenv.Equal(t, *generation.Get(), want, name, "inherits")
				testenv.Equal(t, private.Peek(), nil, name, "inherits what is not to be")
				private.Set(1)
				fn()
			})).Join()
		}
		testenv.NoError(t, s.Run(scheduler.Spawn{Fn: func() {
			testenv.Equal(t, generation.Peek(), nil, name, "before it has a value")
			generation.Set(1)
			child(2, func() {
				child(3, func() {})
				generation.Set(7)
				child(8, func() {})
			})
			testenv.Equal(t, *generation.Get(), 1, name, "its own, after its child's")
		}}))
	}
}

// TestInheritPanics: a start that fails because a Local's Inherit panics or
// calls Goexit does not count under MaxCoroutines, and the values inherited so
// far are dropped. Such a start used to count for ever.
func TestInheritPanics(t *testing.T) {
	var copies atomic.Int32
	counted := coroutine.NewLocal(coroutine.LocalOptions[int]{
		Inherit: func(*int) int { copies.Add(1); return 0 },
		Drop:    func(*int) { copies.Add(-1) },
	})
	bad := coroutine.NewLocal(coroutine.LocalOptions[string]{Inherit: func(how *string) string {
		switch *how {
		case "panic":
			panic("no")
		case "Goexit":
			runtime.Goexit()
		}
		return ""
	}})
	s := start(t, scheduler.Options{Processors: 2, MaxCoroutines: 2, Watchdog: -1})
	for name, start := range startersInside(s) {
		for _, how := range []string{"panic", "Goexit"} {
			err := s.Run(scheduler.Spawn{Fn: func() {
				for range 3 {
					// A fiber, since the start may end it by Goexit.
					f := coroutine.New(func(*coroutine.Yielder[int, int], int) int {
						counted.Set(1)
						copies.Add(1)
						bad.Set(how)
						start(func() { t.Error(name, how, "it has run") })
						t.Error(name, how, "it has started")
						return 0
					})
					var panicked *coroutine.PanicError
					func() {
						defer func() { panicked, _ = recover().(*coroutine.PanicError) }()
						testenv.Fails(t, testenv.Err(f.Resume(0)), coroutine.ErrGoexit, name, how,
							"Resume")
					}()
					testenv.True(t, (panicked != nil) == (how == "panic") &&
						(panicked == nil || panicked.Value == "no"), "%s, %s: panicked: %v", name,
						how, panicked)
				}
				runtime.GC() // collects the fibers
				h, err := start(func() {})
				testenv.Fails(t, err, nil, name, how, "a start after it")
				h.Join()
			}})
			if err != nil {
				t.Fatalf("%s, %s: Run: %v", name, how, err)
			}
			testenv.Equal(t, copies.Load(), 0, name, how, "inherited values were not dropped")
		}
	}
}

// TestPanicNil: panic(nil) counts as a panic under GODEBUG=panicnil=1, where
// recover returns nil. It used to count as a return.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	values := make(chan any, 10)
	s := start(t, scheduler.Options{Processors: 1, Watchdog: -1,
		OnPanic: func(p scheduler.PanicInfo) { values <- p.Value }})
	dropped := coroutine.NewLocal(coroutine.LocalOptions[int]{Drop: func(*int) { panic(nil) }})
	for name, f := range map[string]func(){
		"function": func() { panic(nil) },
		"deferred": func() { defer func() { panic(nil) }() },
		"Drop":     func() { dropped.Set(1) },
		"in Goexit": func() {
			defer func() { panic(nil) }()
			runtime.Goexit()
		},
	} {
		testenv.OK(t, s.Run(scheduler.Spawn{Fn: f}))
		select {
		case v := <-values:
			if _, ok := v.(*runtime.PanicNilError); !ok {
				t.Errorf("%s: OnPanic with %#v", name, v)
			}
		default:
			t.Errorf("%s: the panic has vanished", name)
		}
	}
	s.Run(scheduler.Spawn{Fn: func() { runtime.Goexit() }})
	s.Run(scheduler.Spawn{Fn: func() {
		defer func() {
			if _, ok := recover().(*coroutine.PanicError); !ok {
				t.Error("Resume has not panicked")
			}
			_, err := coroutine.New(func(*coroutine.Yielder[int, int], int) int {
				runtime.Goexit()
				return 0
			}).Resume(0)
			testenv.True(t, err == coroutine.ErrGoexit, "Resume of a Goexit: %v", err)
		}()
		coroutine.New(func(*coroutine.Yielder[int, int], int) int { panic(nil) }).Resume(0)
	}})
	if len(values) != 0 {
		t.Errorf("a Goexit was taken for a panic: %v", <-values)
	}
}
