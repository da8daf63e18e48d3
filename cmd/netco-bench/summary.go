package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
)

// A metric is one column of the echo table.
type metric struct {
	name   string
	format string
	of     func(*echoRound) float64
	ratio  bool // comparing servers by it makes sense
}

var (
	answered = metric{"req/s", "%.0f", func(r *echoRound) float64 { return r.Rate }, true}
	p99      = metric{"p99 µs", "%.1f", func(r *echoRound) float64 { return r.P99Us }, true}
	sentLate = metric{"sent late p99 µs", "%.1f", func(r *echoRound) float64 {
		return r.LateP99Us
	}, false}
	clientBusy = metric{"client busy", "%.2f", func(r *echoRound) float64 {
		return r.ClientBusy
	}, false}
)

// echoMetrics returns the table's columns.
func echoMetrics(open bool) []metric {
	columns := []metric{
		answered,
		{"p50 µs", "%.1f", func(r *echoRound) float64 { return r.P50Us }, true},
		{"p90 µs", "%.1f", func(r *echoRound) float64 { return r.P90Us }, true},
		p99,
		{"p99.9 µs", "%.1f", func(r *echoRound) float64 { return r.P999Us }, true},
		{"CPU µs/req", "%.3f", func(r *echoRound) float64 { return r.CPUUs }, true},
		{"RSS MiB", "%.1f", func(r *echoRound) float64 { return float64(r.RSS) / (1 << 20) }, true},
		{"switches/req", "%.4f", func(r *echoRound) float64 { return r.Switches }, true},
	}
	if open {
		columns = append(columns, sentLate)
	}
	return append(columns, clientBusy)
}

// proxyMetrics returns the columns for messages of size bytes, each of which is
// forwarded twice. The first is what the table is about.
func proxyMetrics(size int) []metric {
	const gib = 1 << 30
	forwarded := 2 * float64(size)
	return []metric{
		{"CPU ms/GiB", "%.0f", func(r *echoRound) float64 {
			return r.CPUUs / 1000 / forwarded * gib
		}, true},
		{"system share", "%.2f", func(r *echoRound) float64 {
			return r.SystemUs / max(r.SystemUs+r.UserUs, 1e-9)
		}, true},
		{"GiB/s", "%.2f", func(r *echoRound) float64 { return r.Rate * forwarded / gib }, true},
		{"p50 µs", "%.0f", func(r *echoRound) float64 { return r.P50Us }, true},
		p99,
		{"switches/msg", "%.3f", func(r *echoRound) float64 { return r.Switches }, true},
		{"RSS MiB", "%.1f", func(r *echoRound) float64 { return float64(r.RSS) / (1 << 20) }, true},
		clientBusy,
	}
}

// classMetrics returns the columns of the table of the i-th class.
func classMetrics(i int) []metric {
	return []metric{
		{"requests", "%.0f", func(r *echoRound) float64 {
			return float64(r.Classes[i].Requests)
		}, false},
		{"p50 µs", "%.1f", func(r *echoRound) float64 { return r.Classes[i].P50Us }, true},
		{"p90 µs", "%.1f", func(r *echoRound) float64 { return r.Classes[i].P90Us }, true},
		{"p99 µs", "%.1f", func(r *echoRound) float64 { return r.Classes[i].P99Us }, true},
	}
}

const (
	// busyLimit is where a closed loop's generator begins to hold the servers
	// back.
	busyLimit = 0.95
	// openBusyLimit is where an open loop's begins to add to the latencies.
	openBusyLimit = 0.8
	// lateLimit is the part of p99 from which on the generator's own lateness
	// rules it.
	lateLimit = 0.5
	// keptUp is the part of an open loop's rate below which a server is too
	// slow for it.
	keptUp = 0.98
)

// column returns m of the given server's rounds, by pair.
func column(rounds []echoRound, server string, m metric) []float64 {
	var values []float64
	for i := range rounds {
		if rounds[i].Server == server {
			values = append(values, m.of(&rounds[i]))
		}
	}
	return values
}

// pairRatios returns a[i]/b[i]. Both have one value per pair, in order.
func pairRatios(a, b []float64) []float64 {
	ratios := make([]float64, min(len(a), len(b)))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}

// baseline is the server the others are compared with: net, or the first.
func baseline(servers []string) string {
	if slices.Contains(servers, "net") {
		return "net"
	}
	return servers[0]
}

// printEcho prints one section: its table, one for each class of -work, and
// what its figures can't be trusted for.
func printEcho(w io.Writer, cfg *echoConfig, offered echoLoad, rounds []echoRound) {
	fmt.Fprintf(w, "%s\n\n", sectionTitle(cfg, offered, rounds))
	if cfg.proxy {
		printProxies(w, cfg, rounds, proxyMetrics(offered.Size))
		return
	}
	printTable(w, cfg, rounds, echoMetrics(offered.rate > 0))
	for _, s := range cfg.Servers {
		printWarnings(w, s, offered, rounds)
	}
	fmt.Fprintln(w)
	if len(cfg.Work) < 2 {
		return
	}
	for i, c := range cfg.Work {
		fmt.Fprintf(w, "the %.3g %% of the requests with %v of work\n\n", 100*c.Share, c.CPU)
		printTable(w, cfg, rounds, classMetrics(i))
		fmt.Fprintln(w)
	}
}

// printProxies prints the table, and how many times the CPU of each other proxy
// the last one takes, as the ratio of medians and as the median of the ratios
// within a round.
func printProxies(w io.Writer, cfg *echoConfig, rounds []echoRound, metrics []metric) {
	printTable(w, cfg, rounds, metrics)
	others, last := cfg.Servers[:len(cfg.Servers)-1], cfg.Servers[len(cfg.Servers)-1]
	cpu := func(s string) []float64 { return column(rounds, s, metrics[0]) }
	for _, s := range others {
		fmt.Fprintf(w, "  CPU, %s / %s: %.2f, median of rounds %.2f\n", last, s,
			stats.Median(cpu(last))/stats.Median(cpu(s)),
			stats.Median(pairRatios(cpu(last), cpu(s))))
	}
	fmt.Fprintln(w)
}

// printTable prints for each server a row of medians and one of the range over
// the rounds, and for each but the baseline the ratio of the medians and the
// median of the ratios within pairs. The latter is the better one when the
// machine drifts.
func printTable(w io.Writer, cfg *echoConfig, rounds []echoRound, metrics []metric) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(metric) string) {
		cells := []string{fmt.Sprintf("%-20s", name)}
		for _, m := range metrics {
			cells = append(cells, cell(m))
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t")+"\t")
	}
	row("", func(m metric) string { return m.name })
	for _, s := range cfg.Servers {
		row(serverLabel(rounds, s), func(m metric) string {
			return fmt.Sprintf(m.format, stats.Median(column(rounds, s, m)))
		})
		if cfg.Rounds > 1 {
			row("  range", func(m metric) string {
				values := column(rounds, s, m)
				return fmt.Sprintf(m.format+"–"+m.format, slices.Min(values), slices.Max(values))
			})
		}
	}
	base := baseline(cfg.Servers)
	for _, s := range cfg.Servers {
		if s == base {
			continue
		}
		row(s+"/"+base, func(m metric) string {
			return ratioCell(m, stats.Median(column(rounds, s, m))/
				stats.Median(column(rounds, base, m)))
		})
		row("  median of pairs", func(m metric) string {
			return ratioCell(m, stats.Median(pairRatios(column(rounds, s, m),
				column(rounds, base, m))))
		})
	}
	tw.Flush()
}

// printWarnings says what a server's figures can't be trusted for.
func printWarnings(w io.Writer, server string, offered echoLoad, rounds []echoRound) {
	of := func(m metric) float64 { return stats.Median(column(rounds, server, m)) }
	busy := of(clientBusy)
	if offered.rate == 0 {
		if busy > busyLimit {
			fmt.Fprintf(w, "  %s kept the generator busy all the time: its req/s is a lower "+
				"bound.\n", server)
		}
		return
	}
	if busy > openBusyLimit {
		fmt.Fprintf(w, "  %s: the generator was busy for %.0f %% of the time: the latencies are "+
			"its own in part.\n", server, 100*busy)
	}
	if late := of(sentLate); late > lateLimit*of(p99) {
		fmt.Fprintf(w, "  %s: the generator itself sent 1 in 100 requests %.0f µs late or more: "+
			"most of the p99 is its own.\n", server, late)
	}
	if rate := of(answered); rate < keptUp*float64(offered.rate) {
		fmt.Fprintf(w, "  %s answered %.0f of %d req/s: its latencies depend on -duration.\n",
			server, rate, offered.rate)
	}
}

// serverLabel is the server's name with what it runs on, if it said so.
func serverLabel(rounds []echoRound, server string) string {
	for _, r := range rounds {
		if r.Server == server && r.Backend != "" {
			return fmt.Sprintf("%s (%s)", server, r.Backend)
		}
	}
	return server
}

func ratioCell(m metric, ratio float64) string {
	if !m.ratio || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return "-"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func sectionTitle(cfg *echoConfig, offered echoLoad, rounds []echoRound) string {
	demand := fmt.Sprintf("%d in flight each", offered.Pipeline)
	if offered.rate > 0 {
		demand = fmt.Sprintf("%d req/s intended (%s)", offered.rate, cfg.Arrival)
	}
	parts := []string{
		plural(offered.conns, "connection"), fmt.Sprintf("%d B", offered.Size), demand,
		fmt.Sprintf("GOMAXPROCS %d", rounds[0].GOMAXPROCS), fmt.Sprintf("median of %s of %v",
			plural(cfg.Rounds, "round"), cfg.Duration),
	}
	if len(cfg.Work) > 0 {
		parts = append(parts, fmt.Sprintf("%v of work", cfg.Work))
	}
	if cfg.ServerCPUs != nil {
		parts = append(parts, fmt.Sprintf("server on CPU %v", cfg.ServerCPUs))
	}
	if cfg.ClientCPUs != nil {
		parts = append(parts, fmt.Sprintf("generator on CPU %v", cfg.ClientCPUs))
	}
	if cfg.Quota > 0 {
		parts = append(parts, fmt.Sprintf("server limited to %v of a core", cfg.Quota))
	}
	if cfg.Busy > 0 {
		parts = append(parts, fmt.Sprintf("beside %d busy loops", cfg.Busy))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
