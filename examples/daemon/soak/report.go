package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// report is what a soak has found.
type report struct {
	took        time.Duration
	start, end  sample
	memory      flatness
	scrapes     int
	lines       int // of the daemon's log
	disturbed   map[string]int
	comparisons []comparison
	kinds       map[string]int64
	opened      int64
	received    int64

	mu     sync.Mutex
	failed []string // under mu
}

// comparison is a figure of the daemon's beside what the clients know of it.
type comparison struct {
	what             string
	got, least, most int64
}

func (c comparison) ok() bool { return c.least <= c.got && c.got <= c.most }

// failedKept bounds the report of a run that fails all the time.
const failedKept = 100

func (r *report) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) < failedKept {
		r.failed = append(r.failed, fmt.Sprintf(format, args...))
	}
}

// print writes the tables and reports whether all is well.
func (r *report) print(w io.Writer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nsoak\t%v\tload, %d connections, %d MiB received, %d scrapes, %d lines of "+
		"log\n",
		r.took.Round(time.Second), r.opened, r.received>>20, r.scrapes, r.lines)
	fmt.Fprintf(t, "\nof the process\tbefore\tafter\n")
	fmt.Fprintf(t, "fds\t%d\t%d\n", r.start.fds, r.end.fds)
	fmt.Fprintf(t, "goroutines, but for coroutines' own\t%d\t%d\n", r.start.goroutines,
		r.end.goroutines)
	fmt.Fprintf(t, "threads\t%d\t%d\n", r.start.threads, r.end.threads)
	fmt.Fprintf(t, "memory, MiB\t%.1f\t%.1f\n", float64(r.start.rss)/(1<<20),
		float64(r.end.rss)/(1<<20))
	fmt.Fprintf(t, "memory under load, MiB\t%.1f\t%.1f\t%+.1f %%, up to %.0f %% is flat\n",
		r.memory.early/(1<<20), r.memory.late/(1<<20), 100*r.memory.growth, 100*r.memory.allowed)
	fmt.Fprintf(t, "\ncounted\tby the daemon\tby the clients, from\tto\n")
	for _, c := range r.comparisons {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\n", c.what, c.got, c.least, c.most)
	}
	fmt.Fprintf(t, "\nload\trounds\n")
	for _, name := range slices.Sorted(maps.Keys(r.kinds)) {
		fmt.Fprintf(t, "%s\t%d\n", name, r.kinds[name])
	}
	fmt.Fprintf(t, "\ndisturbance\ttimes\n")
	for _, name := range slices.Sorted(maps.Keys(r.disturbed)) {
		fmt.Fprintf(t, "%s\t%d\n", name, r.disturbed[name])
	}
	t.Flush()
	if len(r.failed) == 0 {
		fmt.Fprintln(w, "\npassed")
		return true
	}
	fmt.Fprintf(w, "\nFAILED\n%s\n", strings.Join(r.failed, "\n"))
	return false
}

// count takes over what the clients have counted.
func (r *report) count(t *tally) {
	r.kinds = map[string]int64{}
	t.kinds.Range(func(name, n any) bool {
		r.kinds[name.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	r.opened, r.received = t.opened.Load(), t.received.Load()+t.looseReceived.Load()
}
