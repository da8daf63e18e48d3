// Command netco-bench measures netco beside Go's own runtime and net package on
// the machine it runs on.
//
//	netco-bench load      loads any server, closed loop or open: docs/LOAD.md
//	netco-bench serve     servers to try it with
//	netco-bench echo      TCP echo servers on netco and on net, compared
//	netco-bench proxy     TCP proxies likewise
//	netco-bench switch    the primitives: start, switch, timers, locks, wake-ups
//	netco-bench hold      memory of what waits
//	netco-bench conns     memory of connections that are idle
//	netco-bench fair      how long connections wait behind a busy one
//	netco-bench sleepers  memory and lateness of a million coroutines that sleep
//	netco-bench idle      context switches and CPU time of an idle server
//	netco-bench compare   which of two targets, commands or results is better
//	netco-bench sweep     latency by rate, up to the knee
//	netco-bench report    results as Markdown
//	netco-bench merge     add up results of several machines
//
// Servers run as child processes, and so do the loads of echo, proxy, compare
// and sweep.
// What is compared runs in alternating rounds, so that a drift of the machine
// hits both sides alike, and the figures are medians over the rounds. Ratios
// hold across machines, absolute figures don't.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitThreshold   = 3   // a limit of load's -max is broken
	exitInterrupted = 130 // 128 + SIGINT, as a shell reports it
)

// A command is one subcommand; args exclude its name.
type command struct {
	name  string
	about string
	run   func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{name: "load", about: "load any server: TCP, UDP, Unix, TLS, HTTP, Redis, WebSocket",
			run: runLoad},
		{name: "echo", about: "TCP echo servers on netco and on net under the same load",
			run: runEcho},
		{name: "proxy", about: "TCP proxies on netco and on net under the same load",
			run: runProxy},
		{name: "switch", about: "micro-benchmarks: start, switch, timers, locks, wake-ups",
			run: runSwitch},
		{name: "hold", about: "resident memory of coroutines and goroutines that wait",
			run: runHold},
		{name: "conns", about: "resident memory of an echo server's idle connections",
			run: runConns},
		{name: "fair", about: "delay behind a connection that is always ready", run: runFair},
		{name: "sleepers", about: "memory and lateness of coroutines that sleep, a million by " +
			"default", run: runSleepers},
		{name: "idle", about: "what echo servers do while their connections are idle",
			run: runIdle},
		{name: "compare", about: "which of two targets, commands or results is better, in " +
			"alternating rounds", run: runCompare},
		{name: "sweep", about: "latency by rate, up to the knee", run: runSweep},
		{name: "report", about: "results of load, merge, compare and sweep as Markdown",
			run: runReport},
		{name: "merge", about: "add up results of several machines", run: runMerge},
		{name: "version", about: "print the version", run: runVersion},
		{name: "serve", about: "echo servers to try load with", run: runServe},
	}
}

// usageError is a mistake in the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printUsage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		printUsage(stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return exitCode(ctx, c, c.run(ctx, args[1:], stdout, stderr), stderr)
		}
	}
	fmt.Fprintf(stderr, "netco-bench: unknown command %q\n\n", args[0])
	printUsage(stderr)
	return exitUsage
}

func exitCode(ctx context.Context, c command, err error, stderr io.Writer) int {
	var usage *usageError
	var threshold *thresholdError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "netco-bench %s: %v\nRun 'netco-bench %s -h' for the flags.\n", c.name,
			err, c.name)
		return exitUsage
	case errors.As(err, &threshold):
		fmt.Fprintf(stderr, "netco-bench %s: %v\n", c.name, err)
		return exitThreshold
	case ctx.Err() != nil:
		// The failure is a consequence of the interrupt, not news.
		fmt.Fprintf(stderr, "netco-bench %s: interrupted\n", c.name)
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "netco-bench %s: %v\n", c.name, err)
	return exitFailed
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, "netco-bench measures netco beside Go's own runtime and net package.\n\nUsage: "+
		"netco-bench <command> [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, "  help      print this\n\nRun 'netco-bench <command> -h' for its flags.\n")
}

// parseFlags parses args into fs and refuses what follows the flags. Help goes
// to stdout; a mistake comes back as a usageError.
func parseFlags(fs *flag.FlagSet, args []string, stdout io.Writer) error {
	rest, err := parseAround(fs, "[flags]", args, stdout)
	if len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	return err
}

func runVersion(_ context.Context, args []string, stdout, _ io.Writer) error {
	if err := parseFlags(flag.NewFlagSet("version", flag.ContinueOnError), args,
		stdout); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "netco-bench %s %s %s/%s\n", moduleVersion(), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	return nil
}

// moduleVersion is the module's version as the build recorded it, with the
// commit when there is one.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v += " " + s.Value
		}
	}
	return v
}
