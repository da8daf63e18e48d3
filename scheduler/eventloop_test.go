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

func fresh(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s, err := scheduler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEventLoop: the loop runs on the calling goroutine, turn first of all,
// until that returns false; then waits end with ErrShutdown.
func TestEventLoop(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	within(t, 3*time.Minute)
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
			if s.Processors() != 1 || processor.Current() != engine.Of(s).Processors()[0] {
				t.Error("not one Processor, here")
			}
			if coroutine.Current() != nil {
				t.Error("turn runs as a coroutine")
			}
			if err := s.EventLoop(nil); !errors.Is(err, engine.ErrInCoroutine) {
				t.Errorf("EventLoop in turn: %v", err)
			}
			if err := s.Shutdown(over()); !errors.Is(err, engine.ErrInCoroutine) {
				t.Errorf("Shutdown in turn: %v", err)
			}
			sleeper, err := s.Go(func() { // by turn, the first coroutine
				defer func() { unwound = true }()
				here()
				processor.Sleep(time.Millisecond)
				slept = true
				processor.Sleep(time.Hour)
			})
			if err != nil {
				t.Error(err)
			}
			s.GoWith(scheduler.Spawn{Local: true, Fn: func() { join = sleeper.Join() }})
		}
		return !slept
	})
	if err != nil || elsewhere != 0 || turns < 2 || !unwound ||
		!errors.Is(join, coroutine.ErrShutdown) {
		t.Errorf("%v, %d turns, unwound %v, the join %v, %d elsewhere", err, turns, unwound, join,
			elsewhere)
	}
	if processor.Current() != nil || coroutine.CurrentExecutor() != nil {
		t.Error("the goroutine is still a loop")
	}
	if _, err := s.Go(func() {}); !errors.Is(err, coroutine.ErrShutdown) {
		t.Errorf("Go after the end: %v", err)
	}
	if err := s.EventLoop(nil); !errors.Is(err, engine.ErrStarted) {
		t.Errorf("a second time: %v", err)
	}
}

// TestEventLoopEndsAtOnce: nothing runs if turn returns false at once.
func TestEventLoopEndsAtOnce(t *testing.T) {
	within(t, 30*time.Second)
	turns := 0
	err := fresh(t, scheduler.Options{}).EventLoop(func() bool { turns++; return false })
	if err != nil || turns != 1 {
		t.Errorf("%v, %d turns", err, turns)
	}
}

// TestEventLoopStartInTurn: what turn starts lives at once, so that a Shutdown
// at that moment lets it finish.
func TestEventLoopStartInTurn(t *testing.T) {
	within(t, 3*time.Minute)
	s := fresh(t, scheduler.Options{})
	testenv.OK(t, s.EventLoop(func() bool {
		testenv.Must(s.Go(func() {}))
		if !engine.Of(s).Group().Active() {
			t.Error("nothing lives after Go")
		}
		return false
	}))
}

// TestEventLoopShutdown: without turn it ends by Shutdown from another
// goroutine, gracefully or by force.
func TestEventLoopShutdown(t *testing.T) {
	within(t, 3*time.Minute)
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
				ctx = over()
			}
			result <- s.Shutdown(ctx)
		}()
		if err := s.EventLoop(nil); err != nil {
			t.Error(err)
		}
		if err := <-result; (err != nil) != force || returned.Load() == force {
			t.Errorf("force %v: Shutdown: %v, it returned: %v", force, err, returned.Load())
		}
	}
}

// TestEventLoopWake: an idle loop takes no turns until it is woken.
func TestEventLoopWake(t *testing.T) {
	within(t, 3*time.Minute)
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
	more := func(i, n int, began time.Time) bool { // n, or as many as a busy machine gets done
		return i < n && (i < 100 || time.Since(began) < 5*time.Second)
	}
	for i, began := 0, time.Now(); more(i, scaled(1000), began); i++ {
		before := turns.Load()
		s.Wake()
		for turns.Load() == before {
			runtime.Gosched()
		}
		asleep()
	}
	// Also when the loop is just about to sleep.
	for i, began := 0, time.Now(); more(i, scaled(100_000), began); i++ {
		before := turns.Load()
		s.Wake()
		for turns.Load() == before {
			runtime.Gosched()
		}
	}
	last.Store(true)
	s.Wake()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.Wake() // of one that has ended
	fresh(t, scheduler.Options{}).Wake()
}

// TestEventLoopErrors: what does not start leaves nothing, and the Scheduler as
// it was.
func TestEventLoopErrors(t *testing.T) {
	running := start(t, scheduler.Options{Processors: 1})
	if err := running.EventLoop(nil); !errors.Is(err, engine.ErrStarted) {
		t.Errorf("of a running one: %v", err)
	}
	running.Run(scheduler.Spawn{Fn: func() {
		s := fresh(t, scheduler.Options{})
		if err := s.EventLoop(nil); !errors.Is(err, engine.ErrInCoroutine) {
			t.Errorf("in a coroutine: %v", err)
		}
	}})
	shutdown(t, running)
	coroutine.New(func(*coroutine.Yielder[int, int], int) int {
		s := fresh(t, scheduler.Options{})
		if err := s.EventLoop(nil); !errors.Is(err, engine.ErrInCoroutine) {
			t.Errorf("in a coroutine driven by hand: %v", err)
		}
		return 0
	}).Resume(0)

	s := fresh(t, scheduler.Options{})
	startWithoutFDs(t, s, func() error { return s.EventLoop(func() bool { return false }) })
}

// TestEventLoopCPU: the calling thread runs on the CPU that was asked for, and
// afterwards where it did before.
func TestEventLoopCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, during, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	if before.Count() < 2 {
		t.Skip("one CPU")
	}
	cpu := 0
	for !before.IsSet(cpu) {
		cpu++
	}
	s := fresh(t, scheduler.Options{CPUs: []int{cpu}})
	if err := s.EventLoop(func() bool {
		unix.SchedGetaffinity(0, &during)
		return false
	}); err != nil {
		t.Fatal(err)
	}
	unix.SchedGetaffinity(0, &after)
	if during.Count() != 1 || !during.IsSet(cpu) || after != before {
		t.Errorf("affinity %v, %v, %v", before, during, after)
	}
}

// TestEventLoopHands: turn drives coroutines by hand, and so do the loop's
// coroutines, the same ones.
func TestEventLoopHands(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	within(t, 3*time.Minute)
	for _, o := range []scheduler.Options{{}, {LockThreads: true}, {PoolCap: -1}} {
		s := fresh(t, o)
		goroutines := runtime.NumGoroutine()
		var f coroutine.Fiber[int, int]
		deferred, sum, turns := 0, 0, 0
		rounds := scaled(500)
		expect := func(in int) {
			sum += in
			got, err := f.Resume(in)
			unwound := err == coroutine.ErrGoexit && coroutine.CurrentExecutor().Stopping()
			if got != sum && !unwound || err != nil && !unwound {
				t.Errorf("Resume: %d, %v, want %d", got, err, sum)
			}
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
					return // another is inside, or it was unwound at the end
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
		if deferred != 1 || f.Status() != coroutine.StatusDead {
			t.Errorf("%d deferred calls of one that was suspended, it is %v", deferred, f.Status())
		}
		testenv.Until(t, "its goroutines to end", func() bool {
			runtime.GC()
			return runtime.NumGoroutine() <= goroutines
		})
	}
}

// TestHundredEventLoops: one after the other on one goroutine, which is an
// ordinary one in between.
func TestHundredEventLoops(t *testing.T) {
	within(t, 3*time.Minute)
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
	if err := before.Leaks(); err != nil {
		t.Error(err)
	}
}
