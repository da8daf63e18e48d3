package coroutine

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// rangedOver returns what Range says of h's coroutine, and how often it says
// it.
func rangedOver(h Handle) (found Info, times int) {
	Range(func(i Info) bool {
		if i.ID == h.ID() {
			found = i
			times++
		}
		return true
	})
	return found, times
}

// waits reports whether h's coroutine is parked.
func waits(h Handle) bool {
	i, ok := Find(h.ID())
	return ok && i.State == Waiting
}

// TestRange: what Range says of coroutines that are ready, run, wait, have
// ended and have not started.
func TestRange(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	const turn = 7_000_000_000
	on(plain, func(ex *Executor) {
		ex.SetClock(turn)
		site := asm.CallerPC()
		sleeper := ex.Spawn(Spawn{Name: "sleeper", internals: internals{Site: site},
			Fn: func() { Current().Park(ReasonRead) }}).Handle()
		yielder := ex.Spawn(Spawn{Fn: func() {
			for { // the end by force unwinds it
				Yield()
			}
		}}).Handle()
		ended := ex.Spawn(Spawn{Fn: func() {}, Name: "ended"}).Handle()
		if _, n := rangedOver(sleeper); n != 0 {
			t.Error("one that has not started is seen")
		}
		Yield()
		i, n := rangedOver(sleeper)
		testenv.True(t, n == 1 && i.Name == "sleeper" && i.State == Waiting &&
			i.Reason == ReasonRead && i.WaitsFor == "data to read" && i.Host == ex.Host() &&
			i.Site == site && i.Coroutine.Handle() == sleeper, "seen %d times: %+v", n, i)
		d := turn - i.Since
		testenv.True(t, d >= 0 && d < 1<<stampUnit, "since %d, want %d", i.Since, turn)
		testenv.Equal(t, i.Func, "", "resolved before Resolve")
		if i.Resolve(); !strings.HasSuffix(i.File, ".go") || i.Line == 0 || i.Func == "" {
			t.Errorf("made at %s:%d in %s", i.File, i.Line, i.Func)
		}
		if i, n := rangedOver(yielder); n != 1 || i.State != Ready || i.Reason != ReasonNone ||
			i.WaitsFor != "" || i.Name != "" {
			t.Errorf("the one that yields is seen %d times: %+v", n, i)
		}
		if i, n := rangedOver(Current().Handle()); n != 1 || i.State != Running {
			t.Errorf("the one that runs is seen %d times: %+v", n, i)
		}
		if i, n := rangedOver(ended); n != 0 {
			t.Errorf("one that has ended is seen: %+v", i)
		}
		for _, id := range []uint64{ended.ID(), 0} {
			if _, ok := Find(id); ok {
				t.Errorf("Find finds %d", id)
			}
		}
		seen := 0
		Range(func(Info) bool { seen++; return false })
		testenv.True(t, seen == 1, "Range went on to %d after false", seen)
		ex.SetClock(turn + 5_000_000_000)
		ex.MakeReady(i.Coroutine, i.Coroutine.Ticket(), WakeReady)
		if i, _ := rangedOver(sleeper); i.State != Ready || i.Since-turn < 4_999_000_000 {
			t.Errorf("made ready, it is %+v", i)
		}
		ex.Stop()
	})
}

// TestRangeInFiber: a coroutine that runs coroutines by hand, within one
// another, is seen once, whether it waits there or not.
func TestRangeInFiber(t *testing.T) {
	on(plain, func(ex *Executor) {
		inner := func() {
			i, n := rangedOver(Current().Handle())
			testenv.True(t, n == 1 && i.State == Running && i.Name == "deep",
				"within, it is seen %d times: %+v", n, i)
			Current().Park(ReasonUser)
		}
		co := ex.Spawn(Spawn{Fn: func() {
			New(func(y *Yielder[int, int], in int) int {
				f := New(func(y *Yielder[int, int], in int) int {
					inner()
					y.Yield(0)
					inner()
					return 0
				})
				f.Resume(0)
				f.Resume(0)
				return 0
			}).Resume(0)
		}, Name: "deep"})
		h := co.Handle()
		for range 2 {
			Yield()
			if i, n := rangedOver(h); n != 1 || i.State != Waiting {
				t.Errorf("from outside, it is seen %d times: %+v", n, i)
			}
			ex.MakeReady(co, co.Ticket(), WakeReady)
		}
	})
}

// TestRangeAllocs: a Range allocates nothing for the coroutines it sees.
func TestRangeAllocs(t *testing.T) {
	testenv.NoRace(t)
	on(plain, func(ex *Executor) {
		for range 100 {
			ex.Spawn(Spawn{Fn: func() {
				Current().Park(ReasonUser)
			}, Name: "one of many", internals: internals{Site: asm.CallerPC()}})
		}
		Yield()
		n := 0
		got := testenv.Allocs(100, func() {
			Range(func(Info) bool { n++; return true })
		})
		testenv.True(t, got == 0, "%v allocations", got)
		testenv.True(t, n >= 100, "%d seen", n)
		ex.Stop()
	})
}

// rangeHammer is coroutines, and what Range says of them.
type rangeHammer struct {
	t          *testing.T
	stayers    sync.Map // ids of those that stay
	lives      sync.Map // id to the name and site of the others
	seen       [3]map[uint64]Info
	over, some atomic.Bool // some of the others were seen
}

const staying = 40

// look ranges, and keeps the Infos in seen.
func (h *rangeHammer) look(seen map[uint64]Info) {
	for !h.over.Load() {
		now := map[uint64]bool{}
		found := 0
		Range(func(i Info) bool {
			testenv.True(h.t, !now[i.ID], "%d is seen twice", i.ID)
			now[i.ID] = true
			if _, ok := h.stayers.Load(i.ID); ok {
				found++
				testenv.True(h.t, i.State == Waiting && i.Reason == ReasonJoin,
					"one that stays is %v for %v", i.State, i.Reason)
			} else if old, ok := seen[i.ID]; ok &&
				(old.Name != i.Name || old.Site != i.Site || old.Coroutine != i.Coroutine) {
				h.t.Errorf("%+v was %+v", i, old)
			} else {
				seen[i.ID] = i
				if _, ok := h.lives.Load(i.ID); ok {
					h.some.Store(true)
				}
			}
			return true
		})
		testenv.True(h.t, found == staying, "%d of %d seen", found, staying)
	}
}

// live is what coroutine k does.
func (h *rangeHammer) live(k int, name string) {
	co := Current()
	h.lives.Store(co.ID(), Info{Name: name, Site: uintptr(k)})
	ex := co.Executor()
	New(func(y *Yielder[int, int], in int) int {
		for range k % 3 {
			ticket := co.Ticket()
			ex.Spawn(Spawn{Fn: func() { co.MakeReady(ticket, WakeReady) }})
			co.Park(ReasonUser)
		}
		return 0
	}).Resume(0)
	Yield()
}

// check compares what was seen with what was, and returns of how many.
func (h *rangeHammer) check() (named int) {
	for _, all := range h.seen {
		for id, i := range all {
			life, ok := h.lives.Load(id)
			if !ok {
				continue // a helper
			}
			named++
			if want := life.(Info); i.Name != want.Name || i.Site != want.Site {
				h.t.Errorf("%d was seen as %q made at %d, is %q at %d", id, i.Name, i.Site,
					want.Name, want.Site)
			}
		}
	}
	return named
}

// TestRangeHammer: while coroutines start, park, run fibers and end on two
// threads, goroutines range. Coroutines that stay are seen exactly once each
// time; no other is seen twice, and each Info has a coroutine's own id, name
// and site.
func TestRangeHammer(t *testing.T) {
	threads := []*thread{newThread(Config{Idle: 8}), newThread(Config{Idle: 0})}
	h := &rangeHammer{t: t}
	for k := range staying {
		stays := threads[k%2].spawn(func() {
			h.stayers.Store(Current().ID(), true)
			Current().Park(ReasonJoin)
		})
		testenv.Until(t, "it stays", func() bool { return waits(stays) })
	}
	var lookers, churn sync.WaitGroup
	for k := range h.seen {
		h.seen[k] = map[uint64]Info{}
		lookers.Go(func() { h.look(h.seen[k]) })
	}
	for k := 0; k < testenv.Rounds(10_000) || !h.some.Load(); k++ {
		name := ""
		if k%3 != 0 {
			name = fmt.Sprint("life ", k)
		}
		churn.Add(1)
		live := func() { defer churn.Done(); h.live(k, name) }
		threads[k%2].submit(Make(nil, &Spawn{Fn: live, Name: name,
			internals: internals{Site: uintptr(k)}}))
		if k%64 == 63 {
			churn.Wait()
		}
	}
	churn.Wait()
	h.over.Store(true)
	lookers.Wait()
	named := h.check()
	testenv.True(t, named != 0, "none was seen")
	t.Logf("%d seen", named)
	for _, th := range threads {
		th.stopByForce()
	}
}

// TestRangeReuse: one struct and one worker run one short coroutine after the
// other, faster than goroutines can read. Each Info's fields are of one
// coroutine.
func TestRangeReuse(t *testing.T) {
	th := newThread(plain)
	var over atomic.Bool
	lives := map[uint64]int{}
	h := th.spawn(func() {
		defer over.Store(true)
		names := [...]string{"", "a", "b"}
		for k := range testenv.Rounds(200_000) {
			co := th.ex.Spawn(Spawn{Fn: func() {
				for range k % 20 {
					Current()
				}
			}, Name: names[k%3], internals: internals{Site: uintptr(k + 1)}})
			lives[co.ID()] = k
			Yield()
		}
	})
	seen := map[uint64]Info{}
	for !over.Load() {
		Range(func(i Info) bool {
			if i.Site != 0 || i.ID != h.ID() {
				seen[i.ID] = i
			}
			return true
		})
	}
	h.Join()
	for id, i := range seen {
		if k, ok := lives[id]; !ok || i.Site != uintptr(k+1) ||
			i.Name != [...]string{"", "a", "b"}[k%3] || i.State == Dead {
			t.Errorf("%d, the %dth, was seen as %+v", id, k, i)
		}
	}
	t.Logf("%d seen", len(seen))
	th.stop()
}

// TestStatusWord: state, reason and time do not get in one another's way, and
// an old clock wraps without harm.
func TestStatusWord(t *testing.T) {
	for _, now := range []int64{0, 1, 1023, 1024, 1 << 40, 1 << 57, math.MaxInt64} {
		var ex Executor
		ex.SetClock(now)
		co := new(Coroutine)
		co.setState(Waiting, ReasonContext, ex.stamp)
		testenv.True(t, co.State() == Waiting && co.Reason() == ReasonContext, "at %d: %v, %v", now,
			co.State(), co.Reason())
		got, want := since(co.status.Own()), now>>stampUnit<<stampUnit&(1<<58-1)
		testenv.True(t, got == want, "at %d: since %d, want %d", now, got, want)
	}
}

// TestReasons: each reason has its name and words.
func TestReasons(t *testing.T) {
	for r := ReasonSleep; r < Reasons; r++ {
		testenv.True(t, reasons[r].words != "" && r.String() != "", "reason %d has no words", r)
	}
}
