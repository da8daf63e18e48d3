package coroutine_test

import (
	"fmt"
	"math"

	"github.com/netco-go/netco/coroutine"
)

// host is what an executor needs around it. A Processor would have an inbox and
// timers here, and coroutines that move.
type host struct{ coroutine.Host }

func (host) Post(*coroutine.Coroutine) { panic("nobody wakes from another thread") }
func (host) ParkUntil(*coroutine.Coroutine, coroutine.Reason, int64) coroutine.Wake {
	panic("no timers")
}
func (host) Panicked(*coroutine.Coroutine, any, []byte) bool { return false }

// An executor on the calling goroutine: one coroutine parks, another makes it
// ready.
func Example() {
	var ex coroutine.Executor
	ex.Init(coroutine.Config{Host: host{}, Idle: 4})
	ex.Enter()
	ex.Spawn(coroutine.Spawn{Fn: func() {
		w := coroutine.AcquireWaiter() // published to its waker
		ex.Spawn(coroutine.Spawn{Fn: func() {
			fmt.Println("waking")
			w.Wake()
		}, Name: "waker"})
		w.Park(coroutine.ReasonUser)
		w.Release()
		fmt.Println("woken")
	}, Name: "sleeper"})
	for ex.Stats.Live.Load() > 0 {
		ex.Run(256, math.MaxInt64)
	}
	ex.Leave()
	// Output:
	// waking
	// woken
}

func ExampleHandle_Join() {
	var ex coroutine.Executor
	ex.Init(coroutine.Config{Host: host{}, Idle: 4})
	ex.Enter()
	ex.Spawn(coroutine.Spawn{Fn: func() {
		h := ex.Spawn(coroutine.Spawn{Fn: func() { fmt.Println("first") }}).Handle()
		fmt.Println(h.Join(), h.Done())
	}})
	for ex.Stats.Live.Load() > 0 {
		ex.Run(256, math.MaxInt64)
	}
	ex.Leave()
	// Output:
	// first
	// <nil> true
}
