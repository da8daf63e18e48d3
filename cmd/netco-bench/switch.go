package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
)

// A micro is one micro-benchmark. Entries of one group do the same job by
// different means; the first of a group is what the others are compared with.
type micro struct {
	name  string
	group string
	// run does the job n times and returns the time to be divided by n. It may
	// leave out its preparation and pauses between jobs.
	run func(n int) (elapsed time.Duration)
	// cpus is how many CPUs the job needs to mean anything, 0 for one.
	cpus int
}

// micros returns all entries, Go's first in each group. netcoMicros is the seam
// to the runtime under test (switch_netco.go).
func micros() []micro {
	return slices.Concat(goMicros(), netcoMicros())
}

// microRound is one measurement of one entry.
type microRound struct {
	group, name string
	nsOp        float64
}

// switchConfig is the checked command line of switch.
type switchConfig struct {
	duration time.Duration
	rounds   int
	run      string
	match    *regexp.Regexp
}

func parseSwitch(args []string, stdout io.Writer) (*switchConfig, error) {
	c := &switchConfig{}
	fs := flag.NewFlagSet("switch", flag.ContinueOnError)
	fs.DurationVar(&c.duration, "duration", 200*time.Millisecond, "`time` per entry and round")
	fs.IntVar(&c.rounds, "rounds", 5, "rounds")
	fs.StringVar(&c.run, "run", "", "only entries whose \"group/name\" matches the `regexp`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	var err error
	if c.match, err = regexp.Compile(c.run); err != nil {
		return nil, usagef("-run: %v", err)
	}
	switch {
	case c.duration < time.Millisecond:
		return nil, usagef("-duration must be at least 1ms")
	case c.rounds < 1:
		return nil, usagef("-rounds must be at least 1")
	}
	return c, nil
}

func runSwitch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseSwitch(args, stdout)
	if err != nil {
		return err
	}
	entries := selectMicros(micros(), cfg.match, stderr)
	if len(entries) == 0 {
		return usagef("-run %q matches no entry", cfg.run)
	}
	rounds, err := measureMicros(ctx, cfg, entries, stderr)
	if len(rounds) > 0 {
		printMicros(stdout, entries, rounds)
	}
	return err
}

// selectMicros keeps the entries that match and that this machine can run.
func selectMicros(all []micro, match *regexp.Regexp, stderr io.Writer) []micro {
	var kept []micro
	for _, m := range all {
		switch name := m.group + "/" + m.name; {
		case !match.MatchString(name):
		case m.cpus > runtime.NumCPU():
			fmt.Fprintf(stderr, "%s left out: needs %d CPUs\n", name, m.cpus)
		default:
			kept = append(kept, m)
		}
	}
	return kept
}

// measureMicros runs every entry once per round, in turning order.
func measureMicros(ctx context.Context, cfg *switchConfig, entries []micro,
	stderr io.Writer) ([]microRound, error) {
	counts := make([]int, len(entries))
	fmt.Fprintf(stderr, "%d entries, %d rounds, about %v\n", len(entries), cfg.rounds,
		(time.Duration(len(entries)*(cfg.rounds+1)) * cfg.duration).Round(time.Second))
	for i, m := range entries {
		if counts[i] = calibrate(ctx, m, cfg.duration); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	rounds := []microRound{}
	for round := range cfg.rounds {
		for k := range entries {
			i := k
			if round%2 == 1 {
				i = len(entries) - 1 - k
			}
			m := entries[i]
			runtime.GC() // the former entry's garbage is not this one's
			elapsed := m.run(counts[i])
			if ctx.Err() != nil {
				return rounds, ctx.Err()
			}
			rounds = append(rounds, microRound{m.group, m.name,
				float64(elapsed.Nanoseconds()) / float64(counts[i])})
		}
		fmt.Fprintf(stderr, "round %d/%d\n", round+1, cfg.rounds)
	}
	return rounds, nil
}

// calibrate finds the n that takes about want. It goes by the clock on the
// wall: what run returns may leave out most of its time.
func calibrate(ctx context.Context, m micro, want time.Duration) int {
	n := 1
	for ctx.Err() == nil {
		start := time.Now()
		m.run(n)
		took := max(time.Since(start), time.Microsecond)
		if took >= want/4 {
			return max(int(float64(n)*float64(want)/float64(took)), 1)
		}
		n = int(float64(n) * min(max(float64(want/2)/float64(took), 2), 10))
	}
	return n
}

// printMicros prints medians in ns, grouped, with the ratio to the first of the
// group, and the fastest and the slowest round.
func printMicros(w io.Writer, entries []micro, rounds []microRound) {
	values := map[string][]float64{}
	for _, r := range rounds {
		key := r.group + "/" + r.name
		values[key] = append(values[key], r.nsOp)
	}
	width := 0
	for _, m := range entries {
		width = max(width, len(m.group), len(m.name)+2)
	}
	for _, group := range groupsOf(entries) {
		fmt.Fprintf(w, "%-*s%12s%12s%12s%8s\n", width, group, "ns/op", "min", "max", "ratio")
		first := 0.0
		for _, m := range entries {
			v := values[m.group+"/"+m.name]
			if m.group != group || len(v) == 0 {
				continue
			}
			mid := stats.Median(v)
			if first == 0 {
				first = mid
			}
			fmt.Fprintf(w, "  %-*s%12.1f%12.1f%12.1f%8.2f\n", width-2, m.name, mid, slices.Min(v),
				slices.Max(v), mid/first)
		}
		fmt.Fprintln(w)
	}
}

// groupsOf returns the groups in the order of their first entries.
func groupsOf(entries []micro) []string {
	var groups []string
	for _, m := range entries {
		if !slices.Contains(groups, m.group) {
			groups = append(groups, m.group)
		}
	}
	return groups
}
