package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestTwoStallsAtOnce: two stalls at the same time are reported with their own
// coroutines and stacks.
func TestTwoStallsAtOnce(t *testing.T) {
	insist(t, func() (scheduler.Stall, bool) {
		o := observe(t, 2, 20*time.Millisecond)
		hold := make(chan int)
		one, two := func() { stallOne(hold) }, func() { stallTwo(hold) }
		for i, fn := range []func(){one, two} {
			testenv.Must(o.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i),
				Name: []string{"one", "two"}[i], Fn: fn}))
		}
		var found [2]*scheduler.Stall
		for found[0] == nil || found[1] == nil {
			s := o.next(t, "both", func(s scheduler.Stall) bool { return !s.Over })
			found[s.Processor] = &s
		}
		close(hold)
		caught := in("one", "stallOne", diagnose.CauseChannel)(*found[0]) &&
			in("two", "stallTwo", diagnose.CauseChannel)(*found[1])
		if caught {
			o.named(t, "one", true) // drops the end of two's stall if that comes first
		}
		shutdown(t, o.Scheduler)
		return *found[0], caught
	})
}

//go:noinline
func stallOne(hold chan int) { <-hold }

//go:noinline
func stallTwo(hold chan int) { <-hold }

// TestManyCoroutines: a turn in which many coroutines compute for a while each
// is reported as their common stall.
func TestManyCoroutines(t *testing.T) {
	insist(t, func() (s scheduler.Stall, caught bool) {
		o := observe(t, 1, 20*time.Millisecond)
		var stop atomic.Bool
		o.GoWith(scheduler.Spawn{Name: "first", Fn: func() { // so that all start in one turn
			for range 16 {
				o.GoWith(scheduler.Spawn{Local: true, Name: "many", Fn: func() {
					for !stop.Load() {
						for start := time.Now(); time.Since(start) < 4*time.Millisecond; {
						}
						coroutine.Yield()
					}
				}})
			}
		}})
		for n := 0; n < 10 && !caught; n++ { // later reports have no stack, which one CPU needs
			s, caught = o.caught(t, 0, func(s scheduler.Stall) bool {
				return s.Name == "many" && s.Cause == diagnose.CauseComputation &&
					strings.HasPrefix(s.Detail, "many coroutines")
			})
		}
		if caught && !strings.Contains(s.Stack, "TestManyCoroutines") &&
			!strings.Contains(s.Stack, "workerMain") && !strings.Contains(s.Detail, "no stack") {
			t.Errorf("%+v", s) // a coroutine in workerMain alone is about to begin
		}
		stop.Store(true)
		shutdown(t, o.Scheduler)
		return s, caught
	})
}

// TestLoopStalls: a turn function that blocks is reported as a stall without a
// coroutine.
func TestLoopStalls(t *testing.T) {
	o := observed{stalls: make(chan scheduler.Stall, 100)}
	o.Scheduler = testenv.Must(scheduler.New(scheduler.Options{Watchdog: 20 * time.Millisecond,
		OnStall: o.record}))
	hold, ended := make(chan int), make(chan error)
	var last atomic.Bool
	go func() {
		ended <- o.EventLoop(func() bool {
			if last.Load() {
				return false
			}
			stallOne(hold) // in each turn, until such a stall was reported
			return true
		})
	}()
	insist(t, func() (scheduler.Stall, bool) {
		o.Wake()
		s, ok := o.caught(t, 0, in("", "stallOne", diagnose.CauseChannel))
		if !ok {
			hold <- 1
		} else if s.Coroutine != 0 || s.Site != "" ||
			!strings.Contains(s.Stack, "processor.(*Processor).loop") {
			t.Errorf("%+v", s)
		}
		return s, ok
	})
	close(hold)
	o.next(t, "its end", func(s scheduler.Stall) bool {
		return s.Over && s.Cause == diagnose.CauseChannel
	})
	last.Store(true) // not earlier: the watchdog ends with the loop
	for {
		select {
		case err := <-ended:
			testenv.NoError(t, err)
			return
		case <-time.After(time.Millisecond):
			o.Wake()
		}
	}
}

// TestFiberStalls: the report of a fiber that blocks names the coroutine that
// drives it, and has the fiber's stack.
func TestFiberStalls(t *testing.T) {
	insist(t, func() (scheduler.Stall, bool) {
		o := observe(t, 1, 20*time.Millisecond)
		hold := make(chan int)
		o.GoWith(scheduler.Spawn{Name: "driver", Fn: func() {
			outer := coroutine.New(func(*coroutine.Yielder[int, int], int) int {
				inner := coroutine.New(func(*coroutine.Yielder[int, int], int) int {
					stallTwo(hold)
					return 0
				})
				testenv.Must(inner.Resume(0))
				return 0
			})
			testenv.Must(outer.Resume(0))
		}})
		s, caught := o.caught(t, 0, in("driver", "stallTwo", diagnose.CauseChannel))
		close(hold)
		if caught {
			o.named(t, "driver", true)
		}
		shutdown(t, o.Scheduler)
		return s, caught
	})
}

// TestManyGoroutines: with too many goroutines to stop the world, the watchdog
// finds the stack in a profile, and the cause in the stack.
func TestManyGoroutines(t *testing.T) {
	end := make(chan int)
	var others, begun sync.WaitGroup
	begun.Add(stacks.MaxShort + 1)
	for range stacks.MaxShort + 1 {
		others.Go(func() { begun.Done(); <-end })
	}
	begun.Wait()
	defer others.Wait()
	defer close(end)
	for _, b := range stallers {
		t.Run(b.name, func(t *testing.T) {
			insist(t, func() (scheduler.Stall, bool) {
				wait, release := b.make(t)
				o := observe(t, 1, 20*time.Millisecond)
				for range 10 { // parked coroutines, which the watchdog must not blame
					o.Go(func() { coroutine.Current().Park(coroutine.ReasonUser) })
				}
				h, _ := o.GoWith(scheduler.Spawn{Name: b.name, Fn: func() { stallIn(wait) }})
				s, caught := o.caught(t, 0, b.fits)
				release()
				if caught {
					o.named(t, b.name, true)
				}
				h.Join()
				testenv.Fails(t, o.Shutdown(testenv.Over()), context.Canceled)
				return s, caught
			})
		})
	}
}

// TestThresholds: each Scheduler has its own threshold of a stall.
func TestThresholds(t *testing.T) {
	patient := observe(t, 1, time.Hour)
	blind := observe(t, 1, -1)
	quick := observe(t, 1, time.Millisecond)
	hold := make(chan int)
	for _, o := range []observed{patient, blind} {
		o.GoWith(scheduler.Spawn{Name: "stuck", Fn: func() { stallOne(hold) }})
	}
	insist(t, func() (scheduler.Stall, bool) {
		hold := make(chan int)
		defer close(hold)
		quick.GoWith(scheduler.Spawn{Name: "stuck", Fn: func() { stallOne(hold) }})
		s, caught := quick.caught(t, 0, func(s scheduler.Stall) bool { return s.Name == "stuck" })
		if caught && s.Length < time.Millisecond {
			t.Errorf("%+v", s)
		}
		return s, caught
	})
	for name, o := range map[string]observed{"patient": patient, "blind": blind} {
		if n := o.StallCount(0); n != 0 || len(o.Stalls()) != 0 {
			t.Errorf("%s: %d stalls: %+v", name, n, o.Stalls())
		}
	}
	if quick.StallCount(0) == 0 || quick.StallCount(-1) != 0 || quick.StallCount(1) != 0 {
		t.Error("not counted, or where there is no Processor")
	}
	close(hold)
	for _, o := range []observed{patient, blind, quick} {
		shutdown(t, o.Scheduler)
	}
}

// TestNotStarted: a Scheduler that was not started has no stalls.
func TestNotStarted(t *testing.T) {
	s := testenv.Must(scheduler.New(scheduler.Options{}))
	if s.Stalls() != nil || s.StallCount(0) != 0 {
		t.Errorf("%v, %d", s.Stalls(), s.StallCount(0))
	}
	shutdown(t, s)
}

// TestStallLines: the log has a warning when a stall begins, and a line when it
// ends, with the coroutine, the cause and the stack.
func TestStallLines(t *testing.T) {
	insist(t, func() (scheduler.Stall, bool) {
		core, logs := observer.New(zap.InfoLevel)
		o := observed{stalls: make(chan scheduler.Stall, 100)}
		o.Scheduler = start(t, scheduler.Options{Processors: 1, LockThreads: true,
			Watchdog: 20 * time.Millisecond, OnStall: o.record, Logger: zap.New(core)})
		hold := make(chan int)
		o.GoWith(scheduler.Spawn{Name: "stuck", Fn: func() { stallOne(hold) }})
		s, caught := o.caught(t, 0, in("stuck", "stallOne", diagnose.CauseChannel))
		close(hold)
		if caught {
			o.named(t, "stuck", true)
		}
		shutdown(t, o.Scheduler)
		if caught {
			stallLines(t, s, logs)
		}
		return s, caught
	})
}

func stallLines(t *testing.T, s scheduler.Stall, logs *observer.ObservedLogs) {
	mine := logs.FilterField(zap.Uint64("coroutine", s.Coroutine)).All()
	if len(mine) != 2 {
		t.Fatalf("%d lines: %+v", len(mine), logs.All())
	}
	first, last := mine[0], mine[1]
	fields := first.ContextMap()
	if first.Level != zap.WarnLevel || first.Message != "processor stalled" ||
		fields["processor"] != int64(0) || fields["name"] != "stuck" ||
		fields["site"] != s.Site || fields["cause"] != diagnose.CauseChannel ||
		!strings.Contains(fields["stack"].(string), "stallOne") {
		t.Errorf("%+v", first)
	}
	if last.Level != zap.InfoLevel || last.Message != "processor turns again" ||
		last.ContextMap()["length"].(time.Duration) < s.Length {
		t.Errorf("%+v", last)
	}
}

// TestStallsInAFlood: of many stalls all are counted, and few are logged.
func TestStallsInAFlood(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	o := observed{stalls: make(chan scheduler.Stall, 10_000)}
	o.Scheduler = start(t, scheduler.Options{Processors: 1, LockThreads: true,
		Watchdog: 2 * time.Millisecond, OnStall: o.record, Logger: zap.New(core)})
	began := time.Now()
	const n = 100
	for range n {
		hold := make(chan int)
		h, _ := o.GoWith(scheduler.Spawn{Name: "stuck", Fn: func() { stallOne(hold) }})
		// The coroutine stalls or, if other processes have the CPUs, the loop
		// on its way to the coroutine.
		o.next(t, "a stall", func(s scheduler.Stall) bool { return !s.Over })
		close(hold)
		o.next(t, "its end", func(s scheduler.Stall) bool { return s.Over })
		h.Join()
	}
	shutdown(t, o.Scheduler)
	lines, all := logs.FilterMessage("processor stalled").Len(), o.Stalls()
	later := int(time.Since(began) / (6 * time.Second)) // reports after the first ten
	if lines < 10 || lines > 10+later {
		t.Errorf("%d lines of %d stalls, want 10 to %d", lines, n, 10+later)
	}
	if len(all) != 64 || o.StallCount(0) < n {
		t.Fatalf("%d on record, %d counted", len(all), o.StallCount(0))
	}
	missed := 0
	for _, s := range all { // the last 64, without the first ten
		if strings.Contains(s.Detail, "too many stalls") {
			if missed++; s.Stack != "" {
				t.Errorf("too many, and a stack: %+v", s)
			}
		}
	}
	if missed < len(all)-later {
		t.Errorf("of the last %d stalls %d have gone without a stack, and %d may have had one",
			len(all), missed, later)
	}
}

// TestOnStallAndShutdown: an OnStall that blocks does not hold up Shutdown, and
// OnStall may call Shutdown.
func TestOnStallAndShutdown(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(s *scheduler.Scheduler, free chan int)
	}{
		{"blocks", func(s *scheduler.Scheduler, free chan int) { <-free }},
		{"ends it", func(s *scheduler.Scheduler, free chan int) { s.Shutdown(testenv.Over()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var o *scheduler.Scheduler
			made, hold, free, entered := make(chan int), make(chan int), make(chan int),
				make(chan int)
			var once sync.Once
			o = start(t, scheduler.Options{Processors: 1, LockThreads: true,
				Watchdog: 10 * time.Millisecond, OnStall: func(scheduler.Stall) {
					once.Do(func() {
						<-made // the Scheduler may stall before o is set
						close(entered)
						c.call(o, free)
					})
				}})
			close(made)
			o.Go(func() { stallOne(hold) })
			<-entered
			close(hold)
			testenv.NoError(t, o.Shutdown(context.Background()))
			close(free)
		})
	}
}

// TestWatchdogOption: thresholds below a millisecond are refused.
func TestWatchdogOption(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", -1: "", time.Millisecond: "", time.Hour: "", 1: "Watchdog is 1ns",
		time.Millisecond - 1: "Watchdog is 999.999",
	} {
		_, err := scheduler.New(scheduler.Options{Watchdog: d})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", d, err, want)
		}
	}
}

// A coroutine must not wait for a Go channel: it keeps its thread, and all
// others of that thread wait with it.
func ExampleOptions_watchdog() {
	channel, stalls := make(chan int), make(chan scheduler.Stall, 100)
	s, err := scheduler.New(scheduler.Options{Processors: 1, LockThreads: true,
		Watchdog: 100 * time.Millisecond, OnStall: func(s scheduler.Stall) {
			if s.Name == "reader" {
				stalls <- s
			}
		}})
	if err != nil || s.Start() != nil {
		return
	}
	s.GoWith(scheduler.Spawn{Name: "reader", Fn: func() { <-channel }})
	stall := <-stalls
	fmt.Println(stall.Name, "waits for a", stall.Cause, stall.Over)
	close(channel)
	stall = <-stalls
	fmt.Println("it goes on:", stall.Over)
	s.Shutdown(context.Background())
	// Output:
	// reader waits for a channel false
	// it goes on: true
}
