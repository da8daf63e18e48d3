package scheduler_test

import (
	"runtime"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestBurstIsForgotten: a Processor that sleeps keeps no coroutine of a burst
// in memory. After 500,000 coroutines it kept 104 MiB.
func TestBurstIsForgotten(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1, Watchdog: -1})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	burst := func(n int) {
		s.Run(scheduler.Spawn{Fn: func() {
			for range n {
				s.GoWith(scheduler.Spawn{Local: true, Fn: func() {}})
			}
		}})
	}
	burst(100)
	before := heap()
	burst(50_000) // of some 200 bytes each
	testenv.Until(t, "the heap to shrink", func() bool { return heap() < before+4<<20 })
}
