package coroutine

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestEndsInRandomOrder ends coroutines by return, Goexit, and panic, in random
// order among switches, with pools that keep all, some and none of the
// goroutines: each end must end just that one.
func TestEndsInRandomOrder(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for name, c := range map[string]Config{
		"pool 0":  {Idle: 0},
		"pool 3":  {Idle: 3},
		"pool 64": {Idle: 64},
		"pool -1": {Idle: -1},
	} {
		t.Run(name, func(t *testing.T) { endInRandomOrder(t, c) })
	}
}

func endInRandomOrder(t *testing.T, c Config) {
	before := runtime.NumGoroutine()
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 5))
	n := testenv.Rounds(30_000)
	ended, unwound, panics := 0, 0, 0
	th := startThread(&thread{panics: func(*Coroutine, any, []byte) bool {
		panics++
		return true
	}}, c)
	done := make(chan struct{})
	th.spawn(func() {
		defer close(done)
		live := 0
		for started := 0; started < n; {
			for live < 40 && started < n {
				started++
				live++
				th.ex.Spawn(Spawn{Fn: func() {
					co := Current()
					defer func() { live--; ended++ }()
					defer func() {
						testenv.Equal(t, Current(), co, "seed", seed, "unwinds as another")
						unwound++
					}()
					for range rnd.IntN(6) {
						Yield()
					}
					switch rnd.IntN(4) {
					case 0:
						runtime.Goexit()
					case 1:
						panic("planned")
					}
				}})
			}
			Yield()
		}
		for live > 0 {
			Yield()
		}
	})
	<-done
	th.stop()
	testenv.True(t, ended == n && unwound == n, "seed %d: %d ended, %d unwound, want %d", seed,
		ended, unwound, n)
	checkCounts(t, th, n, panics)
	testenv.Settle(t, before)
}

// checkCounts checks what th counted of n coroutines and one that started them.
func checkCounts(t *testing.T, th *thread, n, panics int) {
	t.Helper()
	if got := th.ex.Stats.Panics.Load(); int(got) != panics || panics == 0 {
		t.Errorf("%d panics counted, %d handled", got, panics)
	}
	if got := th.ex.Stats.Ended.Load(); int(got) != n+1 {
		t.Errorf("%d counted as ended, want %d", got, n+1)
	}
	testenv.Equal(t, th.ex.Stats.Workers.Load(), 0, "goroutines counted at the end")
	testenv.True(t, th.ex.keep != 64 || th.ex.Stats.Made.Load() <= th.ex.Stats.Ended.Load()*3/4,
		"%d goroutines made for %d coroutines: they are not reused", th.ex.Stats.Made.Load(), n)
}

// TestPanicWhileUnwinding: a deferred call panics while the coroutine unwinds
// by Goexit, and the host deals with the panic. The runtime then goes on with
// the Goexit. If that ended the goroutine and not the coroutine, this would
// still count as live, Run would never return, and a later goroutine would be
// taken for it.
func TestPanicWhileUnwinding(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	before := runtime.NumGoroutine()
	for _, force := range []bool{false, true} {
		var values []any
		th := startThread(&thread{panics: func(co *Coroutine, v any, _ []byte) bool {
			values = append(values, v)
			return true
		}}, Config{Idle: 4})
		parked := make(chan struct{})
		after := 0
		var h Handle
		for i := range 20 {
			h = th.spawn(func() {
				defer func() { after++ }()
				defer panic("in a deferred call")
				if i == 19 {
					close(parked)
				}
				if !force {
					Yield()
					runtime.Goexit()
				}
				for {
					Yield()
				}
			})
		}
		<-parked
		if force {
			th.stopByForce()
		} else {
			th.stop()
		}
		testenv.True(t, h.Done(), "the coroutine has not ended")
		testenv.True(t, len(values) == 20 && after == 20,
			"force %v: handled %d panics, %d deferred calls ran after them, want 20", force,
			len(values), after)
	}
	testenv.Settle(t, before)
}

// TestTrim: goroutines end that no coroutine has needed since the last Trim.
func TestTrim(t *testing.T) {
	var ex Executor
	ex.Init(Config{Host: bareHost{}, Idle: 8})
	ex.Enter()
	defer ex.Leave()
	for _, c := range []struct {
		burst int
		trim  func()
		left  uint64
		made  uint64
	}{
		{8, ex.Trim, 8, 8}, {3, ex.Trim, 3, 8}, {3, ex.Trim, 3, 8}, {0, ex.Trim, 0, 8},
		{2, ex.Trim, 2, 10}, {4, func() {}, 4, 12}, {0, ex.Trim, 4, 12}, {0, ex.Trim, 0, 12},
		{8, ex.Trim, 8, 20}, {3, func() { ex.EndIdle(2) }, 6, 20}, {0, ex.Trim, 3, 20},
		{0, func() { ex.EndIdle(99) }, 0, 20},
	} {
		for range c.burst {
			ex.Spawn(Spawn{Fn: Yield})
		}
		for ex.Queued() > 0 {
			ex.Run(256, math.MaxInt64)
		}
		c.trim()
		left, made := ex.Stats.Workers.Load(), ex.Stats.Made.Load()
		testenv.True(t, left == c.left && made == c.made, "%d goroutines left of %d, want %d of %d",
			left, made, c.left, c.made)
	}
}

// TestWorkersAreReused runs many coroutines one after the other: they share a
// goroutine.
func TestWorkersAreReused(t *testing.T) {
	on(plain, func(ex *Executor) {
		for range 1000 {
			ex.Spawn(Spawn{Fn: func() {}})
			Yield()
		}
		made := ex.Stats.Made.Load()
		testenv.True(t, made <= 3, "%d goroutines for coroutines that ran one at a time", made)
		for range 200 { // more at once than the pool keeps
			ex.Spawn(Spawn{Fn: Yield})
		}
		for range 5 {
			Yield()
		}
		if left := ex.Stats.Workers.Load(); left > uint64(plain.Idle)+1 {
			t.Errorf("%d goroutines kept, want %d and the running one", left, plain.Idle)
		}
	})
}
