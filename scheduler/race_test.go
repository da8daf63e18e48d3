package scheduler_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/scheduler"
)

// raceChild returns what a child does: two coroutines of different Processors
// write a variable at the same time, or one after the other by Join.
func raceChild(ordered bool) func() {
	return func() {
		s, _ := scheduler.New(two)
		s.Start()
		for range 5 {
			var shared int
			at := time.Now().Add(20 * time.Millisecond) // a rendezvous that orders nothing
			write := func() {
				for !ordered && time.Now().Before(at) {
				}
				for range 10_000 {
					shared++
					coroutine.Yield()
				}
			}
			a, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: write})
			b, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(1), Fn: func() {
				if ordered {
					a.Join()
				}
				write()
			}})
			b.Join()
			a.Join()
			fmt.Println("shared:", shared)
		}
	}
}

// TestUsersRacesAreFound: the detector learns of netco's switches, and not of
// more than is true.
func TestUsersRacesAreFound(t *testing.T) {
	if !goruntime.RaceEnabled {
		t.Skip("needs -race")
	}
	if out, _ := child(t, "race"); !strings.Contains(out, "DATA RACE") ||
		!strings.Contains(out, "race_test.go") {
		t.Errorf("two Processors write a variable, and it is not found:\n%.2000s", out)
	}
	if out, _ := child(t, "no race"); strings.Contains(out, "DATA RACE") {
		t.Errorf("what Join orders is called a race:\n%.4000s", out)
	}
}

// TestHandingOverIsOrdered hands plain variables over in each way that orders;
// under -race any that netco forgot to report to the detector is a failure.
func TestHandingOverIsOrdered(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	for range scaled(500) {
		n := 0
		// Start from a goroutine, Join by a goroutine.
		h, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
			n++
			// Start on another Processor, Join by a coroutine.
			h, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(1), Fn: func() { n++ }})
			h.Join()
			// The same Processor.
			h, _ = with(s, scheduler.Spawn{Local: true})(func() { n++; coroutine.Yield(); n++ })
			h.Join()
			n++
			// Ready from another Processor, from a goroutine.
			for _, other := range []func(f func()){
				func(f func()) { s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(1), Fn: f}) },
				func(f func()) { go f() },
			} {
				w := coroutine.AcquireWaiter()
				other(func() { n++; w.Wake() })
				w.Park(coroutine.ReasonUser)
				w.Release()
			}
			n++
		}})
		h.Join()
		if n != 8 {
			t.Fatalf("n is %d", n)
		}
		// The end of everything.
		if err := s.Run(scheduler.Spawn{Fn: func() {
			s.Go(func() { coroutine.Yield(); n = 100 })
		}}); err != nil || n != 100 {
			t.Fatalf("n is %d after Run: %v", n, err)
		}
	}
	var wg sync.WaitGroup // an ordinary goroutine wakes and is woken
	wg.Add(2)
	var w *coroutine.Waiter
	ready := make(chan struct{})
	shared := 0
	go func() {
		defer wg.Done()
		w = coroutine.AcquireWaiter()
		close(ready)
		w.Park(coroutine.ReasonUser)
		shared++
		w.Release()
	}()
	<-ready
	s.Go(func() { defer wg.Done(); shared++; w.Wake() })
	wg.Wait()
	if shared != 2 {
		t.Errorf("shared is %d", shared)
	}
	shutdown(t, s)
}

// TestHandoffIsOrdered: what a coroutine did to its Processor before it blocked
// outside netco comes before what the Processor's others do to it after the
// handoff. Under -race any wait in which the detector learns of less is a
// failure.
func TestHandoffIsOrdered(t *testing.T) {
	needHandoff(t)
	for _, b := range blockers {
		t.Run(b.name, func(t *testing.T) {
			within(t, 5*time.Minute)
			wait, release := b.make(t)
			s := start(t, scheduler.Options{Processors: 1})
			var children atomic.Int32
			startChild := func() {
				s.GoWith(scheduler.Spawn{Local: true, Fn: func() {
					children.Add(1)
				}})
			}
			s.Go(func() {
				for handoffs(s) == 0 {
					coroutine.Yield()
				}
				startChild()
				release()
			})
			h, err := s.Go(func() {
				inherited.Set("") // of the coroutine's own, for the next one that gets its struct
				startChild()      // of the Processor's
				wait()
				coroutine.Yield()
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Join(); err != nil {
				t.Error("Join:", err)
			}
			shutdown(t, s)
			if children.Load() != 2 {
				t.Errorf("%d children", children.Load())
			}
		})
	}
}
