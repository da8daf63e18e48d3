package main

import (
	"context"
	"errors"
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
	Group string  `json:"group"`
	Name  string  `json:"name"`
	Round int     `json:"round"`
	N     int     `json:"n"`
	NsOp  float64 `json:"ns_per_op"`
}

// switchConfig is the checked command line of switch.
type switchConfig struct {
	Duration time.Duration `json:"duration_ns"`
	Rounds   int           `json:"rounds"`
	Run      string        `json:"run,omitempty"`
	JSON     string        `json:"-"`
	match    *regexp.Regexp
}

func parseSwitch(args []string, stdout io.Writer) (*switchConfig, error) {
	c := &switchConfig{}
	fs := flag.NewFlagSet("switch", flag.ContinueOnError)
	fs.DurationVar(&c.Duration, "duration", 200*time.Millisecond, "`time` per entry and round")
	fs.IntVar(&c.Rounds, "rounds", 5, "rounds")
	fs.StringVar(&c.Run, "run", "", "only entries whose \"group/name\" matches the `regexp`")
	fs.StringVar(&c.JSON, "json", "", "write every round and the environment to `file`")
	if err := parseFlags(fs, args, stdout); err != nil {
		return nil, err
	}
	var err error
	if c.match, err = regexp.Compile(c.Run); err != nil {
		return nil, usagef("-run: %v", err)
	}
	switch {
	case c.Duration < time.Millisecond:
		return nil, usagef("-duration must be at least 1ms")
	case c.Rounds < 1:
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
		return usagef("-run %q matches no entry", cfg.Run)
	}
	out, err := newReport(cfg.JSON)
	if err != nil {
		return err
	}
	rounds, err := measureMicros(ctx, cfg, entries, stderr)
	if len(rounds) > 0 {
		printMicros(stdout, entries, rounds)
	}
	return errors.Join(err, out.write(cfg, err, rounds))
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
	fmt.Fprintf(stderr, "%d entries, %d rounds, about %v\n", len(entries), cfg.Rounds,
		(time.Duration(len(entries)*(cfg.Rounds+1)) * cfg.Duration).Round(time.Second))
	for i, m := range entries {
		if counts[i] = calibrate(ctx, m, cfg.Duration); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	rounds := []microRound{}
	for round := range cfg.Rounds {
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
			rounds = append(rounds, microRound{m.group, m.name, round, counts[i],
				float64(elapsed.Nanoseconds()) / float64(counts[i])})
		}
		fmt.Fprintf(stderr, "round %d/%d\n", round+1, cfg.Rounds)
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
		key := r.Group + "/" + r.Name
		values[key] = append(values[key], r.NsOp)
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
