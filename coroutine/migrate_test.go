package coroutine

import (
	gocontext "context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// needMoves skips a test of what is not there with the portable backend, where
// nothing moves: TestStays holds that.
func needMoves(t testing.TB) {
	t.Helper()
	if !context.Direct() {
		t.Skip("with the portable backend coroutines do not move; NETCO_CONTEXT=asm has those " +
			"that do")
	}
}

// newRoamers starts n threads among which coroutines move.
func newRoamers(n int) []*thread {
	var list []*thread
	for range n {
		list = append(list, newRoamer(Config{Idle: 4}))
	}
	return list
}

// stopAll stops threads among which coroutines move: none ends while a
// coroutine lives on another thread and could move there.
func stopAll(list []*thread) {
	for {
		live := 0
		for _, th := range list {
			th.mu.Lock()
			live += int(th.ex.Stats.Live.Load()) + len(th.births) + len(th.moved) + th.coming
			th.mu.Unlock()
		}
		if live == 0 {
			break
		}
		runtime.Gosched()
	}
	for _, th := range list {
		th.stop()
	}
}

// TestMoves: a coroutine runs on, on another executor, with all that it had.
func TestMoves(t *testing.T) {
	needMoves(t)
	threads := newRoamers(4)
	local := NewLocal(LocalOptions[int]{})
	h := threads[0].spawn(func() {
		co := Current()
		id := co.ID()
		local.Set(42)
		testenv.True(t, !co.Moved(), "has moved before it did")
		for i := 1; i <= 100; i++ {
			th := threads[i%len(threads)]
			if !co.MoveTo(&th.ex) {
				t.Fatalf("move %d: it stays", i)
			}
			switch {
			case Current() != co || co.ID() != id || co.State() != Running || !co.Moved():
				t.Errorf("move %d: it is another", i)
			case co.Executor() != &th.ex || CurrentExecutor() != &th.ex || !th.ex.OnThread():
				t.Errorf("move %d: it is elsewhere", i)
			case th.ex.Stats.Live.Load() != 1 || th.ex.Stats.Workers.Load() != 1 ||
				th.ex.Current() != co:
				t.Errorf("move %d: %d live, %d workers", i, th.ex.Stats.Live.Load(),
					th.ex.Stats.Workers.Load())
			case *local.Get() != 42:
				t.Errorf("move %d: its local is lost", i)
			case co.MoveTo(&th.ex):
				t.Errorf("move %d: moved to where it is", i)
			}
			Yield()
			testenv.Equal(t, threads[i%len(threads)].ParkUntil(co, ReasonSleep, clock.Now()),
				WakeTimeout, "move", i, "its sleep ended with")
		}
	})
	testenv.NoError(t, h.Join())
	stopAll(threads)
	for i, th := range threads {
		want := uint64(0)
		if i == 0 {
			want = 1
		}
		s := &th.ex.Stats
		testenv.True(t, s.Live.Load() == 0 && s.Workers.Load() == 0 && s.Spawned.Load() == want &&
			s.Ended.Load() == want, "executor %d: %d live, %d workers, %d spawned, %d ended", i,
			s.Live.Load(), s.Workers.Load(), s.Spawned.Load(), s.Ended.Load())
	}
}

// stays are cases of coroutines that cannot move, or that other coroutines of
// their executor refer to.
var stays = []struct {
	name  string
	setUp func(t *testing.T, from, to *thread, co *Coroutine)
}{
	{"pinned", func(_ *testing.T, _, _ *thread, co *Coroutine) { co.Pin() }},
	{"has made a fiber", func(*testing.T, *thread, *thread, *Coroutine) {
		New(func(*Yielder[int, int], int) int { return 0 })
	}},
	{"has resumed a fiber", func(_ *testing.T, from, _ *thread, _ *Coroutine) {
		var f Fiber[int, int]
		h := from.ex.Spawn(Spawn{Fn: func() {
			f = New(func(*Yielder[int, int], int) int { return 0 })
		}}).Handle()
		for !h.Done() {
			Yield()
		}
		f.Resume(0)
	}},
	{"in a fiber", func(t *testing.T, _, to *thread, co *Coroutine) {
		New(func(*Yielder[int, int], int) int {
			testenv.True(t, !co.MoveTo(&to.ex), "moved from within a fiber")
			return 0
		}).Resume(0)
	}},
	{"stopped", func(_ *testing.T, _, _ *thread, co *Coroutine) { co.Handle().Stop() }},
	{"its executor ends by force", func(_ *testing.T, from, _ *thread, _ *Coroutine) {
		from.ex.Stop()
	}},
	{"stopped from elsewhere", func(_ *testing.T, _, _ *thread, co *Coroutine) {
		h := co.Handle()
		go h.Stop()
		for !Stopping() {
			Shield(Yield) // Yield would unwind
		}
	}},
	{"while it is made another", func(t *testing.T, _, to *thread, co *Coroutine) {
		NewLocal(LocalOptions[int]{Inherit: func(*int) int {
			testenv.True(t, !co.MoveTo(&to.ex), "moved in the middle of making another")
			return 0
		}}).Set(1)
		CurrentExecutor().Spawn(Spawn{Fn: func() {}})
		co.Pin() // for good
	}},
}

func TestStays(t *testing.T) {
	for _, c := range stays {
		t.Run(c.name, func(t *testing.T) {
			threads := newRoamers(2)
			threads[0].spawn(func() {
				co := Current()
				c.setUp(t, threads[0], threads[1], co)
				testenv.True(t, !co.MoveTo(&threads[1].ex) && co.Executor() == &threads[0].ex,
					"it has moved")
			})
			stopAll(threads)
		})
	}
	t.Run("to or from a locked thread", func(t *testing.T) {
		locked, roamer := newThread(plain), newRoamer(plain)
		for _, way := range [][2]*thread{{locked, roamer}, {roamer, locked}} {
			way[0].spawn(func() {
				testenv.True(t, !Current().MoveTo(&way[1].ex), "it has moved")
			}).Join()
		}
		stopAll([]*thread{locked, roamer})
	})
	t.Run("with the portable backend", func(t *testing.T) {
		threads := newRoamers(2)
		threads[0].spawn(func() {
			moved := Current().MoveTo(&threads[1].ex)
			testenv.True(t, moved == context.Direct(), "moved: %v", moved)
		})
		stopAll(threads)
	})
}

// TestLend: an executor's coroutines move when they call MoveOn, as long as
// Lend's function returns where to.
func TestLend(t *testing.T) {
	needMoves(t)
	for _, c := range []struct {
		name  string
		op    func(ex *Executor) // with another that is ready
		times int                // how often it returns where to
		moves bool
	}{
		{"Yield", func(*Executor) { Yield() }, 1, true},
		{"MoveOn", func(*Executor) { Current().MoveOn() }, 1, true},
		{"Join", func(ex *Executor) { ex.Spawn(Spawn{Fn: func() {}}).Handle().Join() }, 1, true},
		{"YieldTurn", func(*Executor) { YieldTurn() }, 1, false},
		{"pinned", func(*Executor) { Current().Pin(); Yield() }, 1, false},
		{"to nowhere", func(*Executor) { Yield() }, 0, false},
		{"not any more", func(ex *Executor) { ex.Lend(nil); Yield() }, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			threads := newRoamers(2)
			from, to := &threads[0].ex, &threads[1].ex
			threads[0].spawn(func() {
				left := c.times
				from.Lend(func() *Executor {
					if left == 0 {
						return nil
					}
					left--
					return to
				})
				from.Spawn(Spawn{Fn: func() {}})
				c.op(from)
				moved := CurrentExecutor() == to
				testenv.True(t, moved == c.moves, "moved: %v", moved)
			}).Join()
			stopAll(threads)
		})
	}
}

// TestFiberAfterMove: a fiber keeps the goroutine that has resumed it, which
// may run another coroutine by then, on another executor.
func TestFiberAfterMove(t *testing.T) {
	needMoves(t)
	threads := newRoamers(2)
	a, b := threads[0], threads[1]
	var f Fiber[int, int]
	var g uintptr
	a.spawn(func() {
		f = New(func(y *Yielder[int, int], in int) int {
			for {
				in, _ = y.Yield(in + 1)
			}
		})
		if out, err := f.Resume(1); out != 2 || err != nil {
			t.Error(out, err)
		}
		g = Current().w.Own().ctx.G()
	}).Join()
	a.spawn(func() {
		testenv.Equal(t, Current().w.Own().ctx.G(), g, "it has another goroutine")
		testenv.True(t, Current().MoveTo(&b.ex), "it stays")
		testenv.Equal(t, testenv.Err(f.Resume(1)), ErrWrongThread, "resumed away from its executor")
	}).Join()
	b.spawn(func() {
		testenv.Equal(t, Current().w.Own().ctx.G(), g, "not on the goroutine that has moved")
		testenv.Equal(t, testenv.Err(f.Resume(1)), ErrWrongThread, "resumed away from its executor")
	}).Join()
	a.spawn(func() {
		if out, err := f.Resume(1); out != 2 || err != nil {
			t.Error(out, err)
		}
		f.Cancel()
	}).Join()
	stopAll(threads)
}

// TestInTransit: whatever is done to a coroutine that has left one executor and
// has not arrived at the other is done there.
func TestInTransit(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	needMoves(t)
	for _, c := range []struct {
		name string
		do   func(h Handle, ticket uint64)
		stop bool
	}{
		{"Stop", func(h Handle, _ uint64) { h.Stop() }, true},
		{"an old wake", func(h Handle, at uint64) { h.co.MakeReady(at-1, WakeTimeout) }, false},
		{"an early wake", func(h Handle, at uint64) { h.co.MakeReady(at, WakeReady) }, false},
		{"Stack", stackOnce, false},
		{"Join", joinBeside, false},
	} {
		for _, by := range []string{"a goroutine", "the old executor", "the new executor"} {
			t.Run(c.name+" by "+by, func(t *testing.T) {
				inTransit(t, by, c.do, c.stop)
			})
		}
	}
}

// inTransit has a goroutine, or a coroutine of the old or the new executor, do
// something to a coroutine on its way, and checks that it arrives, to be
// stopped or not.
func inTransit(t *testing.T, by string, do func(h Handle, ticket uint64), stop bool) {
	threads := newRoamers(3)
	from, to := threads[0], threads[1]
	to.hold(true)
	var ticket uint64
	h := from.spawn(func() {
		co := Current()
		ticket = co.Ticket()
		testenv.True(t, co.MoveTo(&to.ex), "it stays")
		if stop != Stopping() {
			t.Errorf("stopping: %v", Stopping())
		}
		for co.Ticket() == ticket && co.Park(ReasonUser) != WakeShutdown {
		}
	})
	testenv.Until(t, "it is on its way", func() bool {
		to.mu.Lock()
		defer to.mu.Unlock()
		return len(to.moved) == 1
	})
	switch by {
	case "a goroutine":
		do(h, ticket)
	case "the old executor":
		from.spawn(func() { do(h, ticket) }).Join()
	case "the new executor":
		to.spawn(func() { do(h, ticket) }).Join()
	}
	to.spawn(func() {}).Join() // what was posted before has arrived
	testenv.True(t, h.co.State() == Ready && !h.Done(), "on its way it is %v", h.co.State())
	to.hold(false)
	for !stop && !h.Done() && h.co.State() != Waiting {
		runtime.Gosched()
	}
	h.co.MakeReady(ticket, WakeReady)
	h.Join()
	stopAll(threads)
}

// stackOnce asks for a coroutine's stack.
func stackOnce(h Handle, _ uint64) {
	text, err := Info{Coroutine: h.co, ID: h.id}.Stack(gocontext.Background())
	if err != nil || !strings.Contains(text, "MoveTo") {
		panic(errors.Join(err, errors.New(text)))
	}
}

// joinBeside begins to wait for a coroutine's end where the caller is.
func joinBeside(h Handle, _ uint64) {
	join := func() {
		if err := h.Join(); err != nil {
			panic(err)
		}
	}
	if ex := CurrentExecutor(); ex != nil {
		ex.Spawn(Spawn{Fn: join})
		Yield()
	} else {
		go join()
	}
}

// moveHammer is a set of coroutines that move round several executors.
type moveHammer struct {
	t       *testing.T
	threads []*thread
	goesOn  func() bool
	slots   [40]moveSlot

	born, stopped, moves atomic.Int64
	over                 atomic.Bool
}

// moveSlot has a coroutine at a time.
type moveSlot struct {
	mu sync.Mutex
	h  Handle // under mu
}

// pick returns some coroutine; the zero Handle if there is none yet.
func (h *moveHammer) pick() Handle {
	s := &h.slots[rand.IntN(len(h.slots))]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.h
}

// life is what a coroutine does.
func (h *moveHammer) life() {
	co := Current()
	defer func() {
		if Stopping() {
			h.stopped.Add(1)
		}
	}()
	for range rand.IntN(20) {
		switch rand.IntN(8) {
		case 0, 1, 2:
			if co.MoveTo(&h.threads[rand.IntN(len(h.threads))].ex) {
				h.moves.Add(1)
			}
		case 3:
			ticket := co.Ticket()
			go co.MakeReady(ticket, WakeReady)
			if co.Park(ReasonUser) == WakeShutdown {
				return
			}
		case 4:
			if co.Executor().Host().ParkUntil(co, ReasonSleep,
				clock.Now()+rand.Int64N(100_000)) == WakeShutdown {
				return
			}
		case 5:
			w := AcquireWaiter()
			go w.Wake()
			why := w.Park(ReasonUser)
			w.Release()
			if why == WakeShutdown {
				return
			}
		case 6:
			if rand.IntN(4) == 0 {
				h.pick().Stop()
			}
		case 7:
			Yield()
		}
	}
}

// meddle stops, wakes and asks coroutines from outside.
func (h *moveHammer) meddle() {
	for !h.over.Load() {
		switch x := h.pick(); rand.IntN(4) {
		case 0:
			x.Stop()
		case 1:
			if x.co != nil {
				Info{Coroutine: x.co, ID: x.id}.Stack(gocontext.Background())
			}
		default:
			if x.co != nil {
				x.co.MakeReady(rand.Uint64N(40), WakeReady)
			}
		}
		runtime.Gosched()
	}
}

// fill runs n coroutines in slot i, one after the other.
func (h *moveHammer) fill(i, n int) {
	s := &h.slots[i]
	for range n {
		if !h.goesOn() {
			return
		}
		h.born.Add(1)
		x := h.threads[rand.IntN(len(h.threads))].spawn(h.life)
		s.mu.Lock()
		s.h = x
		s.mu.Unlock()
		if i%2 == 0 {
			x.Join()
		} else { // by a coroutine
			h.threads[rand.IntN(len(h.threads))].spawn(func() { x.Join() }).Join()
		}
		testenv.True(h.t, x.Done(), "joined before its end")
	}
}

// TestMoveHammer lets coroutines move round several executors at random while
// they park, end, are woken, stopped, joined and asked for their stacks from
// everywhere. What is lost shows as a hang, or in the counts.
func TestMoveHammer(t *testing.T) {
	h := &moveHammer{t: t, threads: newRoamers(4), goesOn: spell(20 * time.Second)}
	lives := testenv.Rounds(20_000)
	var meddlers, makers sync.WaitGroup
	for range 2 {
		meddlers.Go(h.meddle)
	}
	for i := range h.slots {
		makers.Go(func() { h.fill(i, max(lives/len(h.slots), 1)) })
	}
	makers.Wait()
	h.over.Store(true)
	meddlers.Wait()
	stopAll(h.threads)
	var made, gone uint64
	for i, th := range h.threads {
		s := &th.ex.Stats
		made, gone = made+s.Spawned.Load(), gone+s.Ended.Load()
		testenv.True(t, s.Live.Load() == 0 && s.Workers.Load() == 0,
			"executor %d: %d live, %d workers", i, s.Live.Load(), s.Workers.Load())
	}
	testenv.True(t, made == gone, "%d were spawned, %d have ended", made, gone)
	testenv.True(t, h.moves.Load() != 0 || !context.Direct(), "none has moved")
	t.Logf("%d lives, %d moves, %d stopped", h.born.Load(), h.moves.Load(), h.stopped.Load())
}
