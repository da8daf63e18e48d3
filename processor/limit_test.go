package processor

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// limited makes n running Processors whose group has a limit.
func limited(t testing.TB, n, most int) *Group {
	t.Helper()
	g := NewGroup(nil)
	g.SetMaxCoroutines(most)
	addMembers(t, g, n)
	start(t, g)
	t.Cleanup(func() { end(g) })
	return g
}

// TestLimitExact: any number of threads that take permits at the same time get
// as many as there are, and no more.
func TestLimitExact(t *testing.T) {
	g := newGroup(t, 2)
	defer g.Discard()
	const most = 8
	g.SetMaxCoroutines(most)
	for round := range testenv.Rounds(50_000) {
		var admitted atomic.Int64
		var begin atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !begin.Load() {
				}
				for range most / 2 {
					if g.admit() {
						admitted.Add(1)
					}
				}
			})
		}
		begin.Store(true)
		wg.Wait()
		if n := admitted.Load(); n != most {
			t.Fatalf("round %d: %d permits taken, want %d", round, n, most)
		}
		if n := g.limit.live.Load(); n != most {
			t.Fatalf("round %d: %d permits are taken after refusals, want %d", round, n, most)
		}
		for range most {
			g.releasePermit()
		}
	}
}

// TestSubmitTooLate: a submission to a Processor that has ended gives its
// permit back.
func TestSubmitTooLate(t *testing.T) {
	g := newGroup(t, 1)
	g.SetMaxCoroutines(2)
	p := g.members[0]
	testenv.OK(t, p.Start())
	end(g)
	for range 3 {
		_, err := p.group.Go(nil, p, spawnOf(func() {}, true, false))
		testenv.Fails(t, err, coroutine.ErrShutdown)
		testenv.Equal(t, p.Pinned(func() {}), (coroutine.Handle{}),
			"submitted to a Processor that has ended")
	}
}

// latch holds up coroutines, without a timer that would make their Processor
// take turns. Those that are to end by force unwind.
type latch struct {
	mu      sync.Mutex
	open    bool
	waiting []*coroutine.Waiter
}

func (l *latch) wait() {
	for {
		w := coroutine.AcquireWaiter()
		l.mu.Lock()
		if l.open {
			l.mu.Unlock()
			return
		}
		l.waiting = append(l.waiting, w)
		l.mu.Unlock()
		if w.Park(coroutine.ReasonUser) == coroutine.WakeShutdown {
			coroutine.Unwind()
		}
	}
}

func (l *latch) lift() {
	l.mu.Lock()
	l.open = true
	waiting := l.waiting
	l.mu.Unlock()
	for _, w := range waiting {
		w.Wake()
	}
}

// waits returns how many waits there have been.
func (l *latch) waits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// TestLatchEnds: a latch does not keep a coroutine that is to end by force.
// Regression: it noted one wait after another, each of which ended at once, so
// that a test that failed with a latch in use took all memory.
func TestLatchEnds(t *testing.T) {
	p, l := started(t, 1).members[0], new(latch)
	h := p.Pinned(l.wait)
	testenv.Until(t, "it waits", func() bool { return l.waits() == 1 })
	h.Stop()
	testenv.Until(t, "it ends, or waits again", func() bool { return h.Done() || l.waits() > 1 })
	testenv.Equal(t, l.waits(), 1, "waits of a coroutine that is to end")
	l.lift()
	h.Join()
}

// watched is a Watch of an eventfd.
type watched struct {
	pd    PollDesc
	x     Watch
	fd    int
	serve func(*watched)
}

func (w *watched) Readable() { w.serve(w) }

func newWatched(t testing.TB, serve func(*watched)) *watched {
	t.Helper()
	fd := testenv.Must(unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK))
	w := &watched{fd: fd, serve: serve}
	w.x.Init(&w.pd, w)
	t.Cleanup(func() {
		w.pd.Evict() // it may still be armed if the test has failed
		w.pd.Unbind()
		unix.Close(fd)
	})
	return w
}

// starving is a group at its limit, and Watches of its first Processor.
type starving struct {
	*testing.T
	g     *Group
	p     *Processor
	freed *Processor // on which the other coroutines live
	hold  *latch     // keeps these

	running, peak, served atomic.Int64 // coroutines of Watches
	release               latch        // keeps these
}

// newStarving fills a group of two Processors.
func newStarving(t *testing.T, freed int) (s *starving, full []coroutine.Handle) {
	g := limited(t, 2, starvingMost)
	s = &starving{T: t, g: g, p: g.members[0], freed: g.members[freed]}
	return s, s.fill()
}

const starvingMost = 3

// fill starts as many coroutines as may live.
func (s *starving) fill() (full []coroutine.Handle) {
	s.hold = new(latch)
	for range starvingMost {
		h, err := s.freed.group.Go(nil, s.freed, spawnOf(s.hold.wait, true, false))
		if err != nil {
			s.Fatal(err)
		}
		full = append(full, h)
	}
	return full
}

// empty ends what fill has started.
func (s *starving) empty(full []coroutine.Handle) {
	s.hold.lift()
	for _, h := range full {
		h.Join()
	}
}

// serve is what the Watches' coroutines do.
func (s *starving) serve(*watched) {
	n := s.running.Add(1)
	s.peak.Store(max(s.peak.Load(), n))
	s.release.wait()
	s.running.Add(-1)
	s.served.Add(1)
}

// wake makes n Watches and wakes each.
func (s *starving) wake(n int, how string) {
	var all []*watched
	for range n {
		w := newWatched(s.T, s.serve)
		all = append(all, w)
		if how == "new" {
			if !w.x.Begin(nil, s.p) {
				s.Fatal("the Processor has ended")
			}
			continue
		}
		s.p.Pinned(func() { // the library's own
			if armed, err := w.x.Arm(w.fd); !armed || err != nil {
				s.Errorf("Arm: %v, %v", armed, err)
			}
		}).Join()
	}
	for _, w := range all {
		switch how {
		case "event":
			unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		case "other thread":
			w.pd.Unblock(Read)
		}
	}
}

// TestWokenWatchesWaitForPermits: at the limit Watches that are woken, by
// events or from other threads, and new ones wait; one runs on each Processor
// whatever the limit; and all get their turn as others end, on their own
// Processor or on another.
func TestWokenWatchesWaitForPermits(t *testing.T) {
	const watches = 20
	for _, how := range []string{"event", "other thread", "new"} {
		for _, freed := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s freed by %d", how, freed), func(t *testing.T) {
				s, full := newStarving(t, freed)
				s.wake(watches, how)
				testenv.Until(t, "one Watch beside the limit", func() bool {
					return s.running.Load() == 1
				})
				on(t, s.p, func() {}) // a turn, in which no other begins
				testenv.Equal(t, s.running.Load(), 1, "Watches run at the limit")
				_, err := s.p.group.Go(nil, s.p, spawnOf(func() {}, true, false))
				testenv.Fails(t, err, ErrTooManyCoroutines, "a start at the limit")
				s.empty(full)
				testenv.Until(t, "the permits to be used", func() bool {
					return s.running.Load() == starvingMost
				})
				s.release.lift()
				testenv.Until(t, "all to be served", func() bool {
					return s.served.Load() == watches
				})
				testenv.True(t, s.peak.Load() <= starvingMost, "%d at a time, want %d at most",
					s.peak.Load(), starvingMost)
				testenv.Until(t, "no Processor to be starved", func() bool {
					return s.g.limit.starved.Load() == 0
				})
				on(t, s.p, func() {})

				full = s.fill() // once more: one may run whatever the limit
				newWatched(t, s.serve).x.Begin(nil, s.p)
				testenv.Until(t, "one more to be served", func() bool {
					return s.served.Load() == watches+1
				})
				s.empty(full)
			})
		}
	}
}

// TestWokenWatchesWhileDraining: when the group ends, Watches that wait for a
// permit get one.
func TestWokenWatchesWhileDraining(t *testing.T) {
	g := limited(t, 1, 1)
	p := g.members[0]
	var served atomic.Int64
	hold := new(latch)
	serve := func(*watched) {
		served.Add(1)
		hold.wait()
	}
	for range 10 {
		newWatched(t, serve).x.Begin(nil, p)
	}
	testenv.Until(t, "one to begin", func() bool { return served.Load() == 1 })
	on(t, p, func() {})
	testenv.Equal(t, served.Load(), 1, "Watches run at the limit")
	g.Advance(Draining)
	testenv.Until(t, "all to begin", func() bool { return served.Load() == 10 })
	hold.lift()
	<-g.Quiet()
}
