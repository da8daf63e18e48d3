package processor

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
)

// TestWakeAgainstSleepHammer wakes a Processor's only coroutine, or gives it a
// new one, at random times around the moment at which it goes to sleep: between
// its last look at its inboxes and epoll. A wake that is lost there is a hang.
func TestWakeAgainstSleepHammer(t *testing.T) {
	within(t, 3*time.Minute)
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
			var last atomic.Bool
			h := p.Pinned(func() {
				for !last.Load() {
					w := coroutine.AcquireWaiter()
					waiter.Store(w)
					w.Park(coroutine.ReasonUser)
					w.Release()
				}
			})
			spin := func(n *int) { // with one CPU the other side runs only if this one lets it
				if *n++; *n%1000 == 0 {
					runtime.Gosched()
				}
			}
			delay := func() {
				for range rand.IntN(400) {
					_ = waiter.Load()
				}
			}
			for i, began := 0, time.Now(); !last.Load(); i++ {
				var w *coroutine.Waiter
				for n := 0; w == nil; spin(&n) {
					w = waiter.Swap(nil)
				}
				delay()
				// As many rounds as a busy machine gets done. Before the wake,
				// so that no waiter comes after it.
				last.Store(i == rounds-1 || i > 1000 && time.Since(began) > 10*time.Second)
				w.Wake()
				if i%4 == 0 {
					var ran atomic.Bool
					p.Spawn(nil, Spawn{Fn: func() { ran.Store(true) }, Pinned: i%8 == 0, Unlimited: true})
					for n := 0; !ran.Load(); spin(&n) {
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
