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

// serveConfig configures an echo server.
type serveConfig struct {
	Host       string // address to listen on, port chosen by the kernel
	Procs      int    // GOMAXPROCS, already in force; 0 for Go's default
	Size       int    // bytes per request
	Processors int    // netco's, 0 for its default
	Spin       string // auto or off; only netco spins
	Unwatched  bool   // no watchdog; only netco has one
	MinActive  int    // netco's Processors that stay active, 0 for its default
	Plan       work.Plan
}

// handler returns what answers the requests of one connection.
func (c serveConfig) handler() work.Handler { return c.Plan.NewHandler(c.Size) }

// An echoServer starts listening and serves in the background until the process
// ends. What it says hello with has its address and, if there is such, what its
// inner workings are and where its metrics.
type echoServer func(cfg serveConfig) (child.Hello, error)

// echoServers are the servers by the name -servers knows them by.
var echoServers = map[string]echoServer{
	"c":             serveC,
	"net":           serveNet,
	"netco":         serveNetco,
	"netco-one":     serveNetcoOne,
	"netco-idle":    serveNetcoIdle,
	"netco-bare":    serveNetcoBare,
	"netco-watched": serveNetcoWatched,

	"net-deadlines":              serveGoroutines(listenNet, echoDeadlines),
	"netco-goroutines":           serveGoroutines(listenNetco, echoNet),
	"netco-goroutines-deadlines": serveGoroutines(listenNetco, echoDeadlines),
}

// runServe is the child's side of echo, or with a name in front of the flags a
// server to try load with.
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
	impl := fs.String("impl", "", "echo server")
	fs.StringVar(&cfg.Host, "addr", "127.0.0.1", "host")
	fs.IntVar(&cfg.Procs, "procs", 0, "GOMAXPROCS")
	fs.IntVar(&cfg.Size, "size", 64, "bytes per request")
	fs.IntVar(&cfg.Processors, "processors", 0, "netco's Processors")
	fs.StringVar(&cfg.Spin, "spin", "auto", "auto or off")
	fs.IntVar(&cfg.MinActive, "min-active", 0, "netco's Processors that stay active")
	plan := fs.String("work", "", "what to compute for a request, as the generator planned it")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	var err error
	if cfg.Plan, err = work.ParsePlan(*plan); err != nil {
		return usagef("-work: %v", err)
	}
	start, ok := echoServers[*impl]
	if !ok {
		return usagef("unknown server %q", *impl)
	}
	if _, err := raiseNoFile(); err != nil {
		return err
	}
	if cfg.Procs > 0 {
		runtime.GOMAXPROCS(cfg.Procs)
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
