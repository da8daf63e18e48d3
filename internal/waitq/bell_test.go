package waitq_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/internal/waitq"
)

// TestBell: no ring is lost, none is left over, and a wait ends at its time.
func TestBell(t *testing.T) {
	testrun.Start(t, 2)
	for _, p := range testrun.Places {
		p.Do(t, func() { ringBell(t, p) })
	}
}

func ringBell(t *testing.T, p testrun.Place) {
	rounds := testenv.Rounds(5000)
	var b waitq.Bell
	var rings sync.WaitGroup
	for i := range rounds {
		var ready atomic.Bool
		for range 2 {
			rings.Go(func() {
				ready.Store(true)
				b.Ring()
			})
		}
		if i%2 == 0 {
			// The time may pass at the moment when the bell rings.
			b.Wait(coroutine.ReasonUser, clock.Now()+int64(i%50)*1000, ready.Load)
		}
		if err := b.Wait(coroutine.ReasonUser, 0, ready.Load); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	over := make(chan struct{})
	go func() {
		rings.Wait()
		close(over)
	}()
	testenv.Until(t, "the rings to be heard", func() bool {
		netco.Yield()
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	never := func() bool { return false }
	if err := b.Wait(coroutine.ReasonUser, clock.Now()+1000, never); err != nil {
		t.Errorf("%s: %v", p.Name, err)
	}
}

// TestBellAtOnce: a ring just before the waiter can be found is not lost, and
// one just after is not left over.
func TestBellAtOnce(t *testing.T) {
	testrun.Start(t, 2)
	for _, p := range testrun.Places {
		p.Do(t, func() { ringAtOnce(t, p) })
	}
}

func ringAtOnce(t *testing.T, p testrun.Place) {
	for _, at := range []int{1, 2} {
		for range 100 {
			var b waitq.Bell
			asked, rung := 0, false
			if err := b.Wait(coroutine.ReasonUser, 0, func() bool {
				was := rung
				if asked++; asked == at {
					rung = true
					b.Ring() // as another waker would, at this moment
					return at == 2
				}
				return was
			}); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}
