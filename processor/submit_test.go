package processor

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// TestGroupStaysActiveWhileStealing: what is being stolen lives, so at no
// moment may the group count as quiet. The bug: the stealer lowered the count
// of submissions before it took a token; if the victim gave its own back in
// between, Run returned while a coroutine had still to run.
func TestGroupStaysActiveWhileStealing(t *testing.T) {
	g := newGroup(t, 2)
	defer g.Discard()
	p, q := g.members[0], g.members[1]
	var ready atomic.Int32
	meet := func() {
		ready.Add(1)
		for i := 0; ready.Load() < 2; i++ {
			if i > 1000 {
				runtime.Gosched()
			}
		}
	}
	begin, done := make(chan struct{}), make(chan struct{})
	defer close(begin)
	go func() {
		for range begin {
			meet()
			for i := 1; p.holding; i++ {
				if p.releaseToken(); i%1000 == 0 {
					runtime.Gosched() // with one CPU the stealer runs only then
				}
			}
			done <- struct{}{}
		}
	}()
	for range strikes(testenv.Rounds(10_000), 100) {
		// As if a coroutine of p had submitted another to p itself and ended.
		g.takeToken()
		p.holding = true
		p.sub.stealable = append(p.sub.stealable,
			submission{co: coroutine.Make(nil, &coroutine.Spawn{Fn: func() {}})})
		p.sub.offered.Store(1)
		p.sub.waiting.Store(1)
		quiet := g.Quiet()
		ready.Store(0)
		begin <- struct{}{}
		meet()
		q.stealFrom(p, 1)
		<-done
		select {
		case <-quiet:
			t.Fatal("the group was quiet while a coroutine was being stolen")
		default:
		}
		if !g.Active() {
			t.Fatal("the group is not active with a coroutine in it")
		}
		q.holding = false
		g.giveToken()
	}
}

// TestPlaceReachesAll: among many Processors, too, the least loaded is found in
// the long run, the last ones included.
func TestPlaceReachesAll(t *testing.T) {
	for _, n := range []int{1, 2, 5, 16, 17, 20, 33} {
		g := newGroup(t, n)
		const each = 50
		for range n * each {
			g.place(nil).Pinned(func() {})
		}
		for _, p := range g.members {
			testenv.True(t, p.load() >= each/2 && p.load() <= 2*each,
				"%d Processors: number %d got %d of %d", n, p.Index(), p.load(), n*each)
		}
		g.Discard()
	}
}

// TestPlaceFromManyThreads: placement may lose an update, but is no data race.
func TestPlaceFromManyThreads(t *testing.T) {
	g := newGroup(t, 20)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				g.place(nil).Open(func() {})
			}
		})
	}
	wg.Wait()
	g.Discard()
}

func TestPlacePrefersTheCaller(t *testing.T) {
	g := newGroup(t, 3)
	defer g.Discard()
	self := g.members[1]
	for _, c := range []struct{ adds, want int }{
		{1, 1}, // 0 1 0: one more than another is not enough to leave
		{1, 0}, // 0 2 0
		{0, 2}, // 1 2 0
		{2, 1}, // 1 2 1
	} {
		g.members[c.adds].Pinned(func() {})
		testenv.Equal(t, g.place(self).Index(), c.want, c)
	}
}

// TestPlaceFromOutside: submissions of ordinary goroutines go to the Processor
// with the fewest fds, but to no group that is nearer to its end than another.
// The bug: a Processor that a coroutine keeps from ending has no fds, and got
// all.
func TestPlaceFromOutside(t *testing.T) {
	for _, c := range []struct{ first, second Phase }{
		{Stopped, Running}, {Stopping, Running}, {Draining, Running}, {Stopped, Draining},
	} {
		ending, other := newGroup(t, 1), newGroup(t, 1)
		ending.phase.Store(int32(c.first))
		other.phase.Store(int32(c.second))
		registerFds(t, other.members[0], 1)
		addRunning(ending.members[0])
		addRunning(other.members[0])
		testenv.Gives(t, other.members[0], nil, "phases", c.first, "and", c.second,
			"placed on the first")(Fewest())
		testenv.Equal(t, runningGroup(), other, "phases", c.first, "and", c.second,
			"an fd is of the first")
		removeRunning(other.members[0])
		if p, err := Fewest(); err != nil || p != ending.members[0] || runningGroup() != ending {
			t.Errorf("alone in phase %d: not placed on it, %v", c.first, err)
		}
		removeRunning(ending.members[0])
		ending.Discard()
		other.Discard()
	}
}

// TestTake moves submissions from the front and keeps what is left in order.
func TestTake(t *testing.T) {
	var q, all []submission
	for range 3000 {
		s := submission{co: coroutine.Make(nil, &coroutine.Spawn{Fn: func() {}})}
		q, all = append(q, s), append(all, s)
	}
	var got []submission
	for into := make([]submission, 16); len(q) > 0; {
		k := dequeue(&q, into)
		if k == 0 {
			t.Fatal("nothing taken")
		}
		got = append(got, into[:k]...)
	}
	testenv.True(t, slices.Equal(got, all) && cap(q) <= 1024,
		"%d of %d taken in order; the queue keeps room for %d", len(got), len(all), cap(q))
}

// TestStealBehindALongOne: unstarted coroutines behind a coroutine that
// computes, or stalls its thread, run elsewhere, even where more coroutines
// live, and even a single one; pinned coroutines stay.
func TestStealBehindALongOne(t *testing.T) {
	g := started(t, 2)
	p, other := g.members[0], g.members[1]
	over, stalled := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(over) })
	defer release()
	long := p.Pinned(func() { close(stalled); <-over })
	<-stalled
	var parked []coroutine.Handle
	for range 60 {
		parked = append(parked, other.Pinned(func() { long.Join() }))
	}
	testenv.Until(t, "stalled", func() bool { return p.stalled(clock.Now()) })
	var where [2]atomic.Int32
	note := func() { where[Current().Index()].Add(1) }
	for range 10 {
		testenv.Until(t, "the other is idle", other.ep.Sleeping)
		testenv.NoError(t, p.Open(note).Join())
	}
	var open, pinned []coroutine.Handle
	for range 40 {
		pinned = append(pinned, p.Pinned(note))
		open = append(open, p.Open(note))
	}
	for _, h := range open {
		h.Join()
	}
	testenv.Equal(t, where[1].Load(), 50, "ran on the idle Processor")
	testenv.Equal(t, where[0].Load(), 0, "ran on the stalled one")
	testenv.Equal(t, other.Stats.Stolen.Load(), 50, "counted as stolen")
	release()
	for _, h := range append(pinned, parked...) {
		h.Join()
	}
	testenv.Equal(t, where[0].Load(), 40, "of 40 pinned ones ran on their own Processor")
}

// TestWakeStealer: which of the sleeping Processors is woken to steal.
func TestWakeStealer(t *testing.T) {
	for _, c := range []struct {
		name   string
		active []bool // of each but the first
		asleep []bool
		want   int // 0: none
	}{
		{"all active", []bool{true, true}, []bool{true, true}, 1},
		{"an active one past an inactive one", []bool{false, true}, []bool{true, true}, 2},
		{"the active ones are awake", []bool{true, false}, []bool{false, true}, 2},
		{"all are awake", []bool{true, true}, []bool{false, false}, 0},
	} {
		g := newGroup(t, 3)
		for i, q := range g.members[1:] {
			q.active.Store(c.active[i])
			if c.asleep[i] {
				q.ep.Asleep()
			}
		}
		g.members[0].wakeStealer()
		for i, q := range g.members[1:] {
			testenv.Equal(t, c.asleep[i] && !q.ep.Sleeping(), i+1 == c.want, c.name, "woken", i+1)
		}
		g.Discard()
	}
}

// TestStealPastPinned: a Processor whose submissions are all pinned must not
// hide another's from a stealer. The bug: the stealer only considered the
// Processor with the most.
func TestStealPastPinned(t *testing.T) {
	g := newGroup(t, 3)
	defer g.Discard()
	for range 10 {
		g.members[0].Pinned(func() {})
	}
	for range 3 {
		g.members[1].Open(func() {})
	}
	testenv.True(t, g.members[2].steal(0), "nothing was stolen, with three to steal")
}
