package scheduler_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
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

// TestThousandLives starts and shuts down Schedulers again and again: no fd,
// thread or goroutine is left.
func TestThousandLives(t *testing.T) {
	for range 5 { // the runtime keeps some of what it makes in the first lives
		s := start(t, scheduler.Options{Processors: 2})
		shutdown(t, s)
	}
	before := testenv.Snapshot()
	for i := range testenv.Rounds(1000) {
		s := start(t, scheduler.Options{Processors: 2, PoolCap: i%3 - 1})
		var ran atomic.Int32
		for range i % 7 {
			s.Go(func() { processor.Sleep(1); ran.Add(1) })
		}
		if i%4 == 3 {
			s.Go(func() { processor.Sleep(time.Hour) })
			if err := s.Shutdown(testenv.Over()); !errors.Is(err, context.Canceled) {
				t.Fatalf("forced Shutdown: %v", err)
			}
			continue
		}
		shutdown(t, s)
		if int(ran.Load()) != i%7 {
			t.Fatalf("life %d: %d of %d coroutines ran", i, ran.Load(), i%7)
		}
	}
	testenv.NoError(t, before.Leaks())
}

func TestStates(t *testing.T) {
	nop := func() {}
	s, err := scheduler.New(scheduler.Options{Processors: 1})
	testenv.OK(t, err)
	calls := func(want error) {
		t.Helper()
		_, goErr := s.Go(nop)
		_, onErr := on(s, 0)(nop)
		for name, err := range map[string]error{"Go": goErr, "GoWith": onErr,
			"Run": s.Run(scheduler.Spawn{Fn: nop})} {
			testenv.Fails(t, err, want, name)
		}
	}
	calls(engine.ErrNotStarted)
	testenv.True(t, s.Processors() == 0 && s.Live() == 0, "there are Processors before the start")
	testenv.OK(t, s.Start())
	testenv.Fails(t, s.Start(), engine.ErrStarted, "the second Start")
	calls(nil)
	shutdown(t, s)
	calls(coroutine.ErrShutdown)
	testenv.Fails(t, s.Start(), engine.ErrStarted, "Start after Shutdown")
	shutdown(t, s)

	never, _ := scheduler.New(scheduler.Options{})
	shutdown(t, never)
	testenv.Fails(t, testenv.Err(never.Go(nop)), coroutine.ErrShutdown,
		"Go when shut down without a start")
}

func TestNilFuncs(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1})
	for name, f := range map[string]func(){
		"Go":     func() { s.Go(nil) },
		"GoWith": func() { s.GoWith(scheduler.Spawn{}) },
		"Run":    func() { s.Run(scheduler.Spawn{}) },
	} {
		t.Run(name, func(t *testing.T) { testenv.Panics(t, "netco: ", f) })
	}
}

// TestStartWithoutFDs: Start without enough fds fails, and can be repeated.
func TestStartWithoutFDs(t *testing.T) {
	time.Sleep(time.Nanosecond) // Go's poller opens its fds at the first timer
	s, _ := scheduler.New(scheduler.Options{Processors: 3})
	startWithoutFDs(t, s, s.Start)
	load(t, s)
	shutdown(t, s)
}

// startWithoutFDs starts s under a limit of fds that grows from try to try.
// start fails with EMFILE and leaves nothing behind until it has enough fds.
func startWithoutFDs(t *testing.T, s *scheduler.Scheduler, start func() error) {
	t.Helper()
	var limit unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	free, err := unix.Dup(0)
	testenv.OK(t, err)
	unix.Close(free)
	before := testenv.Snapshot()
	failures := 0
	for n := range uint64(40) {
		few := limit
		few.Cur = uint64(free) + n
		testenv.OK(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
		err := start()
		unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
		if err == nil {
			break
		}
		failures++
		testenv.Fails(t, err, unix.EMFILE, "with", n, "fds")
		if after := testenv.Snapshot(); after.FDs > before.FDs {
			t.Fatalf("with %d fds: %d before the start that failed, %d after", n, before.FDs,
				after.FDs)
		}
		testenv.Fails(t, testenv.Err(s.Go(func() {})), engine.ErrNotStarted,
			"Go after a start that failed")
	}
	// Start fails once for each fd that it opens, or less often if an earlier
	// test's fds are closed meanwhile.
	testenv.True(t, failures != 0, "no start failed")
}

func TestShutdownDrains(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	var done atomic.Int32
	release := make(chan struct{})
	for range 50 {
		s.Go(func() {
			for more := true; more; {
				select {
				case <-release:
					more = false
				default:
					coroutine.Yield()
				}
			}
			processor.Sleep(time.Millisecond)
			// A coroutine may start others while the Scheduler drains.
			testenv.Fails(t, testenv.Err(s.Go(func() { processor.Sleep(1); done.Add(1) })), nil,
				"Go while draining, from inside")
		})
	}
	ended := make(chan struct{})
	go func() { shutdown(t, s); close(ended) }()
	for { // until goroutines can start no coroutine
		if _, err := s.Go(func() {}); err != nil {
			testenv.Fails(t, err, coroutine.ErrShutdown, "Go while draining")
			break
		}
		runtime.Gosched()
	}
	close(release)
	<-ended
	testenv.Equal(t, done.Load(), 50, "of 50 chains of coroutines ended")
}

// TestShutdownOfOneThatNeverEnds: a forced Shutdown reports a coroutine that
// does not end, and does not hang. The rest of the Scheduler ends.
func TestShutdownOfOneThatNeverEnds(t *testing.T) {
	defer func(d time.Duration) { engine.UnwindGrace = d }(engine.UnwindGrace)
	engine.UnwindGrace = 100 * time.Millisecond
	s := start(t, scheduler.Options{Processors: 2})
	release, stuck := make(chan struct{}), make(chan struct{})
	h, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
		close(stuck)
		<-release
	}})
	<-stuck
	err := s.Shutdown(testenv.Over())
	testenv.True(t, errors.Is(err, context.Canceled) && err != context.Canceled &&
		strings.Contains(err.Error(), "1 coroutine"), "Shutdown: %v", err)
	<-engine.Of(s).Processors()[1].Ended()
	testenv.True(t, !h.Done(), "it has ended")
	if left := engine.Of(s).Processors()[0]; coroutine.CanLeave() == nil {
		testenv.Until(t, "a sleep without it", func() bool { return left.Turn().Asleep })
	}
	close(release)
	h.Join()
	<-engine.Of(s).Processors()[0].Ended() // a Processor ends after its last coroutine
}

func TestShutdownAtOnceFromMany(t *testing.T) {
	for range testenv.Rounds(50) {
		s := start(t, scheduler.Options{Processors: 2})
		s.Go(func() { processor.Sleep(time.Millisecond) })
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				shutdown(t, s)
				testenv.Fails(t, testenv.Err(s.Go(func() {})), coroutine.ErrShutdown,
					"Go after Shutdown")
			})
		}
		wg.Wait()
	}
	// A second Shutdown waits no longer than its own context.
	s := start(t, scheduler.Options{Processors: 1})
	release := make(chan struct{})
	h, _ := s.Go(func() { <-release })
	first := make(chan struct{})
	go func() { shutdown(t, s); close(first) }()
	for {
		if _, err := s.Go(func() {}); err != nil {
			break
		}
		runtime.Gosched()
	}
	testenv.Equal(t, s.Shutdown(testenv.Over()), context.Canceled, "the second Shutdown")
	close(release)
	h.Join()
	<-first
}

func TestInsideACoroutine(t *testing.T) {
	s, other := start(t, scheduler.Options{Processors: 2}),
		start(t, scheduler.Options{Processors: 1})
	ran := false
	if err := s.Run(scheduler.Spawn{Fn: func() {
		testenv.Fails(t, s.Run(scheduler.Spawn{Fn: func() {}}), engine.ErrInCoroutine, "Run")
		testenv.Fails(t, s.Shutdown(context.Background()), engine.ErrInCoroutine, "Shutdown")
		// Run and Shutdown of another Scheduler work. They block this thread.
		if err := other.Run(scheduler.Spawn{Fn: func() { ran = true }}); err != nil || !ran {
			t.Errorf("another's Run: %v", err)
		}
		h, err := other.GoWith(scheduler.Spawn{Local: true, Fn: func() {
			testenv.Equal(t, scheduler.Current(), other, "another's Local runs here")
		}})
		testenv.True(t, err == nil && h.Join() == nil, "another's Local: %v", err)
		testenv.Fails(t, other.Shutdown(context.Background()), nil, "another's Shutdown")
	}}); err != nil {
		t.Error(err)
	}
	shutdown(t, s)
}

// TestRunFromMany: each Run returns, and not before its own coroutine and the
// coroutines started by that have ended.
func TestRunFromMany(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 2})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range testenv.Rounds(100) {
				var done atomic.Int32
				err := s.Run(scheduler.Spawn{Fn: func() {
					for range 4 {
						s.Go(func() {
							coroutine.Yield()
							done.Add(1)
						})
					}
					done.Add(1)
				}})
				testenv.True(t, err == nil && done.Load() == 5, "Run: %v, %d of 5 done", err,
					done.Load())
			}
		})
	}
	wg.Wait()
	shutdown(t, s)
}
