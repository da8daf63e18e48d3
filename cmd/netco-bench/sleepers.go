package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/proc"
	"github.com/netco-go/netco/internal/clock"
)

// sleepers measures what a program of coroutines that only sleep needs and how
// late they wake, all of it in this process.

// sleepersConfig is what is to be measured.
type sleepersConfig struct {
	n          int
	sleep      time.Duration
	processors int
}

// sleepersResult is one measurement.
type sleepersResult struct {
	Start    time.Duration // until all had been started
	Asleep   time.Duration // until all slept
	Ended    time.Duration // until the last had ended
	LastWake time.Duration // when the last was due
	RSS      int64         // the process before
	PeakRSS  int64
	Late     map[string]time.Duration // by percentile
	// How many woke later than a tenth of their time.
	Over int
}

func runSleepers(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := sleepersConfig{}
	fs := flag.NewFlagSet("sleepers", flag.ContinueOnError)
	fs.IntVar(&c.n, "n", 1_000_000, "how many coroutines")
	fs.DurationVar(&c.sleep, "sleep", 15*time.Second, "how long each sleeps")
	fs.IntVar(&c.processors, "processors", 0, "Processors, which run coroutines; 0 for GOMAXPROCS")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if c.n < 1 || c.sleep <= 0 || c.processors < 0 {
		return usagef("-n and -sleep must be positive, -processors not negative")
	}
	r, err := sleepAll(ctx, c)
	if err != nil {
		return err
	}
	r.print(stdout, c)
	return nil
}

// status is this process's.
const status = "/proc/self/status"

// sleepAll is the measurement.
func sleepAll(ctx context.Context, c sleepersConfig) (r sleepersResult, err error) {
	if err := netco.Start(netco.Options{Processors: c.processors}); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, netco.Shutdown(context.Background())) }()
	runtime.GC()
	if r.RSS, err = proc.Field(status, "VmRSS"); err != nil {
		return r, err
	}
	s := &sleepers{c: c, late: make([]int32, c.n), ended: make(chan struct{})}
	s.left.Store(int64(c.n))
	s.begin = monotonic()
	// They are started by one of them, as an acceptor does.
	if _, err := netco.Go(func() {
		for i := range c.n {
			if _, err := netco.Go(func() { s.sleep(i) }); err != nil {
				return // interrupted
			}
		}
		s.started.Store(monotonic())
	}); err != nil {
		return r, err
	}
	select {
	case <-s.ended:
	case <-ctx.Done():
		over, cancel := context.WithCancel(context.Background())
		cancel()
		netco.Shutdown(over) // by force
		return r, ctx.Err()
	}
	r.Ended = time.Duration(monotonic() - s.begin)
	r.Start = time.Duration(s.started.Load() - s.begin)
	r.Asleep = time.Duration(s.asleep.Load() - s.begin)
	r.LastWake = r.Asleep + c.sleep
	if r.PeakRSS, err = proc.Field(status, "VmHWM"); err != nil {
		return r, err
	}
	r.PeakRSS = max(r.PeakRSS, r.RSS) // the kernel does not look at every moment
	s.judge(&r)
	return r, nil
}

// sleepers is what they share.
type sleepers struct {
	c       sleepersConfig
	begin   int64
	started atomic.Int64 // when all had been started
	asleep  atomic.Int64 // when the last began to sleep
	left    atomic.Int64
	late    []int32 // µs, by coroutine: each writes its own
	ended   chan struct{}
}

func (s *sleepers) sleep(i int) {
	now, d := monotonic(), int64(s.c.sleep)
	raise(&s.asleep, now)
	netco.Sleep(s.c.sleep)
	s.late[i] = int32(min((monotonic()-now-d)/1e3, 1<<31-1))
	if s.left.Add(-1) == 0 {
		close(s.ended)
	}
}

// monotonic makes no system call, in which a coroutine might be left behind.
func monotonic() int64 { return clock.Now() }

// raise makes v at least n.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// judge fills in what is said of the lateness.
func (s *sleepers) judge(r *sleepersResult) {
	for _, us := range s.late {
		if int64(us)*1e3 > int64(s.c.sleep)/10 {
			r.Over++
		}
	}
	slices.Sort(s.late)
	at := func(p float64) time.Duration {
		return time.Duration(s.late[int(p*float64(len(s.late)-1))]) * time.Microsecond
	}
	r.Late = map[string]time.Duration{"p0": at(0), "p50": at(0.5), "p99": at(0.99),
		"p99.9": at(0.999), "max": at(1)}
}

func (r *sleepersResult) print(w io.Writer, c sleepersConfig) {
	fmt.Fprintf(w, "%d coroutines, each asleep for %v\n\n", c.n, c.sleep)
	fmt.Fprintf(w, "  all started after   %12v   %.0f ns each\n", r.Start.Round(time.Millisecond),
		float64(r.Start)/float64(c.n))
	fmt.Fprintf(w, "  all asleep after    %12v\n", r.Asleep.Round(time.Millisecond))
	fmt.Fprintf(w, "  last due after      %12v\n", r.LastWake.Round(time.Millisecond))
	fmt.Fprintf(w, "  all ended after     %12v\n", r.Ended.Round(time.Millisecond))
	fmt.Fprintf(w, "  peak RSS            %8.2f GiB   %.2f KiB each\n", float64(r.PeakRSS)/(1<<30),
		float64(r.PeakRSS-r.RSS)/1024/float64(c.n))
	fmt.Fprintf(w, "  late                p50 %v, p99 %v, p99.9 %v, max %v\n", r.Late["p50"],
		r.Late["p99"], r.Late["p99.9"], r.Late["max"])
	fmt.Fprintf(w, "  later than a tenth  %12d\n", r.Over)
}
