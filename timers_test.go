package netco_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// everywhere runs f in a coroutine and on an ordinary goroutine.
func everywhere(t *testing.T, f func(t *testing.T)) {
	// A watchdog allocates when it finds a stall.
	testrun.Everywhere(t, netco.Options{Processors: 2, Watchdog: -1}, f)
}

// comes waits for what must come.
func comes(t *testing.T, c *channel.Chan[time.Time]) time.Time {
	t.Helper()
	at := testenv.Must(c.RecvTimeout(testenv.Limit))
	return at
}

// processorOf returns what distinguishes the caller's Processor from others.
func processorOf() any {
	if co := coroutine.Current(); co != nil {
		return co.Executor()
	}
	return nil
}

// quiet reports whether nothing is to be had now.
func quiet(c *channel.Chan[time.Time]) bool {
	_, _, done := c.TryRecv()
	return !done
}

// waysToReceive are the ways to receive from a Timer's channel.
func waysToReceive(t *testing.T) map[string]func(*channel.Chan[time.Time]) time.Time {
	return map[string]func(c *channel.Chan[time.Time]) time.Time{
		"Recv": func(c *channel.Chan[time.Time]) time.Time {
			at, ok := c.Recv()
			if !ok {
				t.Error("closed")
			}
			return at
		},
		"RecvTimeout": func(c *channel.Chan[time.Time]) time.Time { return comes(t, c) },
		"RecvContext": func(c *channel.Chan[time.Time]) time.Time {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			at := testenv.Must(c.RecvContext(ctx))
			return at
		},
		"Select": func(c *channel.Chan[time.Time]) (at time.Time) {
			i, err := channel.Select(netco.After(time.Hour).RecvCase(nil), c.RecvCase(&at))
			if i != 1 || err != nil {
				t.Error(i, err)
			}
			return at
		},
		"SelectTimeout": func(c *channel.Chan[time.Time]) (at time.Time) {
			i, err := channel.SelectTimeout(time.Hour, c.RecvCase(&at))
			if i != 0 || err != nil {
				t.Error(i, err)
			}
			return at
		},
		"polling": func(c *channel.Chan[time.Time]) time.Time {
			for {
				if at, ok, _ := c.TryRecv(); ok {
					return at
				}
				netco.Yield()
			}
		},
		"late": func(c *channel.Chan[time.Time]) time.Time {
			netco.Sleep(5 * time.Millisecond)
			looks := time.Now()
			at := comes(t, c)
			if !at.Before(looks) {
				t.Errorf("received late, it says that it was due %v ago", time.Since(at))
			}
			return at
		},
	}
}

// TestTimerComes: after its time and not before, once, for each way to receive.
func TestTimerComes(t *testing.T) {
	ways := waysToReceive(t)
	everywhere(t, func(t *testing.T) {
		for name, receive := range ways {
			for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, time.Microsecond,
				2 * time.Millisecond} {
				began := time.Now()
				c := netco.After(d)
				if c.Len() != 0 || c.Cap() != 0 {
					t.Errorf("length %d, capacity %d", c.Len(), c.Cap())
				}
				at := receive(c)
				if at.Sub(began) < d || time.Since(began) < d || at.After(time.Now()) {
					t.Errorf("%s: %v comes after %v, and says after %v", name, d, time.Since(began),
						at.Sub(began))
				}
				if !quiet(c) {
					t.Errorf("%s: it comes twice", name)
				}
			}
		}
	})
}

// TestSelectOfTimers: each once, and none before it is due.
func TestSelectOfTimers(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		const n = 6
		began := time.Now()
		cases := make([]channel.Case, n)
		for i := range cases {
			cases[i] = netco.After(time.Duration(n-i) * time.Millisecond).RecvCase(nil)
		}
		for range n {
			i := testenv.Must(channel.SelectTimeout(testenv.Limit, cases...))
			if passed := time.Since(began); passed < time.Duration(n-i)*time.Millisecond {
				t.Errorf("number %d after %v", i, passed)
			}
			cases[i] = (*channel.Chan[int])(nil).RecvCase(nil)
		}
	})
}

// TestSelectSentBack: a Select that a Reset makes look again, and that then
// does another case, leaves the Timer's variable alone.
func TestSelectSentBack(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		for range 20 {
			tm, other := netco.NewTimer(time.Hour), channel.Make[int](0)
			tm.Stop()
			before := time.Now()
			h := testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: func() {
				at := before
				i, err := channel.Select(tm.C.RecvCase(&at), other.RecvCase(nil))
				if i != 1 || err != nil || at != before {
					t.Errorf("case %d, %v; the variable is %v", i, err, at)
				}
			}}))
			netco.Sleep(200 * time.Microsecond) // mostly it waits by then
			tm.Reset(time.Hour)
			other.Send(1)
			h.Join()
		}
	})
}

// TestUnreferencedTimers: those that nothing refers to are garbage, whatever
// time they are set for.
func TestUnreferencedTimers(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		timer, ticker := netco.NewTimer(time.Hour), netco.NewTicker(time.Hour)
		timer.C.RecvTimeout(time.Microsecond)
		ticker.C.RecvTimeout(time.Microsecond)
		c := netco.Tick(time.Millisecond)
		c.Recv()
		a, b, d := weak.Make(timer), weak.Make(ticker), weak.Make(c)
		timer, ticker, c = nil, nil, nil
		for end := time.Now().Add(testenv.Limit); a.Value() != nil || b.Value() != nil ||
			d.Value() != nil; {
			if time.Now().After(end) {
				t.Fatal("they are kept")
			}
			runtime.GC()
		}
	})
}

// TestAfterFunc: f runs once, in a coroutine, not early; on the caller's
// Processor if that is one.
func TestAfterFunc(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		inside := netco.Self().ID() != 0
		for _, d := range []time.Duration{math.MinInt64, 0, 1, 2 * time.Millisecond} {
			began := time.Now()
			done := netco.NewTimer(testenv.Limit)
			var ran atomic.Int32
			home := processorOf()
			tm := netco.AfterFunc(d, func() {
				if netco.Self().ID() == 0 || time.Since(began) < d ||
					inside && processorOf() != home {
					t.Error("too early, elsewhere, or no coroutine")
				}
				netco.Sleep(1)
				ran.Add(1)
				done.Reset(0)
			})
			if tm.C != nil {
				t.Error("it has a channel")
			}
			done.C.Recv()
			if ran.Load() != 1 || tm.Stop() || tm.Reset(time.Hour) || !tm.Stop() {
				t.Errorf("%v: ran %d times", d, ran.Load())
			}
		}
		never := netco.AfterFunc(math.MaxInt64, func() { t.Error("it has come") })
		if !never.Stop() {
			t.Error("it was not to come")
		}
	})
}

// TestTimersAreNoLife: neither Run nor Shutdown waits for them, and after
// Shutdown no function is called. A goroutine that waits for one gets it.
func TestTimersAreNoLife(t *testing.T) {
	var called atomic.Int32
	f := func() { called.Add(1) }
	var made []*netco.Timer
	testenv.OK(t, netco.Start(netco.Options{Processors: 2}))
	make := func() {
		made = append(made, netco.AfterFunc(time.Hour, f), netco.AfterFunc(5*time.Millisecond, f))
		netco.NewTicker(time.Millisecond)
		netco.After(time.Millisecond)
	}
	make()
	testenv.NoError(t, netco.Run(make))
	soon, outside := netco.After(30*time.Millisecond), new(sync.WaitGroup)
	outside.Go(func() { soon.Recv() })
	before := called.Load()
	testrun.Shutdown(t)
	ran := called.Load()
	outside.Wait()
	if before > 2 || ran > 2 {
		t.Errorf("called %d times before the end, %d times at the end", before, ran)
	}
	// A Scheduler that they do not belong to.
	testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
	for _, tm := range made {
		tm.Reset(0)
	}
	time.Sleep(10 * time.Millisecond) // for what must not happen
	testenv.Equal(t, called.Load(), ran, "calls after the end")
	testrun.Shutdown(t)
}

// TestTimerAllocs: one allocation for each that is made, none for what is done
// with it.
func TestTimerAllocs(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		f := func() {}
		tm, ticker := netco.NewTimer(time.Hour), netco.NewTicker(time.Nanosecond)
		fn := netco.AfterFunc(time.Hour, f)
		inside := netco.Self().ID() != 0
		for name, c := range map[string]struct {
			want float64
			do   func()
		}{
			"NewTimer":  {1, func() { netco.NewTimer(time.Hour).Stop() }},
			"NewTicker": {1, func() { netco.NewTicker(time.Hour).Stop() }},
			"Timer":     {0, func() { tm.Stop(); tm.Reset(time.Hour) }},
			"Ticker":    {0, func() { ticker.Stop(); ticker.Reset(time.Nanosecond) }},
			"func":      {0, func() { fn.Stop(); fn.Reset(time.Hour) }},
			"receive":   {0, func() { ticker.C.Recv() }},
			"select":    {0, func() { channel.Select(ticker.C.RecvCase(nil), tm.C.RecvCase(nil)) }},
			"AfterFunc": {1, func() {
				if inside {
					netco.AfterFunc(time.Hour, f).Stop()
				} else {
					netco.NewTimer(0)
				}
			}},
			"wait, inside": {0, func() {
				if inside {
					ticker.Reset(time.Microsecond)
					ticker.C.Recv()
				}
			}},
		} {
			testenv.Equal(t, testing.AllocsPerRun(100, c.do), c.want, name, "allocations")
		}
		tm.Stop()
		fn.Stop()
	})
}

// countedTimer is a Timer that counts what becomes of its settings.
type countedTimer struct {
	*netco.Timer
	set, came, stopped, replaced atomic.Int64
}

// newCounted returns one that is set: a Timer with a function, or a channel.
func newCounted(withFunc bool) *countedTimer {
	x := new(countedTimer)
	x.set.Add(1)
	if withFunc {
		x.Timer = netco.AfterFunc(time.Microsecond, func() { x.came.Add(1) })
	} else {
		x.Timer = netco.NewTimer(time.Microsecond)
	}
	return x
}

// adds reports whether each setting has come, was stopped, or was replaced.
func (c *countedTimer) adds() bool {
	return c.set.Load() == c.came.Load()+c.stopped.Load()+c.replaced.Load()
}

// strike stops or sets one of the timers.
func strike(r *rand.Rand, timers []*countedTimer) {
	x := timers[r.IntN(len(timers))]
	if r.IntN(4) == 0 {
		if x.Stop() {
			x.stopped.Add(1)
		}
		return
	}
	d := time.Hour
	if r.IntN(3) > 0 {
		d = time.Duration(r.IntN(30_000))
	}
	x.set.Add(1)
	if x.Reset(d) {
		x.replaced.Add(1)
	}
}

// receive receives from one or two of the timers, for a while.
func receive(r *rand.Rand, timers []*countedTimer) {
	a, b := timers[r.IntN(len(timers))], timers[r.IntN(len(timers))]
	if a.C == nil {
		return
	}
	switch r.IntN(4) {
	case 0:
		if _, ok, _ := a.C.TryRecv(); ok {
			a.came.Add(1)
		}
	case 1:
		if _, err := a.C.RecvTimeout(time.Duration(r.IntN(50_000))); err == nil {
			a.came.Add(1)
		}
	default:
		both := []*countedTimer{a, b}
		if i, err := channel.SelectTimeout(time.Duration(r.IntN(50_000)),
			a.C.RecvCase(nil), b.C.RecvCase(nil)); err == nil {
			both[i].came.Add(1)
		}
	}
}

// TestTimerHammer stops, resets and receives from Timers in every way on all
// sides at once. Each time that is set ends in one way: it is received or its
// function called, it is stopped, or another takes its place. The numbers must
// add up for each.
func TestTimerHammer(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 2})
	timers := make([]*countedTimer, 8)
	for i := range timers {
		timers[i] = newCounted(i%4 == 3)
	}
	var all sync.WaitGroup
	for i := range 8 {
		do, times := strike, testenv.Rounds(20_000)
		if i%2 == 1 {
			do, times = receive, testenv.Rounds(5_000)
		}
		r := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
		all.Add(1)
		many := func() {
			defer all.Done()
			for j := range times {
				do(r, timers)
				if j%8 == 0 {
					netco.Yield()
				}
			}
		}
		if i < 4 {
			netco.GoWith(netco.Spawn{On: netco.OnProcessor(i / 2), Fn: many})
		} else {
			go many()
		}
	}
	all.Wait()
	came := int64(0)
	for i, x := range timers {
		if x.Stop() {
			x.stopped.Add(1)
		}
		for end := time.Now().Add(testenv.Limit); !x.adds() && time.Now().Before(end); {
			runtime.Gosched() // what has been started is on its way
		}
		if !x.adds() {
			t.Errorf("%d: set %d times; came %d, stopped %d, replaced %d", i, x.set.Load(),
				x.came.Load(), x.stopped.Load(), x.replaced.Load())
		}
		came += x.came.Load()
	}
	if came == 0 {
		t.Error("none has come")
	}
	t.Logf("%d came", came)
}
