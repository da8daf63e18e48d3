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
//	client.go   the protocol from the clients' side; load.go is what they do
//	daemon.go   the process, its log, its pages and metrics
//	disturb.go  stalls, panics, signals, profiles, pages, and the end
//	soak.go     the run, and what is held against its beginning
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shortest is the length of the shortest run whose memory says something.
const shortest = 10 * time.Second

func main() {
	length := flag.Duration("length", 2*time.Minute, "how long the load goes on")
	idle := flag.Int("idle", 200, "connections that are idle most of the time")
	flag.Parse()
	if flag.NArg() > 0 || *length < shortest || *idle < 0 {
		fmt.Fprintf(os.Stderr, "soak: -length is from %v on, and no argument follows\n", shortest)
		os.Exit(2)
	}
	// A signal ends the load early, and in order.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if failed := run(ctx, *length, *idle, os.Stdout); len(failed) > 0 {
		os.Exit(1)
	}
}
