package processor

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// funcOn makes a Func on p, from the test's goroutine.
func funcOn(t testing.TB, p *Processor, d time.Duration, fn func()) *Func {
	f := new(Func)
	on(t, p, func() { f.Init(p, d, fn, 0) })
	return f
}

// pending returns how many timers p has.
func pending(t testing.TB, p *Processor) (n int) {
	on(t, p, func() { n = p.pending() })
	return n
}

// pending is the function pending for the owner.
func (p *Processor) pending() int {
	if goruntime.RaceEnabled {
		defer coroutine.Own()()
	}
	return p.timers.Len()
}

// noneLeft waits until p has no timers. The turn that began before another
// thread's last Stop has not seen that.
func noneLeft(t testing.TB, p *Processor) {
	t.Helper()
	testenv.Until(t, "all timers to leave", func() bool { return pending(t, p) == 0 })
}

// TestFuncFires: once, not early, in a coroutine of its home, which may park.
func TestFuncFires(t *testing.T) {
	p := started(t, 2).members[1]
	for _, d := range []time.Duration{-time.Hour, 0, 1, time.Microsecond, 3 * time.Millisecond} {
		var fired atomic.Int32
		var at time.Time
		began := time.Now()
		f := funcOn(t, p, d, func() {
			at = time.Now()
			testenv.True(t, Current() == p && coroutine.Current() != nil,
				"not a coroutine of the home")
			Sleep(1)
			testenv.True(t, p.group.Active(), "what it has started does not count as life")
			fired.Add(1)
		})
		testenv.Until(t, "it fires", func() bool { return fired.Load() > 0 })
		testenv.True(t, at.Sub(began) >= d, "after %v, want %v at least", at.Sub(began), d)
		testenv.True(t, !f.Stop() && fired.Load() == 1,
			"%v: it has fired %d times and can still be stopped", d, fired.Load())
		testenv.True(t, !f.Reset(d), "Reset of one that has fired says that it was to fire")
		testenv.Until(t, "it fires again", func() bool { return fired.Load() == 2 })
	}
}

// TestFuncWords goes through the states on the home's thread and from
// elsewhere.
func TestFuncWords(t *testing.T) {
	p := started(t, 1).members[0]
	for name, by := range map[string]func(func()){
		"home":      func(f func()) { on(t, p, f) },
		"goroutine": func(f func()) { f() },
	} {
		t.Run(name, func(t *testing.T) {
			never := func() { t.Error("it fired") }
			f := funcOn(t, p, time.Hour, never)
			by(func() {
				for i, step := range []struct {
					do   func() bool
					want bool
				}{
					{f.Stop, true},
					{f.Stop, false},
					{func() bool { return f.Reset(time.Hour) }, false},
					{func() bool { return f.Reset(2 * time.Hour) }, true},
					{func() bool { return f.Reset(math.MaxInt64) }, true},
					{f.Stop, true},
					{func() bool { return f.Reset(math.MaxInt64) }, false},
					{f.Stop, true},
				} {
					testenv.Equal(t, step.do(), step.want, "step", i)
				}
			})
			noneLeft(t, p)
			funcOn(t, p, math.MaxInt64, never)
			noneLeft(t, p) // nor one that is never due
		})
	}
}

// TestFuncResetHammer gives Funcs a new time just as their home follows an
// earlier change: it goes through them at another pace. A change that is missed
// there is a hang.
func TestFuncResetHammer(t *testing.T) {
	p := started(t, 1).members[0]
	var over atomic.Bool
	var fired atomic.Int32
	busy := p.Pinned(func() {
		for !over.Load() {
			coroutine.Yield()
		}
	})
	funcs := make([]Func, 1000)
	on(t, p, func() {
		for i := range funcs {
			funcs[i].Init(p, time.Hour, func() { fired.Add(1) }, 0)
		}
	})
	spell := time.Duration(testenv.Rounds(2_000)) * time.Millisecond
	for began := time.Now(); time.Since(began) < spell; {
		fired.Store(0)
		for rest := funcs; len(rest) > 0; {
			n := min(1+rand.IntN(30), len(rest))
			for _, d := range []time.Duration{time.Hour, 0} {
				for i := range rest[:n] {
					rest[i].Reset(d)
				}
			}
			rest = rest[n:]
		}
		testenv.Until(t, "all fire", func() bool { return int(fired.Load()) == len(funcs) })
	}
	over.Store(true)
	busy.Join()
}

// TestFuncMovedEarlier: a Func that another thread moves earlier fires on time,
// although its home sleeps.
func TestFuncMovedEarlier(t *testing.T) {
	p := started(t, 1).members[0]
	var fired atomic.Int32
	f := funcOn(t, p, time.Hour, func() { fired.Add(1) })
	for i := range int32(50) {
		testenv.Until(t, "the home sleeps", p.Idle)
		if i%2 == 1 {
			f.Reset(time.Hour)
			f.Stop()
		}
		f.Reset(time.Duration(i%3) * time.Microsecond)
		testenv.Until(t, "it fires", func() bool { return fired.Load() == i+1 })
		testenv.True(t, !f.Reset(time.Hour), "it has fired and is still to fire")
	}
}

// TestStoppedFuncsLeave: Funcs that another thread stops are taken off the heap
// of a Processor that sleeps, but for a few.
func TestStoppedFuncsLeave(t *testing.T) {
	p := started(t, 1).members[0]
	const n = 10_000
	funcs := make([]Func, n)
	on(t, p, func() {
		for i := range funcs {
			funcs[i].Init(p, time.Hour, func() { t.Error("it fired") }, 0)
		}
	})
	for i := range funcs {
		if i%100 == 0 {
			testenv.Until(t, "the home sleeps", p.Idle)
		}
		if !funcs[i].Stop() {
			t.Fatal("it was not to fire")
		}
	}
	testenv.Until(t, "they are taken off", func() bool {
		left := 0
		for i := range funcs {
			if funcs[i].queued.Load() {
				left++
			}
		}
		return left < stoppedRing
	})
	noneLeft(t, p)
	on(t, p, func() {
		for i := range funcs {
			funcs[i].Reset(time.Hour)
			funcs[i].Stop()
		}
		testenv.Equal(t, p.pending(), 0, "timers are left that their own thread has stopped")
	})
}

// TestFuncAtTheEnd: a pending Func delays no end and does not fire; calls of
// the others' methods go on to work.
func TestFuncAtTheEnd(t *testing.T) {
	for _, ph := range []Phase{Draining, Stopping} {
		g := newGroup(t, 1)
		p := g.members[0]
		testenv.OK(t, p.Start())
		var fired atomic.Int32
		count := func() { fired.Add(1) }
		early, late := funcOn(t, p, time.Hour, count), funcOn(t, p, time.Hour, count)
		<-g.Quiet()
		testenv.True(t, !g.Active(), "a pending Func counts as life")
		g.Advance(ph)
		early.Reset(0)
		testenv.Until(t, "its time comes", func() bool { return early.when.Load() == 0 })
		end(g)
		testenv.True(t, late.Stop() && !late.Reset(0) && late.Stop() && !early.Reset(0),
			"wrong answers after the end")
		testenv.Equal(t, fired.Load(), 0, "phase", ph, "have fired when nothing lived any more")
	}
}

// TestFuncWhileDraining: what still lives may wait for it.
func TestFuncWhileDraining(t *testing.T) {
	g := newGroup(t, 2)
	for _, p := range g.members {
		testenv.OK(t, p.Start())
	}
	var fired atomic.Bool
	h := g.members[1].Pinned(func() {
		for !fired.Load() {
			Sleep(time.Microsecond)
		}
	})
	f := funcOn(t, g.members[0], time.Hour, func() { fired.Store(true) })
	g.Advance(Draining)
	f.Reset(time.Millisecond)
	h.Join()
	end(g)
}

// TestFuncAllocates nothing.
func TestFuncAllocates(t *testing.T) {
	p := started(t, 1).members[0]
	on(t, p, func() {
		var f Func
		fn := func() {}
		f.Init(p, time.Hour, fn, 0)
		n := testing.AllocsPerRun(100, func() {
			f.Stop()
			f.Reset(time.Hour)
		})
		testenv.True(t, n == 0, "%v allocations", n)
		f.Stop()
	})
}
