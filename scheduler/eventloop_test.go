package scheduler_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// fresh makes a Scheduler that has not been started.
func fresh(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	return testenv.Must(scheduler.New(o))
}

// TestEventLoop: the loop runs on the calling goroutine. It calls turn before
// anything else, and ends when turn returns false: waits end with ErrShutdown.
func TestEventLoop(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	s := fresh(t, scheduler.Options{Processors: 8})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	me := unix.Gettid()
	turns, elsewhere := 0, 0
	var join error
	var slept, unwound bool
	here := func() {
		if unix.Gettid() != me {
			elsewhere++
		}
	}
	err := s.EventLoop(func() bool {
		here()
		if turns++; turns == 1 {
			testenv.True(t, s.Processors() == 1 &&
				processor.Current() == engine.Of(s).Processors()[0], "not one Processor, here")
			testenv.Equal(t, coroutine.Current(), nil, "turn runs as a coroutine")
			testenv.Fails(t, s.EventLoop(nil), engine.ErrInCoroutine, "EventLoop in turn")
			testenv.Fails(t, s.Shutdown(testenv.Over()), engine.ErrInCoroutine, "Shutdown in turn")
			sleeper, err := s.Go(func() { // the first coroutine, started by turn
				defer func() {
					// the joining coroutine's wait ends before this coroutine
					coroutine.Shield(coroutine.Yield)
					unwound = true
				}()
				here()
				processor.Sleep(time.Millisecond)
				slept = true
				processor.Sleep(time.Hour)
			})
			testenv.NoError(t, err)
			s.GoWith(scheduler.Spawn{Local: true, Fn: func() { join = sleeper.Join() }})
		}
		return !slept
	})
	testenv.True(t, err == nil && elsewhere == 0 && turns >= 2 && unwound &&
		errors.Is(join, coroutine.ErrShutdown),
		"%v, %d turns, unwound %v, the join %v, %d elsewhere", err, turns, unwound, join, elsewhere)
	testenv.True(t, processor.Current() == nil && coroutine.CurrentExecutor() == nil,
		"the goroutine is still a loop")
	testenv.Fails(t, testenv.Err(s.Go(func() {})), coroutine.ErrShutdown, "Go after the end")
	testenv.Fails(t, s.EventLoop(nil), engine.ErrStarted, "a second time")
}

// TestEventLoopStartInTurn: a coroutine that turn starts lives at once, so that
// a Shutdown at that moment lets it finish. A turn that returns false is the
// last.
func TestEventLoopStartInTurn(t *testing.T) {
	s, turns := fresh(t, scheduler.Options{}), 0
	testenv.OK(t, s.EventLoop(func() bool {
		turns++
		testenv.Must(s.Go(func() {}))
		testenv.True(t, engine.Of(s).Group().Active(), "nothing lives after Go")
		return false
	}))
	testenv.Equal(t, turns, 1, "turns")
}

// TestEventLoopShutdown: an event loop without a turn function ends by a
// Shutdown from another goroutine, gracefully or by force.
func TestEventLoopShutdown(t *testing.T) {
	for _, force := range []bool{false, true} {
		s := fresh(t, scheduler.Options{Processors: 1})
		var ran, returned atomic.Bool
		result := make(chan error, 1)
		go func() {
			for {
				if _, err := s.Go(func() {
					ran.Store(true)
					if processor.Sleep(5 * time.Millisecond); force {
						processor.Sleep(time.Hour)
					}
					returned.Store(true)
				}); err == nil {
					break
				} else if !errors.Is(err, engine.ErrNotStarted) {
					t.Error(err)
				}
				runtime.Gosched()
			}
			for !ran.Load() {
				runtime.Gosched()
			}
			ctx := context.Background()
			if force {
				ctx = testenv.Over()
			}
			result <- s.Shutdown(ctx)
		}()
		testenv.NoError(t, s.EventLoop(nil))
		if err := <-result; (err != nil) != force || returned.Load() == force {
			t.Errorf("force %v: Shutdown: %v, it returned: %v", force, err, returned.Load())
		}
	}
}

// TestEventLoopWake: an idle loop takes no turns until it is woken.
func TestEventLoopWake(t *testing.T) {
	s := fresh(t, scheduler.Options{NoSpin: true})
	var turns atomic.Int64
	var last atomic.Bool
	asleep := func() {
		for !engine.Of(s).Processors()[0].Idle() {
			runtime.Gosched()
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- s.EventLoop(func() bool { turns.Add(1); return !last.Load() }) }()
	for s.Processors() == 0 {
		runtime.Gosched()
	}
	asleep()
	more := func(i, n int, began time.Time) bool { // n, or as many as a busy machine can do
		return i < n && (i < 100 || time.Since(began) < 5*time.Second)
	}
	for i, began := 0, time.Now(); more(i, testenv.Rounds(1000), began); i++ {
		before := turns.Load()
		s.Wake()
		for turns.Load() == before {
			runtime.Gosched()
		}
		asleep()
	}
	// Wake also ends a sleep that the loop is just about to begin.
	for i, began := 0, time.Now(); more(i, testenv.Rounds(100_000), began); i++ {
		before := turns.Load()
		s.Wake()
		for turns.Load() == before {
			runtime.Gosched()
		}
	}
	last.Store(true)
	s.Wake()
	testenv.NoError(t, <-ended)
	s.Wake() // after the loop's end
	fresh(t, scheduler.Options{}).Wake()
}

// TestEventLoopErrors: a loop that does not start leaves nothing behind, and
// the Scheduler as it was.
func TestEventLoopErrors(t *testing.T) {
	running := start(t, scheduler.Options{Processors: 1})
	testenv.Fails(t, running.EventLoop(nil), engine.ErrStarted, "of a running one")
	running.Run(scheduler.Spawn{Fn: func() {
		s := fresh(t, scheduler.Options{})
		testenv.Fails(t, s.EventLoop(nil), engine.ErrInCoroutine, "in a coroutine")
	}})
	shutdown(t, running)
	coroutine.New(func(*coroutine.Yielder[int, int], int) int {
		s := fresh(t, scheduler.Options{})
		testenv.Fails(t, s.EventLoop(nil), engine.ErrInCoroutine, "in a coroutine driven by hand")
		return 0
	}).Resume(0)

	s := fresh(t, scheduler.Options{})
	startWithoutFDs(t, s, func() error { return s.EventLoop(func() bool { return false }) })
}

// TestEventLoopCPU: the calling thread runs on the CPU that Options name, and
// afterwards on the CPUs that it had before.
func TestEventLoopCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, during, after unix.CPUSet
	testenv.OK(t, unix.SchedGetaffinity(0, &before))
	if before.Count() < 2 {
		t.Skip("one CPU")
	}
	cpu := firstCPU(t)
	s := fresh(t, scheduler.Options{CPUs: []int{cpu}})
	if err := s.EventLoop(func() bool {
		unix.SchedGetaffinity(0, &during)
		return false
	}); err != nil {
		t.Fatal(err)
	}
	unix.SchedGetaffinity(0, &after)
	testenv.True(t, during.Count() == 1 && during.IsSet(cpu) && after == before,
		"affinity %v, %v, %v", before, during, after)
}

// TestEventLoopHands: turn and the loop's coroutines drive the same fibers by
// hand.
func TestEventLoopHands(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	for _, o := range []scheduler.Options{{}, {LockThreads: true}, {PoolCap: -1}} {
		s := fresh(t, o)
		goroutines := runtime.NumGoroutine()
		var f coroutine.Fiber[int, int]
		deferred, sum, turns := 0, 0, 0
		rounds := testenv.Rounds(500)
		expect := func(in int) {
			sum += in
			got, err := f.Resume(in)
			unwound := err == coroutine.ErrGoexit && coroutine.CurrentExecutor().Stopping()
			testenv.True(t, (got == sum || unwound) && (err == nil || unwound),
				"Resume: %d, %v, want %d", got, err, sum)
		}
		if err := s.EventLoop(func() bool {
			if turns++; turns == 1 {
				f = coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
					defer func() { deferred++ }()
					for total := 0; ; in, _ = y.Yield(total) {
						if total += in; coroutine.Current() != nil {
							coroutine.Yield()
						}
					}
				})
			}
			expect(1)
			one := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
				y.Yield(in)
				return in + 1
			})
			one.Resume(1)
			if turns%2 == 0 {
				one.Resume(1)
			}
			s.GoWith(scheduler.Spawn{Local: true, Fn: func() {
				if f.Status() != coroutine.StatusSuspended {
					return // another coroutine drives f, or f was unwound at the end
				}
				expect(2)
				if one.Status() != coroutine.StatusDead {
					one.Cancel()
				}
			}})
			return turns < rounds
		}); err != nil {
			t.Error(err)
		}
		testenv.True(t, deferred == 1 && f.Status() == coroutine.StatusDead,
			"%d deferred calls of a suspended fiber, which is %v", deferred, f.Status())
		testenv.Settle(t, goroutines)
	}
}

// TestHundredEventLoops: a goroutine runs event loops one after the other, and
// is an ordinary goroutine in between.
func TestHundredEventLoops(t *testing.T) {
	loop := func(i int) {
		f := coroutine.New(func(y *coroutine.Yielder[int, int], in int) int {
			y.Yield(in)
			y.Yield(in)
			return 0
		})
		f.Resume(i)
		s := fresh(t, scheduler.Options{LockThreads: i%2 == 0})
		var ran atomic.Int32
		turns := 0
		if err := s.EventLoop(func() bool {
			if turns++; turns == 1 {
				for range 10 {
					s.Go(func() { processor.Sleep(time.Microsecond); ran.Add(1) })
				}
			}
			return ran.Load() < 10
		}); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Resume(i); got != i || err != nil || f.Cancel() != nil {
			t.Errorf("by hand afterwards: %d, %v", got, err)
		}
	}
	loop(0)
	before := testenv.Snapshot()
	for i := range 100 {
		loop(i)
	}
	testenv.NoError(t, before.Leaks())
}
