package coroutine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/asm"
	"github.com/netco-go/netco/internal/testenv"
)

// patient is for answers that must come.
func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// brief is for answers that must not.
func brief(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// stackOf returns the stack of the coroutine with that id.
func stackOf(ctx context.Context, id uint64) (string, error) {
	info, _ := Find(id)
	return info.Stack(ctx)
}

//go:noinline
func parksHere() Wake { return Current().Park(ReasonLock) }

//go:noinline
func parksWithin() Wake { return parksHere() }

// TestStackOf: a parked coroutine's stack is returned, and it stays parked as
// it was.
func TestStackOf(t *testing.T) {
	th := newThread(plain)
	woken := make(chan Wake, 1)
	h := th.submit(Make(nil, &Spawn{Fn: func() {
		woken <- parksWithin()
	}, Name: "sleeper", internals: internals{Site: asm.CallerPC()}}))
	testenv.Until(t, "it parks", func() bool { return waits(h) })
	before, _ := rangedOver(h)
	ticket := before.Coroutine.ticket
	for range 20 {
		s := testenv.Must(stackOf(patient(t), h.ID()))
		lines := strings.Split(s, "\n")
		if want := fmt.Sprintf("coroutine %d \"sleeper\" [lock]:", h.ID()); lines[0] != want {
			t.Errorf("it begins with %q, want %q", lines[0], want)
		}
		for n, want := range map[int]string{1: "Coroutine).Park(...)", 3: "parksHere(...)",
			5: "parksWithin(...)", 7: ".TestStackOf.func1(...)"} {
			testenv.True(t, strings.HasSuffix(lines[n], want), "line %d is not %s in\n%s", n, want,
				s)
		}
		testenv.True(t, strings.HasPrefix(lines[9], "created by "),
			"what runs coroutines is answered of in\n%s", s)
	}
	if after, _ := rangedOver(h); after != before || before.Coroutine.ticket != ticket {
		t.Errorf("asked, it is %+v, was %+v", after, before)
	}
	select {
	case why := <-woken:
		t.Errorf("asked, it woke with %v", why)
	default:
	}
	before.Coroutine.MakeReady(ticket, WakeTimeout)
	testenv.Equal(t, <-woken, WakeTimeout, "it woke with")
	th.stop()
}

// TestStackOfFiber: within coroutines by hand, the stacks of their resumers
// follow.
func TestStackOfFiber(t *testing.T) {
	th := newThread(plain)
	h := th.spawn(func() {
		outer := New(func(y *Yielder[int, int], in int) int {
			inner := New(func(y *Yielder[int, int], in int) int {
				y.Yield(1)
				parksHere()
				y.Yield(2)
				parksWithin()
				return 0
			})
			for range inner.All(0) {
			}
			return 0
		})
		outer.Resume(0)
	})
	for round := range 2 {
		testenv.Until(t, "it parks", func() bool { return waits(h) })
		for range 3 {
			s := testenv.Must(stackOf(patient(t), h.ID()))
			parts := strings.Split(s, "resumed by\n")
			if len(parts) != 3 || !strings.Contains(parts[0], "parksHere") ||
				!strings.Contains(parts[1], "Fiber[...].All") ||
				!strings.HasPrefix(parts[2],
					"github.com/netco-go/netco/coroutine.Fiber[...].Resume(...)") ||
				!strings.Contains(parts[2], "TestStackOfFiber.func1(") {
				t.Errorf("round %d:\n%s", round, s)
			}
		}
		h.co.MakeReady(h.co.ticketOnItsThread(th), WakeReady)
	}
	th.stop()
}

// ticketOnItsThread returns the ticket of a parked coroutine.
func (co *Coroutine) ticketOnItsThread(th *thread) uint64 {
	got := make(chan uint64)
	th.spawn(func() { ticket := co.Ticket(); go func() { got <- ticket }() })
	return <-got
}

// TestStackOfNone: ids that are no coroutine's, or not yet or no more.
func TestStackOfNone(t *testing.T) {
	th := newThread(plain)
	h := th.spawn(func() { parksHere() })
	testenv.Until(t, "it parks", func() bool { return waits(h) })
	info, _ := Find(h.ID())
	th.stopByForce()
	unstarted := Make(nil, &Spawn{Fn: func() {}})
	for what, id := range map[string]uint64{
		"0": 0, "one that has ended": h.ID(),
		"one that has not started": unstarted.ID(), "one to come": 1 << 60,
	} {
		testenv.Gives(t, "", ErrNotFound, what)(stackOf(context.Background(), id))
	}
	testenv.Gives(t, "", ErrNotFound,
		"what was seen while it lived")(info.Stack(context.Background()))
	testenv.Gives(t, "", ErrNotFound, "the zero Info")((Info{}).Stack(context.Background()))
}

// TestStackOfBusy: a coroutine that computes has no stack until it waits; other
// coroutines of its thread always have theirs.
func TestStackOfBusy(t *testing.T) {
	th := newThread(plain)
	sleeper := th.spawn(func() { parksHere() })
	testenv.Until(t, "it parks", func() bool { return waits(sleeper) })
	var over atomic.Bool
	computes := th.spawn(func() {
		for !over.Load() {
		}
		parksHere()
	})
	testenv.Until(t, "it runs", func() bool {
		i, _ := Find(computes.ID())
		return i.State == Running
	})
	s, err := stackOf(brief(t), computes.ID())
	if !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) || s != "" ||
		!strings.Contains(err.Error(), "is running") {
		t.Errorf("of the one that computes: %q, %v", s, err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := stackOf(cancelled, computes.ID()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that was over: %v", err)
	}
	if s, err := stackOf(cancelled, sleeper.ID()); err != nil || !strings.Contains(s, "parksHere") {
		t.Errorf("of another: %v\n%s", err, s)
	}
	answered := make(chan error)
	go func() {
		_, err := stackOf(patient(t), computes.ID())
		answered <- err
	}()
	over.Store(true)
	if err := <-answered; err != nil {
		t.Errorf("when it waits: %v", err)
	}
	th.stopByForce()
}

// TestStackOfReady: coroutines that never wait but always yield, alone and with
// others, have a stack in Yield.
func TestStackOfReady(t *testing.T) {
	for _, others := range []int{0, 1, 70} {
		th := newThread(plain)
		for range others {
			th.spawn(func() {
				for {
					Yield()
				}
			})
		}
		h := th.spawn(func() {
			for {
				Yield()
			}
		})
		testenv.Until(t, "it has started", func() bool { _, ok := Find(h.ID()); return ok })
		for range 5 {
			s, err := stackOf(patient(t), h.ID())
			testenv.True(t, err == nil && strings.Contains(s, "[ready]:\n") &&
				strings.Contains(s, "coroutine.Yield(...)\n") &&
				strings.Contains(s, "TestStackOfReady"), "with %d others: %v\n%s", others, err, s)
		}
		th.stopByForce()
	}
}

// TestStackOfByCoroutine: a coroutine asks for others of its own thread and of
// another, and for its own.
func TestStackOfByCoroutine(t *testing.T) {
	here, there := newThread(plain), newThread(plain)
	sleepers := []Handle{here.spawn(func() { parksHere() }), there.spawn(func() { parksHere() })}
	for _, h := range sleepers {
		testenv.Until(t, "it parks", func() bool { return waits(h) })
	}
	asker := here.spawn(func() {
		for _, h := range sleepers {
			s, err := stackOf(patient(t), h.ID())
			testenv.True(t, err == nil && strings.Contains(s, "parksHere"), "%v\n%s", err, s)
		}
		s, err := stackOf(patient(t), Current().ID())
		testenv.True(t, err == nil && strings.Contains(s, "[running]:\n") &&
			strings.Contains(s, "TestStackOfByCoroutine"), "its own: %v\n%s", err, s)
	})
	asker.Join()
	stuck := here.spawn(func() {
		_, err := stackOf(context.Background(), sleepers[1].ID())
		testenv.True(t, err == nil || err == ErrShutdown || err == ErrNotFound, "%v", err)
	})
	here.stopByForce()
	testenv.True(t, stuck.Done(), "it waits for its answer after the end")
	there.stopByForce()
}

// TestStackOfDeep: more frames than are returned.
func TestStackOfDeep(t *testing.T) {
	th := newThread(plain)
	var down func(n int)
	down = func(n int) {
		if n == 0 {
			parksHere()
			return
		}
		down(n - 1)
	}
	h := th.spawn(func() { down(2000) })
	testenv.Until(t, "it parks", func() bool { return waits(h) })
	s, err := stackOf(patient(t), h.ID())
	testenv.True(t, err == nil && strings.Contains(s, "parksHere") &&
		strings.Contains(s, "left out") && strings.Count(s, "\n") <= 3*maxFrames, "%v\n%s", err, s)
	th.stopByForce()
}

// stackHammer asks for the stacks of coroutines.
type stackHammer struct {
	over                 atomic.Bool
	answered, gone, busy atomic.Int64
}

func (h *stackHammer) ask(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 9))
	for !h.over.Load() {
		var some []Info
		Range(func(i Info) bool {
			if rnd.IntN(4) == 0 {
				some = append(some, i)
			}
			return len(some) < 8
		})
		for _, i := range some {
			ctx, cancel := context.WithTimeout(context.Background(),
				time.Duration(rnd.IntN(5_000_000)))
			s, err := i.Stack(ctx)
			cancel()
			switch {
			case err == nil && strings.HasPrefix(s, fmt.Sprintf("coroutine %d ", i.ID)) &&
				(strings.Contains(s, "_test.go") || strings.Contains(s, "workerMain")): // it begins
				h.answered.Add(1)
			case err == ErrNotFound:
				h.gone.Add(1)
			case errors.Is(err, ErrBusy):
				h.busy.Add(1)
			default:
				t.Errorf("of %+v: %v\n%s", i, err, s)
			}
		}
	}
}

// TestStackOfHammer: many goroutines ask while coroutines park, hand over,
// yield, run fibers within fibers, end by return and by Goexit and are ended by
// force, and while the collector moves stacks. No park may end without a wake,
// and no local variable may be damaged.
func TestStackOfHammer(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	for round, c := range []Config{plain, {Idle: 0}, {Idle: 4}} {
		th := newThread(c)
		var askers sync.WaitGroup
		var asks stackHammer
		for a := range 3 {
			askers.Go(func() { asks.ask(t, uint64(a)) })
		}
		askers.Go(func() {
			for !asks.over.Load() {
				debug.FreeOSMemory()
				time.Sleep(time.Millisecond)
			}
		})
		var lives sync.WaitGroup
		// The requests may begin late.
		for k := 0; k < testenv.Rounds(2000) || asks.answered.Load() == 0; k++ {
			lives.Add(1)
			th.spawn(func() {
				defer lives.Done()
				live(t, &th.ex, k)
			})
			if k%100 == 99 {
				lives.Wait()
			}
		}
		lives.Wait()
		for range 50 { // ended by force, while they are asked
			th.spawn(func() {
				defer func() { Yield() }()
				for k := 1; ; k += 11 { // none that ends by itself
					live(t, &th.ex, k)
				}
			})
		}
		testenv.Until(t, "they run", func() bool { return th.ex.Stats.Live.Load() > 0 })
		th.stopByForce()
		asks.over.Store(true)
		askers.Wait()
		testenv.True(t, asks.answered.Load() != 0, "round %d: no stack was returned", round)
		t.Logf("round %d: %d stacks, %d gone, %d busy", round, asks.answered.Load(),
			asks.gone.Load(), asks.busy.Load())
	}
}

// live does some of what coroutines do. Each of its parks is ended by a wake of
// its own, which it must have seen.
func live(t *testing.T, ex *Executor, k int) {
	co := Current()
	park := func() {
		var mark [32]int
		for i := range mark {
			mark[i] = k ^ i
		}
		ticket, woken := co.Ticket(), false
		wake := func() { woken = true; co.MakeReady(ticket, WakeReady) }
		if k%5 == 0 {
			time.AfterFunc(time.Duration(k%300)*time.Microsecond, func() {
				co.MakeReady(ticket, WakeReady)
			})
			woken = true
		} else {
			ex.Spawn(Spawn{Fn: func() {
				for range k % 4 {
					Yield()
				}
				wake()
			}})
		}
		why := co.Park(ReasonUser)
		if why == WakeShutdown {
			Unwind()
		}
		testenv.True(t, woken, "a park has ended without a wake")
		for i := range mark {
			testenv.Equal(t, mark[i], k^i, "a variable is damaged")
		}
	}
	park()
	f := New(func(y *Yielder[int, int], in int) int {
		park()
		y.Yield(in)
		New(func(y *Yielder[int, int], in int) int {
			park()
			if k%7 == 0 {
				runtime.Goexit()
			}
			return 0
		}).Resume(0)
		park()
		return 0
	})
	defer f.Cancel()
	for range f.All(k) {
		park()
		Yield()
	}
	if k%11 == 0 {
		runtime.Goexit()
	}
}
