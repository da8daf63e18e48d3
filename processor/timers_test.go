package processor

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
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
	eventually(t, "all timers to leave", func() bool { return pending(t, p) == 0 })
}

// TestFuncFires: once, not early, in a coroutine of its home, which may park.
func TestFuncFires(t *testing.T) {
	within(t, 3*time.Minute)
	p := started(t, 2).members[1]
	for _, d := range []time.Duration{-time.Hour, 0, 1, time.Microsecond, 3 * time.Millisecond} {
		var fired atomic.Int32
		var at time.Time
		began := time.Now()
		f := funcOn(t, p, d, func() {
			at = time.Now()
			if Current() != p || coroutine.Current() == nil {
				t.Error("not a coroutine of the home")
			}
			Sleep(1)
			if !p.group.Active() {
				t.Error("what it has started does not count as life")
			}
			fired.Add(1)
		})
		eventually(t, "it fires", func() bool { return fired.Load() > 0 })
		if at.Sub(began) < d {
			t.Errorf("after %v, want %v at least", at.Sub(began), d)
		}
		if f.Stop() || fired.Load() != 1 {
			t.Errorf("%v: it has fired %d times and can still be stopped", d, fired.Load())
		}
		if f.Reset(d) {
			t.Error("Reset of one that has fired says that it was to fire")
		}
		eventually(t, "it fires again", func() bool { return fired.Load() == 2 })
	}
}

// TestFuncWords goes through the states on the home's thread and from
// elsewhere.
func TestFuncWords(t *testing.T) {
	within(t, 3*time.Minute)
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
					if got := step.do(); got != step.want {
						t.Errorf("step %d: %v", i, got)
					}
				}
			})
			noneLeft(t, p)
			funcOn(t, p, math.MaxInt64, never)
			noneLeft(t, p) // nor one that is never due
		})
	}
}

// TestFuncResetHammer gives a Func a new time just as its home follows an
// earlier change. A change that is missed there is a hang.
func TestFuncResetHammer(t *testing.T) {
	within(t, 3*time.Minute)
	p := started(t, 1).members[0]
	var over atomic.Bool
	var fired atomic.Int64
	busy := p.Pinned(func() {
		for !over.Load() {
			coroutine.Yield()
		}
	})
	f := funcOn(t, p, time.Hour, func() { fired.Add(1) })
	for i := range strikes(scaled(20_000), 100) {
		f.Reset(time.Hour)
		for range rand.IntN(200) {
			_ = fired.Load()
		}
		f.Reset(0)
		for end := time.Now().Add(20 * time.Second); fired.Load() != int64(i+1); {
			if time.Now().After(end) {
				t.Fatalf("round %d: it has not fired", i)
			}
			runtime.Gosched()
		}
	}
	over.Store(true)
	busy.Join()
}

// TestFuncMovedEarlier: one that is moved nearer by another thread fires then,
// although its home sleeps.
func TestFuncMovedEarlier(t *testing.T) {
	within(t, 3*time.Minute)
	p := started(t, 1).members[0]
	var fired atomic.Int32
	f := funcOn(t, p, time.Hour, func() { fired.Add(1) })
	for i := range int32(50) {
		eventually(t, "the home sleeps", p.Idle)
		if i%2 == 1 {
			f.Reset(time.Hour)
			f.Stop()
		}
		f.Reset(time.Duration(i%3) * time.Microsecond)
		eventually(t, "it fires", func() bool { return fired.Load() == i+1 })
		if f.Reset(time.Hour) {
			t.Error("it has fired and is still to fire")
		}
	}
}

// TestStoppedFuncsLeave: Funcs that another thread stops are taken off the heap
// of a Processor that sleeps, but for a few.
func TestStoppedFuncsLeave(t *testing.T) {
	within(t, 3*time.Minute)
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
			eventually(t, "the home sleeps", p.Idle)
		}
		if !funcs[i].Stop() {
			t.Fatal("it was not to fire")
		}
	}
	eventually(t, "they are taken off", func() bool {
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
		if n := p.pending(); n != 0 {
			t.Errorf("%d timers are left that their own thread has stopped", n)
		}
	})
}

// TestFuncAtTheEnd: a pending Func delays no end and does not fire; calls of
// the others' methods go on to work.
func TestFuncAtTheEnd(t *testing.T) {
	within(t, 3*time.Minute)
	for _, ph := range []Phase{Draining, Stopping} {
		g := newGroup(t, 1)
		p := g.members[0]
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		var fired atomic.Int32
		count := func() { fired.Add(1) }
		early, late := funcOn(t, p, time.Hour, count), funcOn(t, p, time.Hour, count)
		<-g.Quiet()
		if g.Active() {
			t.Error("a pending Func counts as life")
		}
		g.Advance(ph)
		early.Reset(0)
		eventually(t, "its time comes", func() bool { return early.when.Load() == 0 })
		end(g)
		if !late.Stop() || late.Reset(0) || !late.Stop() || early.Reset(0) {
			t.Error("wrong answers after the end")
		}
		if fired.Load() != 0 {
			t.Errorf("phase %v: %d have fired when nothing lived any more", ph, fired.Load())
		}
	}
}

// TestFuncWhileDraining: what still lives may wait for it.
func TestFuncWhileDraining(t *testing.T) {
	within(t, 3*time.Minute)
	g := newGroup(t, 2)
	for _, p := range g.members {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
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
		if n := testing.AllocsPerRun(100, func() {
			f.Stop()
			f.Reset(time.Hour)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		f.Stop()
	})
}
