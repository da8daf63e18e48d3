package blocking_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestForcedShutdown: whoever waits returns ErrShutdown. A function that runs
// goes on, one in the queue is never started, and neither is one that is called
// for afterwards.
func TestForcedShutdown(t *testing.T) {
	for _, where := range testrun.Coroutines {
		t.Run(where.Name, func(t *testing.T) {
			testrun.Start(t, 2)
			p, free := pool(t, 1), pool(t, 1)
			g := newGate()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			started := false
			starts := func() { started = true }
			first := where.Go(func() {
				n, err := callOn(bg, p, func() (int, error) { g.pass(); return 1, errOwn })
				if n != 0 || !errors.Is(err, netco.ErrShutdown) {
					t.Errorf("of the one that runs: %d, %v", n, err)
				}
				if err := free.Do(bg, starts); !errors.Is(err, netco.ErrShutdown) ||
					free.Stats().Running != 0 {
					t.Errorf("of a later one: %v, %+v", err, free.Stats())
				}
			})
			testenv.Await(t, g.entered, "the function")
			tasks := []*testrun.Task{first}
			for _, c := range []context.Context{bg, ctx} {
				queued := where.Park(t, coroutine.ReasonBlocking, func() {
					testenv.Fails(t, p.Do(c, starts), netco.ErrShutdown, "of one in the queue", c)
				})
				tasks = append(tasks, queued)
			}
			testrun.ShutdownByForce(t)
			testrun.WaitAll(t, tasks...)
			exact(t, p, blocking.Stats{Running: 1, Abandoned: 1}, "after the shutdown")
			close(g.opened)
			testenv.Until(t, "the function's end", func() bool { return p.Stats().Running == 0 })
			if s := p.Stats(); started || s.Done != 1 {
				t.Errorf("started: %v, %+v", started, s)
			}
		})
	}
}

// TestPatientShutdown waits for the functions, and lets coroutines make new
// calls.
func TestPatientShutdown(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g := newGate()
	k := testrun.First.Go(func() {
		testenv.Fails(t, p.Do(bg, g.pass), nil, "Do")
		testenv.Fails(t, p.Do(bg, func() {}), nil, "Do while the scheduler drains")
	})
	testenv.Await(t, g.entered, "the function")
	shut := make(chan error, 1)
	go func() { shut <- netco.Shutdown(context.Background()) }()
	testenv.Until(t, "the shutdown to begin", func() bool {
		_, err := netco.Go(func() {})
		return err != nil
	})
	close(g.opened)
	k.Wait(t)
	testenv.NoError(t, testenv.Await(t, shut, "the shutdown"))
}

// TestGoexitOfLeft: an abandoned function that ends by Goexit gives its place
// to the next.
func TestGoexitOfLeft(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g := newGate()
	ctx, cancel := context.WithCancel(context.Background())
	k := testrun.First.Go(func() {
		err := p.Do(ctx, func() { g.pass(); runtime.Goexit() })
		testenv.Equal(t, err, context.Canceled, "Do")
	})
	testenv.Await(t, g.entered, "the function")
	cancel()
	k.Wait(t)
	next := testrun.Second.Go(func() { testenv.NoError(t, p.Do(bg, func() {})) })
	next.UntilParked(t, coroutine.ReasonBlocking) // behind the one that was left
	close(g.opened)
	next.Wait(t)
	exact(t, p, blocking.Stats{Done: 2, Abandoned: 1})
}

// TestHammerShutdown: the scheduler ends by force in the middle of calls of all
// kinds, from both Processors. Each returns its result or ErrShutdown, and the
// pool is in order afterwards.
func TestHammerShutdown(t *testing.T) {
	for range testenv.Rounds(30) {
		p := pool(t, 3)
		testenv.OK(t, netco.Start(netco.Options{Processors: 2}))
		ctx, cancel := context.WithCancel(context.Background())
		calls := make(chan struct{}, 1)
		var tasks []*testrun.Task
		for i := range 12 {
			tasks = append(tasks, testrun.Coroutines[i%2].Go(func() {
				for n := 0; ; n++ {
					got, err := 0, error(nil)
					if i%3 == 0 {
						got, err = callOn(ctx, p, func() (int, error) { return n, nil })
					} else {
						got, err = callOn(bg, p, func() (int, error) { return n, nil })
					}
					if errors.Is(err, netco.ErrShutdown) && got == 0 {
						return
					}
					if err != nil || got != n {
						t.Errorf("call %d: %d, %v", n, got, err)
						return
					}
					if n == 20 {
						select {
						case calls <- struct{}{}:
						default:
						}
					}
				}
			}))
		}
		testenv.Await(t, calls, "calls")
		testrun.ShutdownByForce(t)
		testrun.WaitAll(t, tasks...)
		cancel()
		rest(t, p)
	}
}

// hammer is what the tasks of TestHammer share.
type hammer struct {
	t       *testing.T
	p       *blocking.Pool
	running atomic.Int32
	started atomic.Uint64 // functions on goroutines of their own
}

const hammerLimit = 4 // the highest that is set

// TestHammer: calls of every kind and with every end, from everywhere, on a
// pool whose limit changes all the time. Every function runs once, or, if its
// caller abandoned it, at most once; what a caller gets is its own function's.
func TestHammer(t *testing.T) {
	tasks, ops := 24, testenv.Rounds(1500)
	if goruntime.RaceEnabled {
		tasks = 12
	}
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	testrun.Start(t, 2)
	h := &hammer{t: t, p: pool(t, hammerLimit)}
	var all []*testrun.Task
	for i := range tasks {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		all = append(all, testrun.Places[i%len(testrun.Places)].Go(func() {
			for range ops {
				h.op(rnd)
			}
		}))
	}
	end := make(chan struct{})
	disturber := testrun.Goroutine.Go(func() {
		rnd := rand.New(rand.NewPCG(seed, 1<<32))
		for {
			select {
			case <-end:
				return
			default:
			}
			h.p.SetLimit(1 + rnd.IntN(hammerLimit))
			if s := h.p.Stats(); s.Running > hammerLimit || s.Queued > 0 && s.Running < s.Limit {
				t.Errorf("the books are wrong: %+v", s)
				return
			}
			time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond)
		}
	})
	testrun.WaitAll(t, all...)
	close(end)
	disturber.Wait(t)
	rest(t, h.p)
	if s := h.p.Stats(); s.Done != h.started.Load() {
		t.Errorf("%d functions ran, %+v", h.started.Load(), s)
	}
}

// enter notes that a function runs. away says whether it runs elsewhere.
func (h *hammer) enter(away bool, runs *atomic.Int32) (exit func()) {
	testenv.Equal(h.t, runs.Add(1), 1, "runs of a function")
	if !away {
		return func() {}
	}
	h.started.Add(1)
	if n := h.running.Add(1); n > hammerLimit {
		h.t.Errorf("%d run at once", n)
	}
	return func() { h.running.Add(-1) }
}

// op makes one random call.
func (h *hammer) op(rnd *rand.Rand) {
	kind, work, want := rnd.IntN(8), rnd.IntN(4), int(rnd.Int32())
	away := netco.Self().ID() != 0
	runs := new(atomic.Int32)
	body := func() {
		defer h.enter(away, runs)()
		switch work {
		case 0:
			time.Sleep(time.Duration(want%100) * time.Microsecond)
		case 1:
			runtime.Gosched()
		}
		switch kind {
		case 1:
			panic(want)
		case 2:
			runtime.Goexit()
		case 3:
			nested := false
			if err := h.p.Do(bg, func() { nested = true }); err != nil || !nested {
				h.t.Errorf("nested: %v, ran: %v", err, nested)
			}
		}
	}
	once := func() { testenv.Equal(h.t, runs.Load(), 1, "runs of the function of kind", kind) }
	switch kind {
	case 1:
		v := caught(func() { h.p.Do(bg, body) })
		if e, ok := v.(*netco.PanicError); ok == away && ok {
			v = e.Value
		}
		if v != want {
			h.t.Errorf("panic with %v, want %d", v, want)
		}
		once()
	case 2:
		h.inChild(func() {
			h.p.Do(bg, body)
			h.t.Error("a Goexit came back")
		})
		once()
	case 4, 5:
		h.cancelled(rnd, body, runs)
	default:
		n, err := callOn(bg, h.p, func() (int, error) { body(); return want, errOwn })
		if n != want || err != errOwn {
			h.t.Errorf("%d, %v, want %d, %v", n, err, want, errOwn)
		}
		once()
	}
}

// inChild runs f in a coroutine or goroutine of its own, as the caller is, and
// waits for its end.
func (h *hammer) inChild(f func()) {
	if netco.Self().ID() == 0 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
		return
	}
	child, err := netco.GoWith(netco.Spawn{Local: true, Fn: f})
	if err == nil {
		err = child.Join()
	}
	testenv.NoError(h.t, err)
}

// cancelled makes a call whose context is done at some moment, or not at all.
func (h *hammer) cancelled(rnd *rand.Rand, body func(), runs *atomic.Int32) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	want := context.Canceled
	switch rnd.IntN(5) {
	case 0:
		cancel()
	case 1:
		go cancel()
	case 2:
		time.AfterFunc(time.Duration(rnd.IntN(100))*time.Microsecond, cancel)
	case 3:
		want = context.DeadlineExceeded
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(100))*time.Microsecond)
		defer cancel()
	}
	n, err := callOn(ctx, h.p, func() (int, error) {
		body()
		return 1, nil
	})
	switch {
	case n == 1 && err == nil && runs.Load() == 1:
	case n == 0 && errors.Is(err, want) && runs.Load() <= 1:
	default:
		h.t.Errorf("%d, %v, the function ran %d times", n, err, runs.Load())
	}
}
