package processor

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

func TestSleep(t *testing.T) {
	g := started(t, 1)
	times := []time.Duration{math.MinInt64, -1, 0, 1, time.Microsecond, 100 * time.Microsecond,
		3 * time.Millisecond}
	for _, d := range times {
		on(t, g.members[0], func() {
			start := clock.Now()
			Sleep(d)
			most := int64(max(d, 0) + 20*time.Second)
			if took := clock.Now() - start; took < int64(d) || took > most {
				t.Errorf("Sleep(%v) took %v", d, time.Duration(took))
			}
		})
		start := time.Now()
		Sleep(d) // on an ordinary goroutine
		took := time.Since(start)
		testenv.True(t, took >= d, "Sleep(%v) on a goroutine took %v", d, took)
	}
}

// TestSleepYields: a Sleep of no time lets others run.
func TestSleepYields(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	g := started(t, 1)
	on(t, g.members[0], func() {
		ran := false
		Current().PinnedHere(func() { ran = true })
		Sleep(0)
		testenv.True(t, ran, "Sleep(0) did not yield")
	})
}

// TestLongSleepsEndByForce: the longest sleeps, cut short by the end of the
// group, run their deferred calls.
func TestLongSleepsEndByForce(t *testing.T) {
	g := newGroup(t, 2)
	var unwound, returned atomic.Int32
	var asleep atomic.Int32
	for i, p := range g.members {
		testenv.OK(t, p.Start())
		for _, d := range []time.Duration{time.Hour, math.MaxInt64, math.MaxInt64 - 1, 1 << 62} {
			p.group.Go(nil, p, spawnOf(func() {
				defer unwound.Add(1)
				asleep.Add(1)
				Sleep(d)
				returned.Add(1)
			}, i == 0, true))
		}
	}
	testenv.Until(t, "all asleep", func() bool { return asleep.Load() == 8 })
	g.Advance(Stopping)
	<-g.Quiet()
	end(g)
	testenv.True(t, unwound.Load() == 8 && returned.Load() == 0, "%d of 8 unwound, %d returned",
		unwound.Load(), returned.Load())
}

// TestSleepersWakeInOrder puts thousands to sleep in random order of their
// deadlines.
func TestSleepersWakeInOrder(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	g := started(t, 1)
	n := testenv.Rounds(5000)
	on(t, g.members[0], func() {
		p := Current()
		for lead := 30 * time.Millisecond; ; lead *= 2 {
			var woke []int64
			base, parked := clock.Now()+int64(lead), 0
			var handles []coroutine.Handle
			for i := range n {
				deadline := base + int64(i*7919%n)*10_000 // 7919 is a prime, so all differ
				handles = append(handles, p.PinnedHere(func() {
					co := coroutine.Current()
					parked++
					why := p.ParkUntil(co, coroutine.ReasonSleep, deadline)
					testenv.Equal(t, why, coroutine.WakeTimeout, "woken by")
					now := clock.Now()
					testenv.True(t, now >= deadline, "woken %d ns early", deadline-now)
					woke = append(woke, deadline)
				}))
			}
			for parked < n {
				coroutine.Yield()
			}
			late := clock.Now() >= base // some may have been too late to their place in the order
			for _, h := range handles {
				h.Join()
			}
			testenv.True(t, len(woke) == n, "%d of %d sleepers woke", len(woke), n)
			if late && lead < 5*time.Second {
				continue
			}
			testenv.True(t, slices.IsSorted(woke), "the sleepers woke out of order")
			break
		}
	})
	fired := g.members[0].Stats.TimersFired.Load()
	testenv.True(t, int(fired) >= n, "%d timers fired, want %d", fired, n)
}

// TestYieldLoopsDoNotStarve: timers, other threads' wakes and submissions get
// their turn beside coroutines that never wait.
func TestYieldLoopsDoNotStarve(t *testing.T) {
	p := started(t, 1).members[0]
	var stop atomic.Bool
	var handles []coroutine.Handle
	for i := range 3 {
		handles = append(handles, p.Pinned(func() {
			for n := 0; !stop.Load(); n++ {
				if i > 0 { // compute a little
					for range 1000 {
						n++
					}
				}
				coroutine.Yield()
			}
		}))
	}
	for range 20 {
		start := time.Now()
		on(t, p, func() { Sleep(time.Millisecond) })
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("a start and a sleep of a millisecond took %v beside Yield loops", took)
		}
	}
	stop.Store(true)
	for _, h := range handles {
		h.Join()
	}
}

// TestFloodDoesNotStarve: a coroutine that is ready runs while other threads
// keep submitting.
func TestFloodDoesNotStarve(t *testing.T) {
	g := started(t, 1)
	p := g.members[0]
	var rounds atomic.Int64
	var flooding, stop atomic.Bool
	h := p.Pinned(func() {
		for !stop.Load() {
			if flooding.Load() {
				rounds.Add(1)
			}
			coroutine.Yield()
		}
	})
	var wg sync.WaitGroup
	flooding.Store(true)
	for range 2 {
		wg.Go(func() {
			for n := 0; rounds.Load() < 2000 || n < 1000; n++ {
				p.Pinned(func() {})
				for p.load() > 5000 { // else it is about memory
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	stop.Store(true)
	h.Join()
	testenv.Until(t, "the flood has run", func() bool { return !g.Active() })
}

// TestPinnedOrderIsFIFO: submissions from one thread to one Processor start in
// their order.
func TestPinnedOrderIsFIFO(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	g := started(t, 1)
	var order []int
	var last coroutine.Handle
	for i := range 500 {
		last = g.members[0].Pinned(func() { order = append(order, i) })
	}
	last.Join()
	testenv.True(t, len(order) == 500 && slices.IsSorted(order), "%d ran: %v", len(order), order)
}

// TestParkUntilAgainstReady races wakes from another thread with deadlines on a
// real Processor; sleepers are reused from its pool, so a timer that fires for
// the wrong park would show.
func TestParkUntilAgainstReady(t *testing.T) {
	g := started(t, 2)
	rounds, began := testenv.Rounds(20_000), time.Now()
	var wg sync.WaitGroup
	var timeouts, wakes atomic.Int64
	for i := range 4 {
		var open atomic.Uint64 // the park that may be woken
		var woken atomic.Uint64
		var over atomic.Bool
		var co *coroutine.Coroutine
		p := g.members[i%2]
		p.Pinned(func() {
			defer over.Store(true)
			co = coroutine.Current()
			for r := 0; r < rounds && (r < 100 || time.Since(began) < 10*time.Second); r++ {
				deadline := clock.Now() + int64((r*13+i)%40)*1000
				ticket := co.Ticket()
				open.Store(ticket)
				switch p.ParkUntil(co, coroutine.ReasonUser, deadline) {
				case coroutine.WakeTimeout:
					timeouts.Add(1)
					testenv.True(t, clock.Now() >= deadline, "timed out early")
				case coroutine.WakeReady:
					wakes.Add(1)
					testenv.True(t, woken.Load() >= ticket, "woken without a wake")
				default:
					t.Error("neither woken nor timed out")
				}
			}
		})
		wg.Go(func() {
			for n, last := 0, uint64(0); !over.Load(); n++ {
				if now := open.Load(); now != last {
					last = now
					if n%3 == 0 {
						woken.Store(now)
						co.MakeReady(now, coroutine.WakeReady)
					}
					co.MakeReady(now-1, coroutine.WakeShutdown)
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	testenv.Until(t, "quiet", func() bool { return !g.Active() })
	t.Logf("%d timeouts, %d wakes", timeouts.Load(), wakes.Load())
	for _, p := range g.members {
		on(t, p, func() {
			testenv.Equal(t, Current().timers.Len(), 0, "timers are left")
		})
	}
}
