// Command soak runs examples/daemon for a while under a mixed load that checks
// every byte, disturbs it in every way that it must bear, and ends it. It
// passes if nothing was lost or wrong, nothing has grown, and the daemon's
// metrics say what the clients know to be true.
//
//	go run ./examples/daemon/soak -length 10m
//
// It builds the daemon, starts it with a collector that never rests (GOGC=10),
// and uses the loopback interface only.
//
//	load.go     the clients, on package net: steady, pipelined, churning, slow,
//	            half-closing, resetting, idle, big, bad
//	disturb.go  stalls, panics, signals, profiles, traces, pages, log levels
//	frame.go    the protocol from the clients' side; tally.go counts requests
//	flat.go     what it means that memory is flat
//	soak.go     the run; checks.go compares the end with the beginning,
//	            ending.go is the drain
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const maxConns = 2000

// shortest is the length of the shortest run whose memory says something.
const shortest = 10 * time.Second

func main() {
	o := options{out: os.Stdout}
	flag.DurationVar(&o.length, "length", 2*time.Minute, "how long the load goes on")
	flag.IntVar(&o.idle, "idle", 200, "connections that are idle most of the time")
	flag.BoolVar(&o.locked, "lock-threads", false, "run the daemon with -lock-threads")
	flag.StringVar(&o.daemon, "daemon", "", "`path` of the daemon's binary; empty: it is built")
	logFile := flag.String("log", "", "`file` for the daemon's log; empty: it is not kept")
	flag.Parse()
	if flag.NArg() > 0 || o.length < shortest || o.idle < 0 || o.idle > maxConns-100 {
		fmt.Fprintf(os.Stderr, "soak: -length is from %v on, -idle from 0 to %d, and there are "+
			"no arguments\n", shortest, maxConns-100)
		os.Exit(2)
	}
	o.log = io.Discard
	if *logFile != "" {
		f, err := os.Create(*logFile)
		if err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
			os.Exit(1)
		}
		defer f.Close()
		o.log = f
	}
	// A signal ends the load early, and in order.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if !r.print(os.Stdout) {
		os.Exit(1)
	}
}

// build makes the daemon's binary, which need not know of its commit: git may
// refuse to report.
func build(dir string) (path string, err error) {
	path = dir + "/daemon"
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path,
		"github.com/netco-go/netco/examples/daemon").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
