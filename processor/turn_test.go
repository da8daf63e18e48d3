package processor

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// TestTurn: asleep, with a coroutine, or in the loop; and after a sleep the
// turn begins at its end.
func TestTurn(t *testing.T) {
	p := started(t, 1).members[0]
	testenv.Until(t, "sleep", func() bool { return p.Turn().Asleep })
	testenv.Equal(t, p.Turn().Coroutine, nil, "a coroutine in its sleep")
	slept := clock.Now()
	entered, hold := make(chan *coroutine.Coroutine), make(chan int)
	h := p.Pinned(func() {
		entered <- coroutine.Current()
		<-hold
	})
	co := <-entered
	a, b := p.Turn(), p.Turn()
	testenv.True(t, a == b && !a.Asleep && a.Coroutine == co && a.Number != 0 && a.Start >= slept &&
		a.Start <= clock.Now(), "%+v, then %+v; slept until after %d", a, b, slept)
	close(hold)
	testenv.NoError(t, h.Join())
	testenv.Until(t, "another turn", func() bool { return p.Turn().Number > a.Number })
}

// TestLoopYields: a loop that is never idle passes through Go's scheduler, so
// that goroutines in the global queue of a P that is never idle run within few
// yields. Behind a P's own queue alone they ran after 61.
func TestLoopYields(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var yields atomic.Int64
	var stop atomic.Bool
	through := yield
	yield = func(global bool) { yields.Add(1); through(global) }
	t.Cleanup(func() { yield = through }) // when the loop has ended
	p := started(t, 1).members[0]
	h := p.Pinned(func() {
		for !stop.Load() {
			coroutine.Yield()
		}
	})
	testenv.Until(t, "a yield", func() bool { return yields.Load() > 0 })
	const rounds = 10
	before := yields.Load()
	for range rounds {
		runtime.Gosched() // into the global queue
	}
	n := yields.Load() - before
	stop.Store(true)
	testenv.NoError(t, h.Join())
	testenv.True(t, n <= rounds*20, "%d yields in %d waits", n, rounds)
}

// TestTrim: goroutines that a burst leaves behind end while a few coroutines go
// on, and at once when all work leaves their Processor.
func TestTrim(t *testing.T) {
	g := started(t, 2)
	p := g.members[0]
	burst := func() {
		on(t, p, func() {
			for range 100 {
				p.PinnedFrom(p, coroutine.Yield)
			}
		})
		testenv.Until(t, "the burst", func() bool { return p.ex.Stats.Live.Load() == 0 })
		testenv.True(t, p.ex.Stats.Workers.Load() > 20, "the burst left %d goroutines",
			p.ex.Stats.Workers.Load())
	}
	burst()
	testenv.Until(t, "the goroutines' end", func() bool {
		testenv.NoError(t, p.Pinned(func() {}).Join())
		return p.ex.Stats.Workers.Load() <= 2
	})
	burst()
	p.GiveAll(g.members[1])
	testenv.Until(t, "the goroutines' end", func() bool { return p.ex.Stats.Workers.Load() == 0 })
}

// TestAlone: a wake by another thread and a handoff each keep the loop from its
// next yield.
func TestAlone(t *testing.T) {
	p := new(Processor)
	alone := func() bool { return p.workedAlone(&p.helped) }
	testenv.True(t, alone(), "helped at first")
	p.posted.Add(1)
	testenv.True(t, !alone() && alone(), "a wake does not count, or twice")
	p.ex.Stats.Handoffs.Inc()
	testenv.True(t, !alone() && alone(), "a handoff does not count, or twice")
}

// TestGivesUpP: the loop gives up its P if that is the only one and goroutines
// have woken coroutines since its last wait, or if they wait for fds and it is
// the only one or one of two.
func TestGivesUpP(t *testing.T) {
	testenv.Until(t, "no poller", func() bool { return currentPoller.Load() == nil })
	p := &Processor{onlyP: true, fewPs: true}
	testenv.True(t, !p.givesUpP(), "for nobody")
	p.posted.Add(1)
	testenv.True(t, p.givesUpP() && !p.givesUpP(), "not for a goroutine, or twice")
	gp := testenv.Must(openPoller())
	testenv.True(t, p.givesUpP(), "not while there is a goroutine poller")
	p.onlyP = false
	testenv.True(t, p.givesUpP(), "not with two Ps, while there is a goroutine poller")
	p.fewPs = false
	testenv.True(t, !p.givesUpP(), "beside other Ps")
	gp.released()
	testenv.Until(t, "no poller", func() bool { return currentPoller.Load() == nil })
	p.fewPs = true
	p.posted.Add(1)
	testenv.True(t, !p.givesUpP(), "with two Ps, without a goroutine poller")
}

// TestWaitGivesUpP: a loop that is to give up its P does so, and knows how many
// Ps there are.
func TestWaitGivesUpP(t *testing.T) {
	gp := testenv.Must(openPoller())
	for _, c := range []struct {
		procs, members int
		gives          bool
	}{{1, 1, true}, {1, 2, true}, {2, 1, true}, {2, 2, false}, {3, 1, false}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
			g := started(t, c.members)
			for _, p := range g.members {
				testenv.Until(t, "sleep", func() bool { return p.Turn().Asleep })
			}
			buf := make([]byte, 1<<20)
			stacks := string(buf[:runtime.Stack(buf, true)])
			testenv.Equal(t, strings.Contains(stacks, "(*Processor).wait(") &&
				strings.Contains(stacks, "WaitLong("), c.gives, "it gives its P up")
		})
	}
	gp.released()
}

// TestNoOldTurnAfterSleep: Turn never shows a Processor awake in a turn that
// began before its sleep.
func TestNoOldTurnAfterSleep(t *testing.T) {
	p := started(t, 1).members[0]
	caught := 0
	for range strikes(testenv.Rounds(2000), 10) {
		var asleep Turn
		testenv.Until(t, "sleep", func() bool { asleep = p.Turn(); return asleep.Asleep })
		old := int64(p.Stats.TurnStart.Load())
		if now := p.Turn(); now != asleep || !p.ep.Sleeping() {
			// it was woken for something else, or is about to wake: then old is
			// of after its sleep
			continue
		}
		p.Wake()
		now := asleep
		for n := 1; now.Asleep && now.Number == asleep.Number; n++ {
			if now = p.Turn(); n%1000 == 0 {
				runtime.Gosched() // with one CPU it wakes only then
			}
		}
		if now.Asleep || now.Number != asleep.Number {
			continue
		}
		if caught++; now.Start == old {
			t.Fatalf("awake in the turn that began at %d, before its sleep", old)
		}
	}
	t.Logf("seen just after its sleep %d times", caught)
}
