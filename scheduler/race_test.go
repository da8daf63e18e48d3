package scheduler_test

import (
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestHandoffIsOrdered: a coroutine's writes to its Processor before it blocks
// outside netco come before the writes of the Processor's other coroutines
// after the handoff. Under -race a handoff that the detector takes for less
// fails.
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
				inherited.Set("") // writes to the coroutine's struct, which is reused
				startChild()      // writes to the Processor
				wait()
				coroutine.Yield()
			}))
			testenv.Fails(t, h.Join(), nil, "Join")
			shutdown(t, s)
			testenv.Equal(t, children.Load(), 2, "children")
		})
	}
}
