package scheduler_test

import (
	"context"
	"runtime/debug"
	"runtime/pprof"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestStartsClean: a coroutine starts with its maker's profiler labels, as a
// goroutine does, and with SetPanicOnFault off. It used to start with the
// settings of the previous coroutine on its goroutine.
func TestStartsClean(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2, Watchdog: -1})
	dirty := func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(),
			pprof.Labels("left", "behind")))
		debug.SetPanicOnFault(true)
	}
	starts := starters(s)
	starts["Fiber"] = func(fn func()) (coroutine.Handle, error) {
		_, err := coroutine.New(func(*coroutine.Yielder[int, int], int) int {
			fn()
			return 0
		}).Resume(0)
		return coroutine.Handle{}, err
	}
	check := func(where string) {
		for name, start := range starts {
			labelled := func(context.Context) {
				mine := goruntime.Labels()
				for range 5 {
					testenv.Must(start(func() {
						testenv.Equal(t, goruntime.Labels(), mine, where, name,
							"it has other labels than its maker")
						testenv.True(t, !debug.SetPanicOnFault(false),
							"%s, %s: SetPanicOnFault is on", where, name)
						dirty()
					})).Join()
				}
				testenv.Equal(t, goruntime.Labels(), mine, where, name,
					"it has changed its maker's labels")
			}
			labelled(context.Background())
			pprof.Do(context.Background(), pprof.Labels("maker", name), labelled)
		}
	}
	check("on a goroutine")
	s.Run(scheduler.Spawn{Fn: func() { check("in a coroutine") }})
}
