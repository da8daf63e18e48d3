package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	"github.com/netco-go/netco/cmd/netco-bench/internal/load"
)

// connsRound is one measurement of one server.
type connsRound struct {
	Server string  `json:"server"`
	Round  int     `json:"round"`
	Conns  int     `json:"conns"`
	Bytes  float64 `json:"rss_bytes_each"`
}

// connsConfig is the checked command line of conns.
type connsConfig struct {
	Conns   int           `json:"conns"`
	Rounds  int           `json:"rounds"`
	Servers []string      `json:"servers"`
	Load    time.Duration `json:"load_ns"`
	Settle  time.Duration `json:"settle_ns"`
}

// runConns measures what an idle connection costs an echo server: resident
// memory, in a fresh process for each server and round, after each connection
// has had some requests.
func runConns(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var cfg connsConfig
	fs := flag.NewFlagSet("conns", flag.ContinueOnError)
	fs.IntVar(&cfg.Conns, "conns", 9000, "open connections")
	fs.IntVar(&cfg.Rounds, "rounds", 3, "rounds")
	servers := fs.String("servers", "net,netco,netco-idle", "servers to compare, a `list`")
	fs.DurationVar(&cfg.Load, "load", time.Second, "how long requests run on all connections first")
	fs.DurationVar(&cfg.Settle, "settle", 2*time.Second, "how long to wait after them")
	jsonFile := fs.String("json", "", "write every round to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if cfg.Conns < 1 || cfg.Rounds < 1 || cfg.Load < minDuration || cfg.Settle < 0 {
		return usagef("-conns, -rounds, -load and -settle must be positive")
	}
	for s := range strings.SplitSeq(*servers, ",") {
		if echoServers[s] == nil {
			return usagef("-servers: unknown server %q", s)
		}
		cfg.Servers = append(cfg.Servers, s)
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	out, err := newReport(*jsonFile)
	if err != nil {
		return err
	}
	started := time.Now()
	var all []connsRound
	for round := range cfg.Rounds {
		for _, server := range turnOrder(cfg.Servers, round) {
			bytes, err := connsOnce(ctx, &cfg, server)
			if err != nil {
				return fmt.Errorf("%s: %w", server, err)
			}
			fmt.Fprintf(stderr, "round %d/%d: %s %.0f B\n", round+1, cfg.Rounds, server, bytes)
			all = append(all, connsRound{server, round, cfg.Conns, bytes})
		}
	}
	fmt.Fprintf(stdout, "server's resident memory for each of %d idle connections, median of %d "+
		"rounds\n\n", cfg.Conns, cfg.Rounds)
	for _, server := range cfg.Servers {
		var v []float64
		for _, r := range all {
			if r.Server == server {
				v = append(v, r.Bytes)
			}
		}
		fmt.Fprintf(stdout, "  %-12s %6.0f B  %.2f KiB\n", server, median(v), median(v)/1024)
	}
	return out.write(newEnvironment(started), &cfg, nil, all)
}

func connsOnce(ctx context.Context, cfg *connsConfig, server string) (float64, error) {
	p, err := child.Start(ctx, nil, serverEnv(0), []string{"serve", "-impl", server, "-addr",
		"127.0.0.1", "-size", "64"})
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	addr, err := netip.ParseAddrPort(p.Hello.Addr)
	if err != nil {
		return 0, err
	}
	before, err := p.RSS()
	if err != nil {
		return 0, err
	}
	l, err := load.Dial(ctx, load.Config{Addr: addr, Conns: cfg.Conns, Size: 64, Pipeline: 1,
		Threads: 1,
		Warmup:  cfg.Load / 2, Duration: cfg.Load / 2, Stall: load.DefaultStall,
		ServerPID: p.PID()})
	if err != nil {
		return 0, p.Explain(err)
	}
	defer l.Close()
	if _, err := l.Run(ctx); err != nil {
		return 0, p.Explain(err)
	}
	if err := pause(ctx, cfg.Settle); err != nil {
		return 0, err
	}
	after, err := p.RSS()
	return float64(after-before) / float64(cfg.Conns), err
}
