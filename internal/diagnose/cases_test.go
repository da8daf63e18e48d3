package diagnose_test

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

// TestTwoStallsAtOnce: each is reported with its own coroutine and stack.
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
			o.named(t, "one", true) // or two's first: next drops it
		}
		shutdown(t, o.Scheduler)
		return *found[0], caught
	})
}

//go:noinline
func stallOne(hold chan int) { <-hold }

//go:noinline
func stallTwo(hold chan int) { <-hold }

// TestManyCoroutines: a turn in which many compute for a while each is one
// stall of the Processor, and not of one of them.
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
		for n := 0; n < 10 && !caught; n++ { // no more have a stack, which one CPU needs
			s, caught = o.caught(t, 0, func(s scheduler.Stall) bool {
				return s.Name == "many" && s.Cause == diagnose.CauseComputation &&
					strings.HasPrefix(s.Detail, "many coroutines")
			})
		}
		if caught && !strings.Contains(s.Stack, "TestManyCoroutines") &&
			!strings.Contains(s.Stack, "workerMain") && !strings.Contains(s.Detail, "no stack") {
			t.Errorf("%+v", s) // in workerMain alone it is about to begin
		}
		stop.Store(true)
		shutdown(t, o.Scheduler)
		return s, caught
	})
}

// TestLoopStalls: a function of the loop itself has the thread, and no
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
			stallOne(hold) // in each turn, until one was reported in here
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
	last.Store(true) // and not before: the end of the loop is the watchdog's, too
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

// TestFiberStalls: the coroutine is named, and the stack is that of the
// coroutine driven by hand in which it is stuck.
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

// TestManyGoroutines: where there are too many to stop the world for, the stack
// is found in a profile, and the cause in the stack.
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
	for i, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			insist(t, func() (scheduler.Stall, bool) {
				k := kinds(t)[i]
				o := observe(t, 1, 20*time.Millisecond)
				for range 10 { // coroutines that are parked must not be taken for it
					o.Go(func() { coroutine.Current().Park(coroutine.ReasonUser) })
				}
				h, _ := o.GoWith(scheduler.Spawn{Name: k.name, Fn: k.stall})
				s, caught := o.caught(t, 0, k.fits)
				k.release()
				if caught {
					o.named(t, k.name, true)
				}
				h.Join()
				testenv.Fails(t, o.Shutdown(testenv.Over()), context.Canceled)
				return s, caught
			})
		})
	}
}

// TestThresholds: a stall is one by the Scheduler's own measure.
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

// TestNotStarted: there is nothing to report before Start, nor is there a
// watchdog of a Scheduler that was never started.
func TestNotStarted(t *testing.T) {
	s := testenv.Must(scheduler.New(scheduler.Options{}))
	if s.Stalls() != nil || s.StallCount(0) != 0 {
		t.Errorf("%v, %d", s.Stalls(), s.StallCount(0))
	}
	shutdown(t, s)
}

// TestStallLines: one warning and one line at the end, with what there is to
// know.
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

// TestStallsInAFlood: all are counted, few are logged.
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
		// Of this coroutine or, if others have the CPUs, of the loop on the way
		// there.
		o.next(t, "a stall", func(s scheduler.Stall) bool { return !s.Over })
		close(hold)
		o.next(t, "its end", func(s scheduler.Stall) bool { return s.Over })
		h.Join()
	}
	shutdown(t, o.Scheduler)
	lines, all := logs.FilterMessage("processor stalled").Len(), o.Stalls()
	later := int(time.Since(began) / (6 * time.Second)) // reported when the first ten were, at most
	if lines < 10 || lines > 10+later {
		t.Errorf("%d lines of %d stalls, want 10 to %d", lines, n, 10+later)
	}
	if len(all) != 64 || o.StallCount(0) < n {
		t.Fatalf("%d on record, %d counted", len(all), o.StallCount(0))
	}
	missed := 0
	for _, s := range all { // the first ten are no longer among them
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

// TestOnStallAndShutdown: a function that blocks does not keep Shutdown, and
// one may call it.
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
						<-made // its start may stall too
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

// TestWatchdogOption: which thresholds are taken.
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
