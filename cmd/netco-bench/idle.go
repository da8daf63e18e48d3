package main

import (
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
)

// idleCounts are what the kernel counts for a process, over all its threads.
type idleCounts struct {
	Switches uint64        `json:"context_switches"`
	CPU      time.Duration `json:"cpu_ns"`
}

// runIdle counts what an echo server does while its connections are open and
// nothing comes.
func runIdle(ctx context.Context, args []string, stdout, stderr io.Writer) error {
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
		c, err := idleOnce(ctx, server, *conns, *settle, *watch)
		if err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
		fmt.Fprintf(stdout, "  %-8s%20d%14.0f\n", server, c.Switches, float64(c.CPU)/1e3)
	}
	return nil
}

func idleOnce(ctx context.Context, server string, conns int, settle,
	watch time.Duration) (idleCounts, error) {
	none := idleCounts{}
	p, err := child.Start(ctx, nil, serverEnv(0), []string{"serve", "-impl", server, "-addr",
		"127.0.0.1", "-size", "64"})
	if err != nil {
		return none, err
	}
	defer p.Kill()
	addr, err := netip.ParseAddrPort(p.Hello.Addr)
	if err != nil {
		return none, err
	}
	l, err := load.Dial(ctx, load.Config{Addr: addr, Conns: conns, Size: 64, Pipeline: 1,
		Threads: 1,
		Warmup:  100 * time.Millisecond, Duration: time.Second, Stall: 5 * time.Second,
		ServerPID: p.PID()})
	if err != nil {
		return none, p.Explain(err)
	}
	defer l.Close()
	if _, err := l.Run(ctx); err != nil {
		return none, p.Explain(err)
	}
	if err := pause(ctx, settle); err != nil {
		return none, err
	}
	before, err := countsOf(p.PID())
	if err != nil {
		return none, err
	}
	if err := pause(ctx, watch); err != nil {
		return none, err
	}
	after, err := countsOf(p.PID())
	return idleCounts{after.Switches - before.Switches, after.CPU - before.CPU}, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// countsOf adds up /proc/<pid>/task/*/status and schedstat.
func countsOf(pid int) (sum idleCounts, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err == nil && len(tasks) == 0 {
		err = os.ErrProcessDone
	}
	for _, task := range tasks {
		status, rerr := os.ReadFile(filepath.Join(task, "status"))
		if rerr != nil {
			return sum, rerr
		}
		for line := range strings.Lines(string(status)) {
			if name, value, ok := strings.Cut(line, ":"); ok &&
				strings.HasSuffix(name, "ctxt_switches") {
				n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
				sum.Switches += n
			}
		}
		stat, rerr := os.ReadFile(filepath.Join(task, "schedstat"))
		if rerr != nil {
			return sum, rerr
		}
		run, _, _ := strings.Cut(string(stat), " ")
		ns, _ := strconv.ParseInt(run, 10, 64)
		sum.CPU += time.Duration(ns)
	}
	return sum, err
}
