package scheduler_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// TestBurstSpreads: a thousand starts in a row are spread over the Processors.
// In the C++ netco all of them landed on one thread.
func TestBurstSpreads(t *testing.T) {
	for _, processors := range []int{2, 4} {
		burst(t, processors)
	}
}

func burst(t *testing.T, processors int) {
	const n = 1000
	s := start(t, scheduler.Options{Processors: processors})
	on := make([]atomic.Int32, processors)
	var held, begun atomic.Int32
	var sent atomic.Bool
	var wg sync.WaitGroup
	wg.Add(n)
	// No Processor adopts a start before all are submitted, however little CPU
	// time the test gets. No Processor is idle, so none steals.
	for i := range processors {
		s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: func() {
			for held.Add(1); !sent.Load(); {
				runtime.Gosched()
			}
			for begun.Load() < n {
				coroutine.Yield()
			}
		}})
	}
	testenv.Until(t, "all to be held", func() bool { return held.Load() == int32(processors) })
	for range n {
		s.Go(func() {
			defer wg.Done()
			on[processor.Current().Index()].Add(1)
			for begun.Add(1); begun.Load() < n; { // all live at the same time
				processor.Sleep(time.Millisecond)
			}
		})
	}
	sent.Store(true)
	wg.Wait()
	for i := range on {
		if got := on[i].Load(); int(got) < n/processors/8 {
			t.Errorf("%d Processors: %d of %d ran on number %d", processors, got, n, i)
		}
	}
	shutdown(t, s)
}

// TestStayWhereStarted: a coroutine that is started with Local or On runs on
// that Processor, and is not stolen however long the Processor's thread is
// busy.
func TestStayWhereStarted(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 3})
	for i := range 3 {
		var wrong atomic.Int32
		here := func() {
			for range 3 {
				if processor.Current().Index() != i {
					wrong.Add(1)
				}
				coroutine.Yield()
			}
		}
		var all []coroutine.Handle
		busy, outside := make(chan struct{}), make(chan struct{})
		h, err := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: func() {
			for range 100 {
				a, _ := s.GoWith(scheduler.Spawn{Local: true, Fn: here})
				b, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: here})
				all = append(all, a, b)
			}
			close(busy)
			<-outside                        // blocks this thread,
			time.Sleep(5 * time.Millisecond) // while the others have nothing to do
		}})
		testenv.OK(t, err)
		<-busy
		for n := range 100 {
			h := testenv.Must(s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: here}))
			all = append(all, h)
			// A coroutine that may run anywhere attracts stealing Processors.
			if h, _ = s.Go(func() {}); n%2 == 0 {
				all = append(all, h)
			}
		}
		close(outside)
		for _, h := range append(all, h) {
			h.Join()
		}
		testenv.Equal(t, wrong.Load(), 0, "times on another Processor than", i)
	}
	shutdown(t, s)
}

// TestIdleProcessorsHelp: coroutines whose maker then computes without a pause
// run on other Processors.
func TestIdleProcessorsHelp(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	h, _ := s.Go(func() {
		var done atomic.Int32
		for range 50 {
			s.Go(func() { done.Add(1) })
		}
		for done.Load() < 50 { // does not yield
		}
	})
	h.Join()
	shutdown(t, s)
}
