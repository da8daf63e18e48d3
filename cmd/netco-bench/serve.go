package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
	"github.com/netco-go/netco/cmd/netco-bench/internal/work"
)

// serveConfig configures a server of echo or proxy. GOMAXPROCS is set from its
// environment.
type serveConfig struct {
	Size       int    // bytes per request
	Processors int    // netco's, 0 for its default
	Spin       string // auto or off; only netco spins
	Unwatched  bool   // no watchdog; only netco has one
	Plan       work.Plan
	Target     string // of a proxy
}

// handler returns what answers the requests of one connection.
func (c serveConfig) handler() work.Handler { return c.Plan.NewHandler(c.Size) }

// A server starts listening and serves in the background until the process
// ends. What it says hello with has its address and, if there is such, what its
// inner workings are and where its metrics.
type server func(cfg serveConfig) (child.Hello, error)

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

// runServe is the child's side of echo and proxy, or with a name in front of
// the flags a server to try load with.
func runServe(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return runServeTry(ctx, args, stdout, stderr)
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		fmt.Fprint(stdout, serveHelp)
		return nil
	}
	var cfg serveConfig
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	impl := fs.String("impl", "", "server")
	fs.IntVar(&cfg.Size, "size", 64, "bytes per request")
	fs.IntVar(&cfg.Processors, "processors", 0, "netco's Processors")
	fs.StringVar(&cfg.Spin, "spin", "auto", "auto or off")
	fs.StringVar(&cfg.Target, "target", "", "address that a proxy forwards to")
	plan := fs.String("work", "", "what to compute for a request, as the generator planned it")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	var err error
	if cfg.Plan, err = work.ParsePlan(*plan); err != nil {
		return usagef("-work: %v", err)
	}
	start, ok := echoServers[*impl]
	if cfg.Target != "" {
		start, ok = proxyServers[*impl]
	}
	if !ok {
		return usagef("unknown server %q", *impl)
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	hello, err := start(cfg)
	if err != nil {
		return err
	}
	hello.GOMAXPROCS = runtime.GOMAXPROCS(0)
	if err := child.Serve(os.Stdin, stdout, hello); err != nil {
		fmt.Fprintln(stderr, "serve:", err)
		return err
	}
	return nil
}
