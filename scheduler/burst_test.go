package scheduler_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestBurstIsForgotten: a Processor that sleeps holds none of the coroutines of
// a burst: after 500,000 it held 104 MiB.
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
	var after uint64
	// It is about to sleep.
	for end := time.Now().Add(testenv.Limit); time.Now().Before(end); time.Sleep(
		time.Millisecond) {
		if after = heap(); after < before+4<<20 {
			return
		}
	}
	t.Errorf("the heap: %d before, %d after", before, after)
}
