package context

import (
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

// disturb keeps the collector, stack dumps, goroutine profiles and execution
// traces at work until the function that it returns is called.
func disturb() (end func()) {
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for dump := make([]byte, 1<<16); !stop.Load(); {
			runtime.GC()
			runtime.Stack(dump, true)
			pprof.Lookup("goroutine").WriteTo(io.Discard, 1)
			if trace.Start(io.Discard) == nil {
				time.Sleep(time.Millisecond)
				trace.Stop()
			}
		}
	}()
	return func() { stop.Store(true); <-done }
}

// A guest is a context that drivers resume in any order. Now and then it blocks
// in a Go channel. A rescuer then switches through its coro, so that its driver
// continues on the rescuer's thread, and the rescuer is parked there. Once the
// driver wakes the guest, it runs in parallel until it suspends itself or ends,
// and the rescuer continues.
//
// All fields but wake: owned by the guest, its driver or its rescuer, whichever
// runs or was released last.
type guest struct {
	Context
	wake    chan int
	rounds  int  // left to run
	blocks  int  // how often the guest has blocked
	note    int  // a copy of blocks, which its driver must see
	sum     int  // of the numbers received from wake
	away    bool // a rescuer is parked in the guest's coro
	ended   bool
	goexit  bool
	blocky  int // blocks in one of so many rounds; 0: never
	seed    uint64
	problem string
}

// exchange connects guests, drivers and rescuers.
type exchange struct {
	ready chan *guest // wait to be resumed
	calls chan *guest // are about to block
	alive atomic.Int64
}

// run is the function of a guest's context.
func (e *exchange) run(g *guest) {
	defer func() { g.ended = true }()
	rnd := rand.New(rand.NewPCG(g.seed, 5))
	mine := walk(1, 6)
	for ; g.rounds > 0; g.rounds-- {
		held := walk(g.rounds, 3)
		levels := 0
		if rnd.IntN(8) == 0 {
			levels = 100 // the stack grows
		}
		if g.blocky > 0 && rnd.IntN(g.blocky) == 0 {
			g.blocks++
			g.note = g.blocks
			e.calls <- g // has room for all guests
			down(levels, func() { g.sum += <-g.wake })
			if g.rounds == 1 {
				break // the guest ends while its driver runs, too
			}
		}
		down(levels, g.Suspend)
		if !mine.ok(1, 6) || !held.ok(g.rounds, 3) {
			g.problem = "a context's data is damaged"
		}
		mine = walk(1, 6)
	}
	if g.goexit {
		runtime.Goexit()
	}
}

// returned queues g after it has suspended itself, or counts its end.
func (e *exchange) returned(g *guest) {
	switch {
	case !g.ended:
		e.ready <- g
	case e.alive.Add(-1) == 0:
		close(e.ready)
		close(e.calls)
	}
}

// drive resumes guests until all have ended. It wakes blocked guests at random
// times.
func (e *exchange) drive(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 6))
	var away []*guest
	for {
		var g *guest
		ok := true
		if len(away) > 0 {
			select {
			case g = <-e.ready:
			default:
			}
		} else if g, ok = <-e.ready; !ok {
			return
		}
		if g == nil || len(away) > 0 && rnd.IntN(4) == 0 {
			k := rnd.IntN(len(away))
			woken := away[k]
			away[k] = away[len(away)-1]
			away = away[:len(away)-1]
			woken.wake <- 1
		}
		if g == nil {
			continue
		}
		if g.Resume(&g.Context); !g.away {
			e.returned(g)
			continue
		}
		if g.note != g.blocks {
			t.Error("the driver does not see the guest's writes before it blocked")
		}
		away = append(away, g)
	}
}

// rescue replaces drivers while guests block.
func (e *exchange) rescue() {
	for g := range e.calls {
		for goruntime.StandingOf(g.G()) != goruntime.Blocked {
			runtime.Gosched()
		}
		g.away = true
		g.Switch(&g.Context) // returns when the guest has suspended itself or ended
		g.away = false
		e.returned(g)
	}
}

// invite returns n guests that are ready.
func (e *exchange) invite(n, rounds, blocky int, seed uint64) []guest {
	guests := make([]guest, n)
	for i := range guests {
		g := &guests[i]
		*g = guest{wake: make(chan int), blocky: blocky, goexit: i%3 == 0, seed: seed + uint64(i)}
		if g.rounds = rounds; rounds > 100 {
			g.rounds = testenv.Rounds(rounds)
		}
		g.Init(func(*Context) { e.run(g) })
		e.ready <- g
	}
	return guests
}

// TestHandoff: contexts block and are rescued, migrate among goroutines, or
// both, while the runtime inspects their stacks.
func TestHandoff(t *testing.T) {
	for _, c := range []struct {
		name            string
		drivers, guests int
		blocky, rounds  int
	}{
		{"one guest", 1, 1, 1, 100_000},
		{"handoff", 1, 20, 3, 10_000},
		{"migration", 4, 40, 0, 20_000},
		{"handoff and migration", 4, 20, 3, 10_000},
		{"short lives", 3, 500, 2, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.blocky > 0 {
				needDirect(t)
				if err := goruntime.FindStandings(); err != nil {
					t.Skip(err)
				}
				if err := goruntime.FindRace(); err != nil {
					t.Fatal(err)
				}
			}
			before := runtime.NumGoroutine()
			seed := testenv.Seed(t)
			p := &exchange{ready: make(chan *guest, c.guests), calls: make(chan *guest, c.guests)}
			p.alive.Store(int64(c.guests))
			guests := p.invite(c.guests, c.rounds, c.blocky, seed)
			end := disturb()
			var all sync.WaitGroup
			for i := range c.drivers {
				all.Go(func() { p.drive(t, seed+uint64(i)) })
			}
			if c.blocky > 0 {
				for range c.guests {
					all.Go(p.rescue)
				}
			}
			all.Wait()
			end()
			blocks := 0
			for i := range guests {
				g := &guests[i]
				if blocks += g.blocks; g.sum != g.blocks || g.problem != "" {
					t.Errorf("blocked %d times, woken %d times; %s", g.blocks, g.sum, g.problem)
				}
			}
			if t.Logf("%d handoffs", blocks); (blocks > 0) != (c.blocky > 0) {
				t.Error("nothing has blocked")
			}
			testenv.Settle(t, before)
		})
	}
}
