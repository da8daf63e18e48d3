package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

// serveConfig configures a server of echo or proxy. GOMAXPROCS is set from its
// environment.
type serveConfig struct {
	Addr       string
	Size       int    // bytes per request
	Processors int    // netco's, 0 for its default
	Spin       string // auto or off; only netco spins
	Unwatched  bool   // no watchdog; only netco has one
	Plan       work.Plan
	Target     string // of a proxy
}

// handler returns what answers the requests of one connection.
func (c serveConfig) handler() work.Handler { return c.Plan.NewHandler(c.Size) }

// A server starts listening, serves in the background until the process ends,
// and returns its address.
type server func(cfg serveConfig) (address string, err error)

// echoServers are the servers by the name that -servers of echo knows them by.
var echoServers = map[string]server{
	"c":             serveC,
	"net":           goroutines(listenNet, echoNet),
	"netco":         netcoOn(unchanged, echoNetco),
	"netco-one":     netcoOn(oneOnly, echoNetco),
	"netco-idle":    serveNetcoIdle,
	"netco-bare":    netcoOn(unwatched, echoNetco),
	"netco-watched": serveNetcoWatched,

	"net-deadlines":              goroutines(listenNet, echoDeadlines),
	"netco-goroutines":           goroutines(listenNetco, echoNet),
	"netco-goroutines-deadlines": goroutines(listenNetco, echoDeadlines),
}

// proxyServers are those that -servers of proxy knows.
var proxyServers = map[string]server{
	"netco":      netcoOn(unchanged, proxyNetco),
	"net-copy":   goroutines(listenNet, proxyNet(copyPlain)),
	"net-splice": goroutines(listenNet, proxyNet(io.Copy)),
}

const serveUsage = `SERVER [-addr 127.0.0.1:8080]

Serves until Ctrl-C, and prints the address. The servers are those of echo, and with -target those of
proxy. ./examples has servers for http://, redis:// and ws://.`

// runServe is a server to try load with, and of the rounds of echo and proxy.
func runServe(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var cfg serveConfig
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&cfg.Addr, "addr", "127.0.0.1:0", "`address` to listen on")
	fs.IntVar(&cfg.Size, "size", 64, "`bytes` per request")
	fs.IntVar(&cfg.Processors, "processors", 0, "netco's Processors")
	fs.StringVar(&cfg.Spin, "spin", "auto", "auto or off")
	fs.StringVar(&cfg.Target, "target", "", "`address` that a proxy forwards to")
	plan := fs.String("work", "", "what to compute for a request, as echo has planned it")
	names, err := parseAround(fs, serveUsage, args, stdout)
	if err != nil {
		return err
	}
	if cfg.Plan, err = work.ParsePlan(*plan); err != nil {
		return usagef("-work: %v", err)
	}
	known := echoServers
	if cfg.Target != "" {
		known = proxyServers
	}
	if len(names) != 1 || known[names[0]] == nil {
		return usagef("want one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	address, err := known[names[0]](cfg)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, address)
	<-ctx.Done()
	return ctx.Err()
}
