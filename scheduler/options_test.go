package scheduler_test

import (
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

func TestOptionsRange(t *testing.T) {
	for _, c := range []struct {
		name string
		o    scheduler.Options
		bad  string // part of the error; "" for none
	}{
		{"zero", scheduler.Options{}, ""},
		{"one processor", scheduler.Options{Processors: 1}, ""},
		{"many processors", scheduler.Options{Processors: 1024}, ""},
		{"too many processors", scheduler.Options{Processors: 1025}, "Processors is 1025"},
		{"negative processors", scheduler.Options{Processors: -1}, "Processors is -1"},
		{"least buffer", scheduler.Options{BufferSize: 512}, ""},
		{"greatest buffer", scheduler.Options{BufferSize: 16 << 20}, ""},
		{"buffer too small", scheduler.Options{BufferSize: 511}, "BufferSize is 511"},
		{"buffer too large", scheduler.Options{BufferSize: 16<<20 + 1}, "BufferSize"},
		{"negative buffer", scheduler.Options{BufferSize: -1}, "BufferSize is -1"},
		{"spin off", scheduler.Options{NoSpin: true}, ""},
		{"CPU", scheduler.Options{CPUs: []int{firstCPU(t)}}, ""},
		{"negative CPU", scheduler.Options{CPUs: []int{-1}}, "CPU -1"},
		{"absent CPU", scheduler.Options{CPUs: []int{firstCPU(t), 1 << 20}}, "CPU 1048576"},
		{"greatest CPU", scheduler.Options{CPUs: []int{math.MaxInt}},
			"which this process may not use"},
		{"slog", scheduler.Options{Slog: slog.New(slog.DiscardHandler)}, ""},
		{"two loggers",
			scheduler.Options{Slog: slog.New(slog.DiscardHandler), Logger: zap.NewNop()},
			"both set"},
		{"negative pool", scheduler.Options{PoolCap: math.MinInt}, ""},
		{"negative limit", scheduler.Options{MaxCoroutines: -1}, "MaxCoroutines is -1"},
		{"negative memory", scheduler.Options{BufferMemory: -1}, "BufferMemory is -1"},
		{"memory for one buffer", scheduler.Options{BufferMemory: 16 << 10}, ""},
		{"too little memory", scheduler.Options{BufferMemory: 16<<10 - 1},
			"at least the 16384 bytes"},
		{"memory for a small buffer",
			scheduler.Options{BufferMemory: 1024, BufferSize: 1024, MaxCoroutines: 1}, ""},
		{"too little for a small buffer", scheduler.Options{BufferMemory: 1023, BufferSize: 1024},
			"at least the 1024 bytes"},
	} {
		_, err := scheduler.New(c.o)
		testenv.True(t, (c.bad != "" || err == nil) &&
			(c.bad == "" || err != nil && strings.Contains(err.Error(), c.bad)),
			"%s: error %v, want one with %q", c.name, err, c.bad)
	}
}

func firstCPU(t *testing.T) int {
	var set unix.CPUSet
	testenv.OK(t, unix.SchedGetaffinity(0, &set))
	for cpu := range 64 * len(set) {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no CPU")
	return 0
}

// TestEveryOption runs coroutines of every kind under each option that changes
// how they run.
func TestEveryOption(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	for name, o := range map[string]scheduler.Options{
		"default":      {},
		"one":          {Processors: 1},
		"many":         {Processors: 20},
		"locked":       {Processors: 2, LockThreads: true},
		"no pool":      {Processors: 2, PoolCap: -1},
		"small pool":   {Processors: 2, PoolCap: 3},
		"no spin":      {Processors: 2, NoSpin: true},
		"one CPU":      {Processors: 2, CPUs: []int{firstCPU(t)}},
		"small buffer": {Processors: 1, BufferSize: 512},
		"logger":       {Processors: 2, Logger: zap.New(core)},
	} {
		t.Run(name, func(t *testing.T) {
			// By default as many as Ps, of which a Scheduler before it may have
			// added one; TestOneCPU knows whether.
			least, most := max(1, runtime.GOMAXPROCS(0)-1), runtime.GOMAXPROCS(0)
			if o.Processors != 0 {
				least, most = o.Processors, o.Processors
			}
			s := start(t, o)
			if n := s.Processors(); n < least || n > most {
				t.Errorf("%d Processors, want %d to %d", n, least, most)
			}
			load(t, s)
			if len(o.CPUs) > 0 {
				for i := range s.Processors() {
					h, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(i), Fn: func() {
						var set unix.CPUSet
						err := unix.SchedGetaffinity(0, &set)
						testenv.True(t, err == nil && set.Count() == 1 && set.IsSet(o.CPUs[0]),
							"Processor %d runs on %d CPUs: %v", i, set.Count(), err)
					}})
					h.Join()
				}
			}
			if o.BufferSize != 0 {
				h, _ := s.GoWith(scheduler.Spawn{On: scheduler.OnProcessor(0), Fn: func() {
					b := processor.AcquireBuffer()
					defer b.Release()
					testenv.Equal(t, len(b.Bytes()), o.BufferSize, "a buffer of N bytes")
				}})
				h.Join()
			}
			shutdown(t, s)
			live := s.Live()
			testenv.True(t, live == 0, "%d live", live)
		})
	}
	testenv.Equal(t, logs.FilterMessage("scheduler started").Len(), 1,
		"the start was logged N times")
	testenv.Equal(t, logs.FilterMessage("scheduler ended").Len(), 1, "the end was logged N times")
}

// load has coroutines sleep, yield, join, end by Goexit, and start others on
// either thread.
func load(t *testing.T, s *scheduler.Scheduler) {
	err := s.Run(scheduler.Spawn{Fn: func() {
		var all []coroutine.Handle
		for i := range 200 {
			h, err := s.Go(func() {
				switch i % 5 {
				case 0:
					processor.Sleep(1000)
				case 1:
					coroutine.Yield()
				case 2:
					runtime.Goexit()
				case 3:
					h, err := on(s, i%s.Processors())(coroutine.Yield)
					testenv.True(t, err == nil && h.Join() == nil, "On: %v", err)
				case 4:
					h, err := s.GoWith(scheduler.Spawn{Local: true, Fn: func() {
						processor.Sleep(1)
					}})
					testenv.True(t, err == nil && h.Join() == nil, "Local: %v", err)
				}
			})
			testenv.NoError(t, err)
			all = append(all, h)
		}
		for _, h := range all {
			h.Join()
		}
	}})
	testenv.NoError(t, err)
}
