package processor

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
)

// TestWakeAgainstSleepHammer wakes a Processor's only coroutine, or gives it a new one, at random times around the moment
// at which it goes to sleep: between its last look at its inboxes and epoll. A wake that is lost there is a hang.
func TestWakeAgainstSleepHammer(t *testing.T) {
	within(t, time.Minute)
	for name, spin := range map[string]bool{"spin": true, "no spin": false} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, 1)
			p := g.members[0]
			p.spin.off = !spin
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer end(g)
			rounds := scaled(40_000)
			var waiter atomic.Pointer[coroutine.Waiter]
			h := p.Submit(nil, func() {
				for range rounds {
					w := coroutine.AcquireWaiter()
					waiter.Store(w)
					w.Park(coroutine.ReasonUser)
					w.Release()
				}
			}, "", 0, true)
			delay := func() {
				for range rand.IntN(400) {
					_ = waiter.Load()
				}
			}
			for i := range rounds {
				var w *coroutine.Waiter
				for w == nil {
					w = waiter.Swap(nil)
				}
				delay()
				w.Wake()
				if i%4 == 0 {
					var ran atomic.Bool
					p.Submit(nil, func() { ran.Store(true) }, "", 0, i%8 == 0)
					for !ran.Load() {
					}
				}
			}
			h.Join()
			if p.Stats.Sleeps.Load() == 0 {
				t.Error("it never slept")
			}
			t.Logf("%d sleeps, %d rings in %d rounds", p.Stats.Sleeps.Load(), p.ep.Stats.Rings.Load(), rounds)
		})
	}
}
