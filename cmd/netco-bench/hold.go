package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/cmd/netco-bench/internal/proc"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
)

// hold measures what something costs that only waits: resident memory, in a
// fresh process for each kind and round.

// holdKinds are what can be held; each starts one.
var holdKinds = []struct {
	name  string
	start func()
}{
	{"goroutine in a channel", func() { go func() { <-never }() }},
	{"coroutine, parked", func() {
		mustGo(func() { coroutine.Current().Park(coroutine.ReasonUser) })
	}},
	{"coroutine, asleep", func() { mustGo(func() { netco.Sleep(time.Hour) }) }},
}

var never = make(chan struct{})

func mustGo(f func()) {
	if _, err := netco.Go(f); err != nil {
		panic(err)
	}
}

func runHold(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("hold", flag.ContinueOnError)
	n := fs.Int("n", 100_000, "how many to hold")
	rounds := fs.Int("rounds", 3, "rounds")
	kind := fs.Int("child", -1, "internal: measure this kind and print its JSON")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	if *n < 1 || *rounds < 1 {
		return usagef("-n and -rounds must be at least 1")
	}
	if *kind >= 0 {
		return holdHere(*kind, *n, stdout)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	var all []memoryRound
	for round := range *rounds {
		for k := range holdKinds {
			cmd := exec.CommandContext(ctx, exe, "hold", "-child", strconv.Itoa(k), "-n",
				strconv.Itoa(*n))
			cmd.Stderr = stderr
			text, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", holdKinds[k].name, err)
			}
			var r memoryRound
			if err := json.Unmarshal(text, &r); err != nil {
				return fmt.Errorf("%s said %q: %w", holdKinds[k].name, text, err)
			}
			fmt.Fprintf(stderr, "round %d/%d: %s %.0f B\n", round+1, *rounds, r.Kind, r.Bytes)
			all = append(all, r)
		}
	}
	fmt.Fprintf(stdout, "resident memory of each of %d, median of %d rounds\n\n", *n, *rounds)
	var kinds []string
	for _, k := range holdKinds {
		kinds = append(kinds, k.name)
	}
	printMemory(stdout, kinds, all)
	return nil
}

// holdHere holds n of a kind in this process and prints the difference.
func holdHere(kind, n int, stdout io.Writer) error {
	if kind >= len(holdKinds) {
		return usagef("no kind %d", kind)
	}
	if err := netco.Start(netco.Options{}); err != nil {
		return err
	}
	runtime.GC()
	before, err := proc.RSS(os.Getpid())
	if err != nil {
		return err
	}
	// Coroutines are started by one of them, as an acceptor does.
	started := make(chan struct{})
	mustGo(func() {
		for range n {
			holdKinds[kind].start()
		}
		close(started)
	})
	<-started
	s, err := netco.Default()
	if err != nil {
		return err
	}
	for settled := 0; settled < 20; time.Sleep(10 * time.Millisecond) { // until all wait
		settled++
		for _, p := range engine.Of(s).Processors() {
			if !p.Idle() {
				settled = 0
			}
		}
	}
	runtime.GC()
	after, err := proc.RSS(os.Getpid())
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(memoryRound{Kind: holdKinds[kind].name,
		Bytes: float64(after-before) / float64(n)})
}
