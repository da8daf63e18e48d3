package scheduler_test

import (
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestHandoffIsOrdered: what a coroutine did to its Processor before it blocked
// outside netco comes before what the Processor's others do to it after the
// handoff. Under -race any wait in which the detector learns of less is a
// failure.
func TestHandoffIsOrdered(t *testing.T) {
	needHandoff(t)
	for _, b := range blockers {
		t.Run(b.name, func(t *testing.T) {
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
			h := testenv.Must(s.Go(func() {
				inherited.Set("") // of the coroutine's own, for the next one that gets its struct
				startChild()      // of the Processor's
				wait()
				coroutine.Yield()
			}))
			testenv.Fails(t, h.Join(), nil, "Join")
			shutdown(t, s)
			testenv.Equal(t, children.Load(), 2, "children")
		})
	}
}
