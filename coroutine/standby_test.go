package coroutine

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

// newGuarded starts a thread whose coroutines are left behind by standbys
// alone: it has no monitor. No function has credit.
func newGuarded(t *testing.T) *thread {
	t.Helper()
	th := newRoamer(Config{Idle: 4})
	if err := th.guard(); err != nil {
		th.stop()
		t.Skip("without NETCO_CONTEXT=asm, or membarrier(2), there are no standbys: ", err)
	}
	return th
}

// guard has standbys leave the coroutines of th behind, if that is possible.
func (th *thread) guard() error {
	if err := cmp.Or(CanLeave(), sysx.EnableBarriers()); err != nil {
		return err
	}
	for i := range fnCredits {
		fnCredits[i].Store(0)
	}
	th.ex.SetStandby(Standby{Barrier: sysx.Barrier, forNs: 1 << 60})
	return nil
}

// calm has the executor start no standby for a start as such.
func (th *thread) calm() { th.spawn(th.calmHere).Join() }

// calmHere is calm by a coroutine.
func (th *thread) calmHere() {
	if goruntime.RaceEnabled {
		defer Own()()
	}
	th.ex.freeStandbys = 0
}

// monitored has the current coroutine left behind, as a monitor does.
func (th *thread) monitored() {
	for n := th.ex.Stats.Handoffs.Load(); th.ex.Stats.Handoffs.Load() == n; {
		th.ex.Rescue(func() {})
		time.Sleep(time.Millisecond)
	}
}

// block blocks until the thread goes on without the caller, and then for a
// while that is worth it.
func (th *thread) block() {
	for n := th.ex.Stats.Handoffs.Load(); th.ex.Stats.Handoffs.Load() == n; {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(2 * longAwayNs)
}

// TestStandbyFirst: the first coroutines that a thread runs do not hold it up,
// however many of them block at their start.
func TestStandbyFirst(t *testing.T) {
	th := newGuarded(t)
	defer th.stop()
	c := make(chan int)
	var begun atomic.Int32
	for range 2 * freeAtFirst { // each handoff has the next ones guarded in turn
		th.spawn(func() { begun.Add(1); <-c })
	}
	testenv.Until(t, "all to begin", func() bool { return begun.Load() == 2*freeAtFirst })
	n := th.ex.Stats.Handoffs.Load()
	testenv.True(t, n >= 2*freeAtFirst-1, "%d handoffs", n)
	close(c)
}

// TestStandbyHabit: what the monitor has left behind once is left behind
// without it when it blocks again. A coroutine that expects to block is left
// behind at once.
func TestStandbyHabit(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(th *thread, block func())
	}{
		{"function", func(th *thread, block func()) {
			h := th.spawn(block)
			th.monitored()
			h.Join()
			th.calm()
			for range 3 * maxCredit {
				th.spawn(block).Join()
				th.calm()
			}
		}},
		{"coroutine", func(th *thread, block func()) {
			h := th.spawn(func() {
				for range 3*maxCredit + 1 {
					Yield()
					th.calmHere()
					block()
				}
			})
			th.monitored()
			h.Join()
		}},
		{"expected", func(th *thread, block func()) {
			for range 3*maxCredit + 1 {
				th.guard()
				th.calm()
				th.spawn(func() { ExpectBlock(); block() }).Join()
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			th := newGuarded(t)
			defer th.stop()
			th.calm()
			c.run(th, th.block)
			testenv.Equal(t, th.ex.Stats.Handoffs.Load(), 3*maxCredit+1, "handoffs")
		})
	}
}

// TestStandbyGoesOn: a standby whose coroutine wakes just as it is about to be
// left behind does not leave it behind, and is still there when the coroutine
// blocks again. The coroutine's next operation waits for the standby.
func TestStandbyGoesOn(t *testing.T) {
	th := newGuarded(t)
	defer th.stop()
	wake, awake := make(chan int), make(chan int)
	var first sync.Once
	var rejoined atomic.Bool
	th.ex.SetStandby(Standby{forNs: 1 << 60, Barrier: func() {
		first.Do(func() {
			wake <- 1
			<-awake
			for range 1000 { // an operation that does not wait has begun by then
				runtime.Gosched()
			}
			testenv.True(t, !rejoined.Load(), "an operation has begun meanwhile")
		})
		sysx.Barrier()
	}})
	th.spawn(func() {
		<-wake
		close(awake)
		Rejoin()
		rejoined.Store(true)
		testenv.Equal(t, th.ex.Stats.Handoffs.Load(), 0, "handoffs of one that had woken")
		if !t.Failed() {
			th.block()
		}
	}).Join()
	testenv.Equal(t, th.ex.Stats.Handoffs.Load(), 1, "handoffs")
}

// TestStandbyEnds: code that has blocked once does not have standbys for ever,
// and code that has never blocked has none.
func TestStandbyEnds(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	th := newGuarded(t)
	defer th.stop()
	th.calm()
	var before uint64
	h := th.spawn(func() {
		before = th.ex.Stats.Standbys.Load()
		th.block()
		Rejoin()
		for range 100 {
			th.spawn(func() {})
			th.ex.freeStandbys = 0
			th.ex.budget = 0 // Yield switches
			Yield()
		}
	})
	th.monitored()
	h.Join()
	testenv.Equal(t, th.ex.Stats.Standbys.Load()-before, maxCredit, "standbys")
}

// TestCreditEnds: a coroutine has nothing of the credit of the one that its
// worker ran before, also where credit is not checked as it starts.
func TestCreditEnds(t *testing.T) {
	th := newGuarded(t)
	defer th.stop()
	var before *worker
	th.spawn(func() {
		th.block()
		before = CurrentWorker()
		testenv.True(t, before.credit > 0 && before.paid, "%d of %v", before.credit, before.paid)
	}).Join()
	creditUntil.Store(0)
	th.spawn(func() {
		w := CurrentWorker()
		testenv.True(t, w == before && w.credit == 0 && !w.paid, "%d of %v", w.credit, w.paid)
	}).Join()
}

// TestCredit: how the credit of a coroutine and of its function changes, and
// when a standby does not sit a wait out.
func TestCredit(t *testing.T) {
	type step func(w *worker)
	start := func(w *worker) {
		w.credit, w.paid = 0, false // as the end of the coroutine before leaves them
		w.takeCredit()
	}
	runs := func(w *worker) { w.ex.startStandby(w) }
	left := func(w *worker) { w.creditLeft() }
	short := func(w *worker) { w.adjustCredit(false) }
	long := func(w *worker) { w.adjustCredit(true) }
	other := func(w *worker) { fnCreditOf(w.co.Own().fn).set(2) } // one of the same function
	for _, c := range []struct {
		name        string
		steps       []step
		own, common uint8
	}{
		{"never blocked", []step{start, runs, runs}, 0, 0},
		{"nor before another", []step{start, runs, other, runs, runs}, maxCredit - 2, 1},
		{"left", []step{start, left}, 1, 1},
		{"then short", []step{start, left, short}, 0, 0},
		{"then long", []step{start, left, long}, maxCredit, maxFnCredit},
		{"then short again", []step{start, left, long, short}, maxCredit / 2, maxFnCredit / 2},
		{"runs", []step{start, left, long, runs, runs}, maxCredit - 2, maxFnCredit},
		{"and two start", []step{start, left, long, start, start}, maxCredit, maxFnCredit - 2},
		{"another starts", []step{left, start}, maxCredit, 0},
		{"and runs", []step{left, start, runs, runs}, maxCredit - 2, 0},
		{"and is left", []step{left, start, runs, left}, maxCredit, 1},
		{"and starts again", []step{left, start, runs, left, start, runs, left}, maxCredit, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &worker{ex: newExecutor()}
			w.ex.freeStandbys = 0
			w.co.Set(&Coroutine{fn: func() { t.Error("called") }})
			h := fnCreditOf(w.co.Own().fn)
			h.set(0)
			for _, step := range c.steps {
				step(w)
				w.ex.freeStandbys = 0
			}
			testenv.True(t, w.credit == c.own && h.credit() == c.common, "%d and %d, not %d and %d",
				w.credit, h.credit(), c.own, c.common)
			long := c.common > maxFnCredit/2
			testenv.Equal(t, h.afterNs() == sureAfterNs, long, "the function's waits are long")
		})
	}
}
