package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// latencyText writes a time in ns with three digits and no space.
func latencyText(ns int64) string {
	return strings.ReplaceAll(figure.Latency(float64(ns)), " ", "")
}

func countText(n uint64) string { return figure.Count(float64(n)) }

// printResult prints what a run measured.
func printResult(w io.Writer, r *result.Result) {
	o := &r.Options
	fmt.Fprintf(w, "%s: %s\n", r.Target, loopText(o))
	seconds := r.Elapsed.Seconds()
	fmt.Fprintf(w, "\n  requests   %s in %.2fs, %s/s\n", countText(r.Totals.Requests), seconds,
		figure.Rate(r.RequestsPerSecond()))
	if o.Open() && r.Totals.Requests < r.Totals.Intended {
		fmt.Fprintf(w, "             of %s intended\n", countText(r.Totals.Intended))
	}
	if seconds > 0 {
		fmt.Fprintf(w, "  bytes      in %s/s, out %s/s\n",
			figure.Bytes(float64(r.Totals.BytesIn)/seconds),
			figure.Bytes(float64(r.Totals.BytesOut)/seconds))
	}
	fmt.Fprintf(w, "  connects   %s", countText(r.Totals.Connects))
	if r.Totals.Connects > 0 {
		fmt.Fprintf(w, ", p50 %s, p99 %s", latencyText(r.Connect.At(50)),
			latencyText(r.Connect.At(99)))
	}
	if r.Totals.Handshake > 0 {
		fmt.Fprintf(w, "; %s TLS handshakes, p50 %s, p99 %s", countText(r.Totals.Handshake),
			latencyText(r.TLS.At(50)), latencyText(r.TLS.At(99)))
	}
	if s := statusText(r.Totals.Status); s != "" {
		fmt.Fprintf(w, "\n  status     %s", s)
	}
	fmt.Fprintf(w, "\n  errors     %s\n", errorsText(r))
	if s := r.Totals.FirstError; s != "" {
		fmt.Fprintf(w, "             the first: %s\n", s)
	}
	fmt.Fprintln(w)
	if r.Totals.Requests > 0 {
		printLatencies(w, r)
	}
	printCosts(w, r)
	for _, t := range r.Thresholds {
		word := "holds"
		if t.Broken {
			word = "BROKEN"
		}
		fmt.Fprintf(w, "  -max %-14s %s: %s\n", t.Limit, word, t.Value)
	}
	if !o.Open() && r.Totals.Requests > 0 {
		fmt.Fprint(w, "\n  A closed loop asks a slow server less often, so it hides how long "+
			"others would have waited: -rate shows it.\n")
	}
}

func loopText(o *result.Options) string {
	loop := "closed loop"
	if o.Open() {
		loop = fmt.Sprintf("open loop, %s/s %s", figure.Rate(o.Rate), o.Arrival)
	}
	return fmt.Sprintf("%s, %d connections, pipeline %d, %d threads", loop, o.Connections,
		o.Pipeline, o.Threads)
}

// statusText writes how often there was each HTTP status.
func statusText(statuses map[string]uint64) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		parts = append(parts, fmt.Sprintf("%s: %s", status, countText(statuses[status])))
	}
	return strings.Join(parts, ", ")
}

func errorsText(r *result.Result) string {
	var parts []string
	for _, c := range r.Totals.Errors.Classes() {
		if c.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", countText(c.Count), c.Name))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return fmt.Sprintf("%s (%.3g%%)", strings.Join(parts, ", "), 100*r.ErrorShare())
}

func printLatencies(w io.Writer, r *result.Result) {
	type column struct {
		name string
		h    *result.Histogram
	}
	columns := []column{{"latency", &r.Service}}
	if r.Options.Open() {
		columns = []column{{"response", &r.Response}, {"service", &r.Service},
			{"sent late", &r.Lateness}}
	}
	for i := range r.Classes {
		columns = append(columns, column{r.Classes[i].Name, &r.Classes[i].Response})
	}
	row := func(name string, value func(*result.Histogram) int64) {
		fmt.Fprintf(w, "  %-10s", name)
		for _, c := range columns {
			fmt.Fprintf(w, " %10s", latencyText(value(c.h)))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "  %-10s", "")
	for _, c := range columns {
		fmt.Fprintf(w, " %10s", c.name)
	}
	fmt.Fprintln(w)
	for _, p := range result.Percentiles {
		row(result.PercentileName(p), func(h *result.Histogram) int64 { return h.At(p) })
	}
	row("max", (*result.Histogram).Max)
	row("mean", func(h *result.Histogram) int64 { return int64(h.Mean()) })
	fmt.Fprintln(w)
}

// printCosts prints what the load cost both sides.
func printCosts(w io.Writer, r *result.Result) {
	fmt.Fprintf(w, "  generator  %.0f%% of its threads' time", 100*r.Generator.Share)
	if r.Generator.Share > figure.BusyShare {
		fmt.Fprint(w, ": it may be the limit, give it more -threads or another machine")
	}
	fmt.Fprintln(w)
	if s := r.Server; s != nil {
		fmt.Fprintf(w, "  server     %.2fs user, %.2fs system, %s CPU per request, RSS %s to %s, "+
			"most %s\n",
			s.User.Seconds(), s.System.Seconds(),
			latencyText(int64(s.CPUPerRequest(r.Totals.Requests))),
			figure.Bytes(float64(s.RSSStart)), figure.Bytes(float64(s.RSSEnd)),
			figure.Bytes(float64(s.RSSMax)))
		fmt.Fprintf(w, "             %s voluntary and %s involuntary switches",
			countText(uint64(s.Voluntary)), countText(uint64(s.Involuntary)))
		if s.Reads+s.Writes > 0 {
			fmt.Fprintf(w, ", %s read and %s write calls", countText(uint64(s.Reads)),
				countText(uint64(s.Writes)))
		}
		fmt.Fprintln(w)
	}
}

// writeCSV writes a line for each second.
func writeCSV(w io.Writer, r *result.Result) error {
	rows := [][]string{{"second", "seconds", "requests", "errors", "bytes_in", "bytes_out",
		"p50_ns", "p99_ns", "p99_9_ns", "max_ns"}}
	for _, s := range r.Series {
		row := []string{strconv.Itoa(s.At), strconv.FormatFloat(s.Length.Seconds(), 'g', -1, 64)}
		for _, n := range []uint64{s.Requests, s.Errors, s.BytesIn, s.BytesOut, uint64(s.P50),
			uint64(s.P99), uint64(s.P999), uint64(s.Max)} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
