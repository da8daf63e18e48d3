package processor

import (
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// BenchmarkRemoteWake is a round trip between a goroutine and a coroutine, on a
// Processor with others that are always ready and compute for 5 µs at a time.
func BenchmarkRemoteWake(b *testing.B) {
	for _, c := range []struct {
		name   string
		others int
	}{{"alone", 0}, {"10 others", 10}, {"100 others", 100}} {
		b.Run(c.name, func(b *testing.B) {
			p := started(b, 1).members[0]
			over := false // p's
			for range c.others {
				p.Pinned(func() {
					for !over {
						for end := clock.Now() + 5000; clock.Now() < end; {
						}
						coroutine.Yield()
					}
				})
			}
			waits, woken := make(chan *coroutine.Waiter, 1), make(chan int, 1)
			h := p.Pinned(func() {
				for {
					w := coroutine.AcquireWaiter()
					waits <- w
					w.Park(coroutine.ReasonUser)
					w.Release()
					if over {
						return
					}
					woken <- 1
				}
			})
			for range b.N {
				(<-waits).Wake()
				<-woken
			}
			p.Pinned(func() { over = true }).Join()
			(<-waits).Wake()
			h.Join()
		})
	}
}
