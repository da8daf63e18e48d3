package processor

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
)

// limited makes n running Processors whose group has a limit.
func limited(t testing.TB, n, most int) *Group {
	t.Helper()
	g := NewGroup(nil)
	g.SetMaxCoroutines(most)
	addMembers(t, g, n)
	for _, p := range g.members {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
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
	for round := range scaled(50_000) {
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
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	end(g)
	for range 3 {
		if _, err := p.Spawn(nil, Spawn{Fn: func() {}, Pinned: true}); !errors.Is(err, coroutine.ErrShutdown) {
			t.Errorf("%v, want ErrShutdown", err)
		}
		if h := p.Pinned(func() {}); h != (coroutine.Handle{}) {
			t.Error("submitted to a Processor that has ended")
		}
	}
}

// latch holds up coroutines, without a timer that would make their Processor
// take turns.
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
		w.Park(coroutine.ReasonUser)
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

// watched is a Watch of an eventfd.
type watched struct {
	pd   PollDesc
	x    Watch
	fd   int
	hear func(*watched)
}

func (w *watched) Readable() { w.hear(w) }

func newWatched(t testing.TB, hear func(*watched)) *watched {
	t.Helper()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{fd: fd, hear: hear}
	w.x.Init(&w.pd, w)
	t.Cleanup(func() {
		w.pd.Unbind()
		unix.Close(fd)
	})
	return w
}

// TestWokenWatchesWaitForPermits: at the limit Watches that are woken, by
// events or from other threads, and new ones wait; one runs on each Processor
// whatever the limit; and all get their turn as others end, on their own
// Processor or on another.
func TestWokenWatchesWaitForPermits(t *testing.T) {
	within(t, 60*time.Second)
	const most, watches = 3, 20
	for _, where := range []string{"event", "other thread", "new"} {
		for _, freed := range []int{0, 1} {
			t.Run(where+" freed by "+string('0'+rune(freed)), func(t *testing.T) {
				g := limited(t, 2, most)
				p := g.members[0]
				var running, peak, served atomic.Int64
				fill := func(hold *latch) (full []coroutine.Handle) {
					for range most {
						h, err := g.members[freed].Spawn(nil, Spawn{Fn: hold.wait, Pinned: true})
						if err != nil {
							t.Fatal(err)
						}
						full = append(full, h)
					}
					return full
				}
				hold, release := new(latch), new(latch)
				full := fill(hold)
				hear := func(*watched) {
					n := running.Add(1)
					peak.Store(max(peak.Load(), n))
					release.wait()
					running.Add(-1)
					served.Add(1)
				}
				var all []*watched
				for range watches {
					w := newWatched(t, hear)
					all = append(all, w)
					if where == "new" {
						if !w.x.Begin(nil, p) {
							t.Fatal("the Processor has ended")
						}
						continue
					}
					p.Pinned(func() { // the library's own
						if armed, err := w.x.Arm(w.fd); !armed || err != nil {
							t.Errorf("Arm: %v, %v", armed, err)
						}
					}).Join()
				}
				for _, w := range all {
					switch where {
					case "event":
						unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
					case "other thread":
						w.pd.Unblock(Read)
					}
				}
				eventually(t, "one Watch beside the limit", func() bool { return running.Load() == 1 })
				on(t, p, func() {}) // a turn, in which no other begins
				if running.Load() != 1 {
					t.Errorf("%d Watches run at the limit, want 1", running.Load())
				}
				if _, err := p.Spawn(nil, Spawn{Fn: func() {}, Pinned: true}); !errors.Is(err, ErrTooManyCoroutines) {
					t.Errorf("a start at the limit: %v", err)
				}
				hold.lift() // permits are released
				for _, h := range full {
					h.Join()
				}
				eventually(t, "the permits to be used", func() bool { return running.Load() == most })
				release.lift()
				eventually(t, "all to be served", func() bool { return served.Load() == watches })
				if peak.Load() > most {
					t.Errorf("%d at a time, want %d at most", peak.Load(), most)
				}
				eventually(t, "no Processor to be starved", func() bool { return g.limit.starved.Load() == 0 })
				on(t, p, func() {})

				hold = new(latch) // once more: one may run whatever the limit
				full = fill(hold)
				newWatched(t, hear).x.Begin(nil, p)
				eventually(t, "one more to be served", func() bool { return served.Load() == watches+1 })
				hold.lift()
				for _, h := range full {
					h.Join()
				}
			})
		}
	}
}

// TestWokenWatchesWhileDraining: when the group ends, Watches that wait for a
// permit get one.
func TestWokenWatchesWhileDraining(t *testing.T) {
	within(t, 60*time.Second)
	g := limited(t, 1, 1)
	p := g.members[0]
	var served atomic.Int64
	hold := new(latch)
	hear := func(*watched) {
		served.Add(1)
		hold.wait()
	}
	for range 10 {
		newWatched(t, hear).x.Begin(nil, p)
	}
	eventually(t, "one to begin", func() bool { return served.Load() == 1 })
	on(t, p, func() {})
	if served.Load() != 1 {
		t.Errorf("%d Watches run at the limit", served.Load())
	}
	g.Advance(Draining)
	eventually(t, "all to begin", func() bool { return served.Load() == 10 })
	hold.lift()
	<-g.Quiet()
}

// BenchmarkStartUnderLimit is the start and the end of a coroutine, without a
// limit and with one; at is how many Processors do that at the same time.
func BenchmarkStartUnderLimit(b *testing.B) {
	for _, c := range []struct {
		name     string
		at, most int
	}{{"none", 1, 0}, {"limit", 1, 1 << 20}, {"none, two", 2, 0}, {"limit, two", 2, 1 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			g := limited(b, c.at, c.most)
			var all []coroutine.Handle
			b.ResetTimer()
			for _, p := range g.members {
				all = append(all, p.Pinned(func() {
					for range b.N / 64 {
						for range 64 {
							p.Spawn(p, Spawn{Fn: func() {}, Pinned: true})
						}
						coroutine.Yield()
					}
				}))
			}
			for _, h := range all {
				h.Join()
			}
		})
	}
}
