package scheduler

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/engine"
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
	// One that runs is none of a deadlock: a caller asks whether it is blocked.
	waits := func(outside []coroutine.Info) bool { return len(outside) == 0 }
	found := func() bool {
		d := findDeadlock(waits)
		return d != nil && d.sure
	}
	testenv.Until(t, "a deadlock", found)
	waking := func(outside []coroutine.Info) bool {
		c.Send(1)
		return waits(outside)
	}
	for range testenv.Rounds(10_000) {
		if d := findDeadlock(waking); d != nil && d.sure {
			t.Fatalf("%v after the coroutine was woken", d.err())
		}
		testenv.Until(t, "a deadlock", found)
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
	found := func() bool { return findDeadlock(func([]coroutine.Info) bool { return true }) != nil }
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
		allRuns.mu.Lock()
		defer allRuns.mu.Unlock()
		return len(allRuns.list)
	}
	if err := s.Run(NewSpawn(func() {})); err != engine.ErrNotStarted || under() != 0 {
		t.Fatalf("before Start: %v, %d calls under way", err, under())
	}
	testenv.OK(t, s.Start())
	ended := make(chan error, 1)
	c := channel.Make[int](0)
	s.mu.Lock() // which the start takes
	go func() { ended <- s.Run(NewSpawn(func() { c.Recv() })) }()
	testenv.Until(t, "Run", func() bool { return under() == 1 })
	allRuns.end(&DeadlockError{Count: 1})
	s.mu.Unlock()
	if err := <-ended; !errors.Is(err, engine.ErrDeadlock) {
		t.Errorf("Run: %v", err)
	}
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}

// TestLookAfterCollection: a watchdog that pauses for long looks for a deadlock
// when the garbage collector has run.
func TestLookAfterCollection(t *testing.T) {
	s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
	testenv.OK(t, s.Start())
	now := clock.Now()
	d := &watchdog{s: s, group: s.group.Load(), quit: make(chan struct{}), movedAt: now,
		lookAt: now + 2*lookFor}
	testenv.Until(t, "all to sleep", d.group.BeginPause)
	over := make(chan bool, 1)
	go func() { over <- d.pause(time.NewTimer(time.Hour)) }()
	testenv.Until(t, "the end of the pause", func() bool {
		runtime.GC()
		return len(over) > 0
	})
	if goesOn := <-over; !goesOn || d.movedAt != now {
		t.Errorf("it goes on: %v; something has moved: %v", goesOn, d.movedAt != now)
	}
	testenv.OK(t, s.Shutdown(context.Background()))
}

// TestMayMoveLater: a deadlock is looked for again only where what stands still
// waits for others.
func TestMayMoveLater(t *testing.T) {
	s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
	testenv.OK(t, s.Start())
	if s.mayMoveLater() {
		t.Error("without coroutines")
	}
	c := channel.Make[int](0)
	testenv.Must(s.Go(NewSpawn(func() { c.Recv() })))
	testenv.Until(t, "one that waits for others", s.mayMoveLater)
	sleeper := testenv.Must(s.Go(NewSpawn(func() { processor.Sleep(time.Hour) })))
	testenv.Until(t, "a timer", func() bool { return !s.mayMoveLater() })
	sleeper.Stop()
	testenv.Until(t, "its end", s.mayMoveLater)
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}

// TestAlike: coroutines that differ in their numbers only share a line.
func TestAlike(t *testing.T) {
	var all []coroutine.Info
	for i := range 25 {
		all = append(all, coroutine.Info{ID: uint64(25 - i), State: coroutine.Waiting,
			WaitsFor: "a lock", Site: uintptr(i % 2)})
	}
	all = append(all, coroutine.Info{ID: 26, Name: "x", State: coroutine.Outside})
	e := (&deadlock{all: len(all), alike: groupsOf(all)}).err()
	want := []string{"1 and 12 more, waiting for a lock", "2 and 11 more, waiting for a lock",
		`26 "x", blocked outside netco`}
	for i := range e.Coroutines {
		e.Coroutines[i], _, _ = strings.Cut(e.Coroutines[i], ", made at")
	}
	if !slices.Equal(e.Coroutines, want) || strings.Contains(e.Error(), "; and") {
		t.Errorf("%q", e.Error())
	}
}
