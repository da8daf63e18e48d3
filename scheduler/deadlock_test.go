package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
)

// TestWokenMeanwhile: there is no deadlock where the last goroutine has woken a
// coroutine and ended while the others were looked at.
func TestWokenMeanwhile(t *testing.T) {
	s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
	testenv.OK(t, s.Start())
	c := channel.Make[int](0)
	testenv.Must(s.Go(NewSpawn(func() {
		for _, more := c.Recv(); more; _, more = c.Recv() {
		}
	})))
	alone := func() bool { return true }
	testenv.Until(t, "a deadlock", func() bool { return findDeadlock(alone) != nil })
	waking := func() bool {
		c.Send(1)
		return true
	}
	for range testenv.Rounds(10_000) {
		if d := findDeadlock(waking); d != nil {
			t.Fatalf("%v after the coroutine was woken", d.err())
		}
		testenv.Until(t, "a deadlock", func() bool { return findDeadlock(alone) != nil })
	}
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}

// TestOtherScheduler: there is no deadlock where another Scheduler, which
// sleeps, could wake a coroutine.
func TestOtherScheduler(t *testing.T) {
	begin := func() *Scheduler {
		s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
		testenv.OK(t, s.Start())
		return s
	}
	s, other := begin(), begin()
	c := channel.Make[int](0)
	testenv.Must(s.Go(NewSpawn(func() { c.Recv() })))
	found := func() bool { return findDeadlock(func() bool { return true }) != nil }
	testenv.Until(t, "a deadlock", found)
	var timer processor.Func
	testenv.OK(t, other.Run(NewSpawn(func() {
		timer.Init(processor.Current(), time.Hour, func() { c.Send(1) }, 0)
	})))
	testenv.Until(t, "the other to sleep", other.members()[0].Idle)
	if found() {
		t.Error("a deadlock, though a timer of the other is set")
	}
	timer.Stop()
	other.Wake() // or the heap has it until something else does
	testenv.Until(t, "a deadlock again", found)
	c.Close()
	for _, s := range []*Scheduler{s, other} {
		testenv.OK(t, s.Shutdown(context.Background()))
	}
}

// TestRunHeldUp: a deadlock that is found while Run is held up in the start of
// its coroutine ends Run.
func TestRunHeldUp(t *testing.T) {
	s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
	under := func() int {
		s.runs.mu.Lock()
		defer s.runs.mu.Unlock()
		return len(s.runs.list)
	}
	if err := s.Run(NewSpawn(func() {})); err != ErrNotStarted || under() != 0 {
		t.Fatalf("before Start: %v, %d calls under way", err, under())
	}
	testenv.OK(t, s.Start())
	ended := make(chan error, 1)
	c := channel.Make[int](0)
	s.mu.Lock() // which the start takes
	go func() { ended <- s.Run(NewSpawn(func() { c.Recv() })) }()
	testenv.Until(t, "Run", func() bool { return under() == 1 })
	s.runs.end(&DeadlockError{Count: 1})
	s.mu.Unlock()
	if err := <-ended; !errors.Is(err, ErrDeadlock) {
		t.Errorf("Run: %v", err)
	}
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}
