package processor

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// TestStartIsNotDelayedByATimer: in the C++ netco a start waited for the next
// timer, seconds away.
func TestStartIsNotDelayedByATimer(t *testing.T) {
	p := started(t, 1).members[0]
	defer p.Pinned(func() { Sleep(time.Hour) }).Stop()
	for range 20 {
		sleeps := p.Stats.Sleeps.Load()
		testenv.Until(t, "asleep", func() bool {
			return p.ep.Sleeping() && p.Stats.Sleeps.Load() >= min(sleeps, 1)
		})
		start := time.Now()
		on(t, p, func() {})
		took := time.Since(start)
		testenv.True(t, took <= 20*time.Second, "a coroutine started after %v", took)
	}
}

// TestOneCallForAWake: the work that wakes a Processor runs without another
// call of epoll_pwait.
func TestOneCallForAWake(t *testing.T) {
	g := NewGroup(nil)
	addLike(t, g, 1, Config{LockThread: true, NoSpin: true, Idle: 64})
	start(t, g)
	defer end(g)
	p, l := g.members[0], newLine(t)
	const wakes = 20
	p.Open(func() {
		for range wakes {
			l.read()
		}
		l.close()
	})
	sleeps := uint64(0)
	asleep := func() bool {
		return l.waits() && p.time.sleeping() && p.Stats.Sleeps.Load() > sleeps
	}
	testenv.Until(t, "it waits, asleep", asleep)
	polls := p.Events().Polls.Load()
	for i := range byte(wakes) {
		testenv.Until(t, "it waits, asleep", asleep)
		sleeps = p.Stats.Sleeps.Load()
		l.send(i)
	}
	quiet(t, g)
	testenv.Equal(t, p.Events().Polls.Load()-polls, 0, "polls after", wakes, "wakes")
}

// TestIdleMeansAsleep: after work of every kind a Processor takes no turn and
// no CPU until there is work again.
func TestIdleMeansAsleep(t *testing.T) {
	g := started(t, 2)
	for round := range 3 {
		for i := range 200 {
			p := g.members[i%2]
			on(t, p, func() {
				if round > 0 {
					Sleep(time.Microsecond)
				}
				coroutine.Yield()
			})
		}
		var turns [2]uint64
		var cpu time.Duration
		// until the collector, and the tests before, have nothing to do either
		for end := time.Now().Add(20 * time.Second); ; {
			turns, cpu = idle(t, g)
			calm := turns[0] <= 2 && turns[1] <= 2 &&
				(cpu <= 60*time.Millisecond || goruntime.RaceEnabled)
			if calm {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("round %d: with nothing to do the Processors took %d turns, "+
					"and %v of CPU, in 100 ms", round, turns, cpu)
			}
		}
	}
}

// idle returns how many turns two Processors take, and how much CPU the
// process, in 100 ms from when both are asleep.
func idle(t *testing.T, g *Group) (turns [2]uint64, cpu time.Duration) {
	var before [2]uint64
	testenv.Until(t, "both asleep", func() bool {
		for i, p := range g.members {
			before[i] = p.Stats.Turns.Load()
		}
		return g.members[0].ep.Sleeping() && g.members[1].ep.Sleeping()
	})
	var was, now unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &was)
	time.Sleep(100 * time.Millisecond) // what is measured, not waited for
	unix.Getrusage(unix.RUSAGE_SELF, &now)
	for i, p := range g.members {
		turns[i] = p.Stats.Turns.Load() - before[i]
	}
	used := func(u *unix.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }
	return turns, time.Duration(used(&now) - used(&was))
}

// TestWakeAgainstSleepHammer wakes a Processor's only coroutine, or gives it a
// new one, at random times around the moment at which it goes to sleep: between
// its last check of its inboxes and epoll. A wake that is lost there is a hang.
func TestWakeAgainstSleepHammer(t *testing.T) {
	for name, spin := range map[string]bool{"spin": true, "no spin": false} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, 1)
			p := g.members[0]
			p.spin.off = !spin
			testenv.OK(t, p.Start())
			defer end(g)
			rounds := testenv.Rounds(40_000)
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
					note := func() { ran.Store(true) }
					p.group.Go(nil, p, spawnOf(note, i%8 == 0, true))
					for n := 0; !ran.Load(); spin(&n) {
					}
				}
			}
			h.Join()
			testenv.True(t, p.Stats.Sleeps.Load() != 0, "it never slept")
			t.Logf("%d sleeps, %d rings in %d rounds", p.Stats.Sleeps.Load(),
				p.ep.Stats.Rings.Load(), rounds)
		})
	}
}
