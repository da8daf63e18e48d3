package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	"github.com/netco-go/netco/cmd/netco-bench/internal/hist"
	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
)

// echoRound is one measurement of one server.
type echoRound struct {
	Conns      int    `json:"conns"`
	Size       int    `json:"size"`
	Pipeline   int    `json:"pipeline"`
	Offered    int    `json:"offered_per_s,omitempty"` // rate of an open loop
	Server     string `json:"server"`
	Pair       int    `json:"pair"` // rounds of the same pair ran side by side
	Backend    string `json:"backend,omitempty"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	// Requests of an open loop within the window, all answered in the end.
	Intended  uint64  `json:"intended,omitempty"`
	Requests  uint64  `json:"requests"` // answered within the window
	ElapsedNs int64   `json:"elapsed_ns"`
	Rate      float64 `json:"req_per_s"`
	P50Us     float64 `json:"p50_us"`
	P90Us     float64 `json:"p90_us"`
	P99Us     float64 `json:"p99_us"`
	P999Us    float64 `json:"p999_us"`
	MaxUs     float64 `json:"max_us"`
	CPUUs     float64 `json:"cpu_us_per_req"`    // over the window, exact
	UserUs    float64 `json:"user_us_per_req"`   // the kernel's split of it, sampled
	SystemUs  float64 `json:"system_us_per_req"` // likewise
	RSS       int64   `json:"rss_bytes"`
	Switches  float64 `json:"ctx_switches_per_req"`
	Voluntary float64 `json:"voluntary_switches_per_req"`
	// How late the generator sent, in an open loop.
	LateP50Us  float64 `json:"late_p50_us,omitempty"`
	LateP99Us  float64 `json:"late_p99_us,omitempty"`
	LateMaxUs  float64 `json:"late_max_us,omitempty"`
	ClientBusy float64 `json:"client_busy"`
	// By the class of -work, if it has several.
	Classes []classRound `json:"classes,omitempty"`
}

// classRound is the latency of one class's requests, those that its percentiles
// are of.
type classRound struct {
	Requests uint64  `json:"requests"`
	P50Us    float64 `json:"p50_us"`
	P90Us    float64 `json:"p90_us"`
	P99Us    float64 `json:"p99_us"`
}

func newClassRound(h *hist.Histogram) classRound {
	us := func(q float64) float64 { return float64(h.Quantile(q)) / 1000 }
	return classRound{h.Count(), us(0.5), us(0.9), us(0.99)}
}

func runEcho(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return measureTo(ctx, parseEcho, args, stdout, stderr)
}

// runProxy has messages echoed by a server behind each proxy, so each message
// is forwarded twice.
func runProxy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return measureTo(ctx, parseProxy, args, stdout, stderr)
}

func measureTo(ctx context.Context, parse func([]string, io.Writer) (*echoConfig, error),
	args []string, stdout, stderr io.Writer) error {
	cfg, err := parse(args, stdout)
	if err != nil {
		return err
	}
	out, err := newReport(cfg.JSON)
	if err != nil {
		return err
	}
	rounds, err := measureEcho(ctx, cfg, stdout, stderr)
	// What was measured before a failure is worth keeping.
	return errors.Join(err, out.write(cfg, err, rounds))
}

// measureEcho runs all sections and prints each one's table when it is done.
func measureEcho(ctx context.Context, cfg *echoConfig, stdout,
	stderr io.Writer) (_ []echoRound, err error) {
	all := []echoRound{}
	if err := cfg.planWork(); err != nil {
		return all, err
	}
	undo, err := cfg.surround()
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	total := len(cfg.loads()) * cfg.Rounds * len(cfg.Servers)
	fmt.Fprintf(stderr, "%d rounds, about %v\n", total, cfg.total().Round(time.Second))
	for _, offered := range cfg.loads() {
		var section []echoRound
		if err := alternate(cfg.Rounds, cfg.Servers, func(pair int, server string) error {
			head := fmt.Sprintf("round %d/%d: %v, %s", len(all)+1, total, offered, server)
			r, err := echoOnce(ctx, cfg, server, offered, pair)
			if err != nil {
				return fmt.Errorf("%s: %w", head, err)
			}
			fmt.Fprintf(stderr, "%s: %.0f req/s, p90 %.0f, p99 %.0f µs, %.2f µs CPU/req\n", head,
				r.Rate, r.P90Us, r.P99Us, r.CPUUs)
			section, all = append(section, *r), append(all, *r)
			return nil
		}); err != nil {
			return all, err
		}
		printEcho(stdout, cfg, offered, section)
	}
	return all, nil
}

// alternate calls one for each server in each round: in the order given, and
// in the other in each second round (a b, b a, a b), so that a steady drift of
// the machine favours none of them.
func alternate(rounds int, servers []string, one func(round int, server string) error) error {
	order := slices.Clone(servers)
	for round := range rounds {
		for _, s := range order {
			if err := one(round, s); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// echoOnce measures one server in a fresh process, a proxy before a server in
// another. Whatever happens, the processes are gone when it returns.
func echoOnce(ctx context.Context, cfg *echoConfig, server string, offered echoLoad,
	pair int) (*echoRound, error) {
	args := serverArgs(cfg, server, offered.Size)
	if cfg.proxy {
		target, err := child.Start(ctx, cfg.ClientCPUs, serverEnv(1),
			serverArgs(cfg, "net", max(64<<10, offered.Size)))
		if err != nil {
			return nil, fmt.Errorf("the target: %w", err)
		}
		defer target.Kill()
		args = append(args, "-target", target.Hello.Addr)
	}
	if cfg.cgroup != "" {
		args = append([]string{"within", cfg.cgroup}, args...)
	}
	p, err := child.Start(ctx, cfg.ServerCPUs, serverEnv(cfg.Procs), args)
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	r, err := driveEcho(ctx, cfg, p, offered, pair)
	if err != nil {
		return nil, err
	}
	r.Server = server
	return r, p.Stop()
}

func serverArgs(cfg *echoConfig, server string, size int) []string {
	return []string{"serve", "-impl", server, "-size", strconv.Itoa(size), "-spin", cfg.Spin,
		"-processors", strconv.Itoa(cfg.Processors), "-work", cfg.plan.String()}
}

// serverEnv is the environment with GOMAXPROCS as asked for: set from the
// child's start, or Go's default.
func serverEnv(procs int) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GOMAXPROCS=") {
			env = append(env, kv)
		}
	}
	if procs > 0 {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(procs))
	}
	return env
}

// driveEcho puts the load on p and takes its figures. The rounds of a pair have
// the same intended times.
//
// CPU time is read by the generator at the very edges of the window. Context
// switches and the user and system split come from the child through the pipe,
// which under load takes milliseconds, so they are counted per request answered
// between the two replies.
func driveEcho(ctx context.Context, cfg *echoConfig, p *child.Process, offered echoLoad,
	pair int) (*echoRound, error) {
	addr, err := netip.ParseAddrPort(p.Hello.Addr)
	if err != nil {
		return nil, fmt.Errorf("the server's address: %w", err)
	}
	l, err := load.Dial(ctx, load.Config{
		Addr: addr, Conns: offered.conns, Size: offered.Size, Pipeline: offered.Pipeline,
		Threads: cfg.Threads, CPUs: cfg.ClientCPUs,
		Rate: offered.rate, Poisson: cfg.Arrival == "poisson", Seed: uint64(pair),
		Warmup: cfg.Warmup, Duration: cfg.Duration, Stall: cfg.Stall, Verify: cfg.Verify,
		ServerPID: p.PID(), Plan: cfg.plan,
	})
	if err != nil {
		return nil, p.Explain(err)
	}
	defer l.Close()

	var before usageMark
	var markErr error
	marked := make(chan struct{})
	ran := make(chan struct{})
	go func() {
		defer close(marked)
		select {
		case <-l.Warm():
			before, markErr = markUsage(p, l)
		case <-ran:
		}
	}()
	scraping, stopScraping := context.WithCancel(ctx)
	loading, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	scraped := make(chan error, 1)
	go func() {
		err := scrape(scraping, p.Hello.Metrics)
		if err != nil {
			stopLoad()
		}
		scraped <- err
	}()
	res, err := l.Run(loading)
	close(ran)
	<-marked
	stopScraping()
	err = errors.Join(err, <-scraped)
	if err != nil {
		return nil, p.Explain(err)
	}
	if markErr != nil {
		return nil, markErr
	}
	after, err := markUsage(p, l)
	if err != nil {
		return nil, err
	}
	rss, err := p.RSS()
	if err != nil {
		return nil, err
	}
	if res.Requests == 0 {
		return nil, fmt.Errorf("no request was answered within %v", cfg.Duration)
	}
	r := newEchoRound(res, before, after)
	r.Conns, r.Size, r.Pipeline = offered.conns, offered.Size, offered.Pipeline
	r.Offered, r.Pair = offered.rate, pair
	r.RSS, r.Backend, r.GOMAXPROCS = rss, p.Hello.Backend, p.Hello.GOMAXPROCS
	return r, nil
}

// usageMark is a reading of the child's resource usage and how many requests
// had been answered when it came.
type usageMark struct {
	stat     child.Stat
	requests uint64
}

func markUsage(p *child.Process, l *load.Load) (usageMark, error) {
	s, err := p.Stat()
	return usageMark{s, l.Completed()}, err
}

func newEchoRound(res *load.Result, before, after usageMark) *echoRound {
	us := func(q float64) float64 { return float64(res.Latency.Quantile(q)) / 1000 }
	late := func(q float64) float64 { return float64(res.Late.Quantile(q)) / 1000 }
	between := float64(max(after.requests-before.requests, 1))
	per := func(a, b int64) float64 { return float64(b-a) / between }
	a, b := before.stat, after.stat
	r := &echoRound{
		Intended:   res.Intended,
		Requests:   res.Requests,
		ElapsedNs:  res.Elapsed.Nanoseconds(),
		Rate:       float64(res.Requests) / res.Elapsed.Seconds(),
		P50Us:      us(0.5),
		P90Us:      us(0.9),
		P99Us:      us(0.99),
		P999Us:     us(0.999),
		MaxUs:      us(1),
		CPUUs:      float64(res.ServerCPU.Nanoseconds()) / 1000 / float64(res.Requests),
		UserUs:     per(a.UserUs, b.UserUs),
		SystemUs:   per(a.SystemUs, b.SystemUs),
		Voluntary:  per(a.Voluntary, b.Voluntary),
		Switches:   per(a.Voluntary+a.Involuntary, b.Voluntary+b.Involuntary),
		LateP50Us:  late(0.5),
		LateP99Us:  late(0.99),
		LateMaxUs:  late(1),
		ClientBusy: res.Busy(),
	}
	for i := range res.Classes {
		r.Classes = append(r.Classes, newClassRound(&res.Classes[i]))
	}
	return r
}
