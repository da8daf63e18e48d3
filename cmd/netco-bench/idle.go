package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/proc"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
)

// withIdle starts a server, has requests on so many connections, and calls
// measure with none open, and then with all open and nothing on them for the
// time of settle.
func withIdle(ctx context.Context, name string, conns int, settle time.Duration,
	measure func(pid int, idle bool) error) error {
	s, url, err := startOwn(ctx, "", 0, nil, []string{"serve", name})
	if err != nil {
		return err
	}
	defer s.stop()
	pid := s.cmd.Process.Pid
	if err := measure(pid, false); err != nil {
		return err
	}
	cfg, err := parseLoad([]string{url, "-c", strconv.Itoa(conns), "-d", "500ms", "-warmup",
		"500ms"}, io.Discard)
	if err != nil {
		return err
	}
	cfg.After = func() error { return cmp.Or(pause(ctx, settle), measure(pid, true)) }
	_, err = measureLoad(ctx, cfg, nil, io.Discard)
	return err
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
	var all []memoryRound
	if err := compare.Alternate(*rounds, len(servers), func(round, side int) error {
		server := servers[side]
		var before, after int64
		if err := withIdle(ctx, server, *conns, *settle, func(pid int, _ bool) error {
			rss, err := proc.RSS(pid)
			before, after = after, rss
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
		each := float64(after-before) / float64(*conns)
		fmt.Fprintf(stderr, "round %d/%d: %s %.0f B\n", round+1, *rounds, server, each)
		all = append(all, memoryRound{server, each})
		return nil
	}); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "server's resident memory for each of %d idle connections, median of %d "+
		"rounds\n\n", *conns, *rounds)
	printMemory(stdout, servers, all)
	return nil
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
	fmt.Fprintf(stdout, "%d open connections after a second of load, then nothing for %v\n\n",
		*conns, *watch)
	fmt.Fprintf(stdout, "  %-8s%20s%14s\n", "", "context switches", "CPU µs")
	for _, server := range []string{"net", "netco"} {
		var over *result.Server
		if err := withIdle(ctx, server, *conns, *settle, func(pid int, idle bool) error {
			if !idle {
				return nil
			}
			s := serverSampler{pid: pid}
			s.probe(false)
			err := pause(ctx, *watch)
			s.probe(true)
			over = s.result()
			return err
		}); err != nil || over == nil {
			return fmt.Errorf("%s: %w", server, cmp.Or(err, os.ErrProcessDone))
		}
		fmt.Fprintf(stdout, "  %-8s%20d%14.0f\n", server, over.Voluntary+over.Involuntary,
			(over.User+over.System).Seconds()*1e6)
	}
	return nil
}
