package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
)

// withIdle starts a server, has requests on so many connections, and calls
// measure with none open, and then with all open and nothing on them for the
// time of settle.
func withIdle(ctx context.Context, server string, conns int, settle time.Duration,
	measure func(p *child.Process, idle bool) error) error {
	p, err := child.Start(ctx, nil, serverEnv(0), []string{"serve", "-impl", server})
	if err != nil {
		return err
	}
	defer p.Kill()
	addr, err := netip.ParseAddrPort(p.Hello.Addr)
	if err == nil {
		err = measure(p, false)
	}
	if err != nil {
		return err
	}
	l, err := load.Dial(ctx, load.Config{Addr: addr, Conns: conns, Size: 64, Pipeline: 1,
		Warmup: time.Second / 2, Duration: time.Second / 2, ServerPID: p.PID()})
	if err != nil {
		return p.Explain(err)
	}
	defer l.Close()
	if _, err := l.Run(ctx); err != nil {
		return p.Explain(err)
	}
	return cmp.Or(pause(ctx, settle), measure(p, true))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// memoryRound is what each of many cost, in one round.
type memoryRound struct {
	Kind  string  `json:"kind"`
	Round int     `json:"round"`
	Bytes float64 `json:"rss_bytes_each"`
}

// printMemory prints the median of each kind.
func printMemory(w io.Writer, kinds []string, all []memoryRound) {
	for _, kind := range kinds {
		var v []float64
		for _, r := range all {
			if r.Kind == kind {
				v = append(v, r.Bytes)
			}
		}
		m := stats.Median(v)
		fmt.Fprintf(w, "  %-24s %6.0f B  %.2f KiB\n", kind, m, m/1024)
	}
}

// runConns measures what an idle connection costs an echo server: resident
// memory, in a fresh process for each server and round, after each connection
// has had some requests.
func runConns(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("conns", flag.ContinueOnError)
	conns := fs.Int("conns", 9000, "open connections")
	rounds := fs.Int("rounds", 3, "rounds")
	list := fs.String("servers", "net,netco,netco-idle", "servers to compare, a `list`")
	settle := fs.Duration("settle", 2*time.Second, "how long to wait after a second of load")
	jsonFile := fs.String("json", "", "write every round to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if *conns < 1 || *rounds < 1 || *settle < 0 {
		return usagef("-conns, -rounds and -settle must be positive")
	}
	servers := strings.Split(*list, ",")
	for _, s := range servers {
		if echoServers[s] == nil {
			return usagef("-servers: unknown server %q", s)
		}
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	out, err := newReport(*jsonFile)
	if err != nil {
		return err
	}
	var all []memoryRound
	if err := alternate(*rounds, servers, func(round int, server string) error {
		var before, after int64
		if err := withIdle(ctx, server, *conns, *settle, func(p *child.Process, _ bool) error {
			rss, err := p.RSS()
			before, after = after, rss
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
		each := float64(after-before) / float64(*conns)
		fmt.Fprintf(stderr, "round %d/%d: %s %.0f B\n", round+1, *rounds, server, each)
		all = append(all, memoryRound{server, round, each})
		return nil
	}); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "server's resident memory for each of %d idle connections, median of %d "+
		"rounds\n\n", *conns, *rounds)
	printMemory(stdout, servers, all)
	return out.write(nil, nil, all)
}

// runIdle counts what an echo server does while its connections are open and
// nothing comes.
func runIdle(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet("idle", flag.ContinueOnError)
	conns := fs.Int("conns", 1000, "open connections")
	watch := fs.Duration("watch", 5*time.Second, "how long to count")
	settle := fs.Duration("settle", 2*time.Second, "how long to wait before")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if *conns < 1 || *watch <= 0 || *settle < 0 {
		return usagef("-conns, -watch and -settle must be positive")
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d open connections after a second of load, then nothing for %v\n\n",
		*conns, *watch)
	fmt.Fprintf(stdout, "  %-8s%20s%14s\n", "", "context switches", "CPU µs")
	for _, server := range []string{"net", "netco"} {
		var before, after idleCounts
		if err := withIdle(ctx, server, *conns, *settle, func(p *child.Process, idle bool) error {
			if !idle {
				return nil
			}
			var err error
			if before, err = countsOf(p.PID()); err == nil {
				err = pause(ctx, *watch)
			}
			if err == nil {
				after, err = countsOf(p.PID())
			}
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
		fmt.Fprintf(stdout, "  %-8s%20d%14.0f\n", server, after.switches-before.switches,
			float64(after.cpu-before.cpu)/1e3)
	}
	return nil
}

// idleCounts are what the kernel counts for a process, over all its threads.
type idleCounts struct {
	switches int64
	cpu      time.Duration
}

// countsOf adds up /proc/<pid>/task/*/status and schedstat.
func countsOf(pid int) (sum idleCounts, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err == nil && len(tasks) == 0 {
		err = os.ErrProcessDone
	}
	for _, task := range tasks {
		for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			n, err := child.Field(filepath.Join(task, "status"), name)
			if err != nil {
				return sum, err
			}
			sum.switches += n
		}
		stat, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			return sum, err
		}
		run, _, _ := strings.Cut(string(stat), " ")
		ns, _ := strconv.ParseInt(run, 10, 64)
		sum.cpu += time.Duration(ns)
	}
	return sum, err
}
