package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/child"
)

// proxyRound is one measurement of one proxy. Messages are echoed by a target
// behind it, so each is forwarded twice.
type proxyRound struct {
	Traffic proxyTraffic `json:"traffic"`
	GiBps   float64      `json:"gib_per_s"`      // forwarded, both ways together
	CPU     float64      `json:"cpu_ms_per_gib"` // of the proxy's process
	System  float64      `json:"system_share"`   // of it
	echoRound
}

// forwarded is how many bytes the proxy handed on for each message.
func (t proxyTraffic) forwarded() float64 { return 2 * float64(t.Size) }

func runProxy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseProxy(args, stdout)
	if err != nil {
		return err
	}
	out, err := newReport(cfg.JSON)
	if err != nil {
		return err
	}
	started := time.Now()
	rounds, err := measureProxy(ctx, cfg, stdout, newProgress(stderr))
	return errors.Join(err, out.write(newEnvironment(started), cfg, err, rounds))
}

// measureProxy runs all sections and prints each one's table when it is done.
func measureProxy(ctx context.Context, cfg *proxyFlags, stdout io.Writer,
	p *progress) ([]proxyRound, error) {
	all := []proxyRound{}
	total := len(cfg.Conns) * len(cfg.Traffic) * cfg.Rounds * len(cfg.Servers)
	p.note("%d rounds, about %v", total, cfg.total().Round(time.Second))
	for _, conns := range cfg.Conns {
		for _, traffic := range cfg.Traffic {
			var section []proxyRound
			for pair := range cfg.Rounds {
				for _, server := range turnOrder(cfg.Servers, pair) {
					head := fmt.Sprintf("round %d/%d: %d conns, %v bytes, %s", len(all)+1, total,
						conns, traffic, server)
					p.update("%s ...", head)
					r, err := proxyOnce(ctx, cfg, server, conns, traffic)
					if err != nil {
						p.end()
						return all, fmt.Errorf("%s: %w", head, err)
					}
					r.Pair = pair
					p.line("%s: %.2f GiB/s, %.0f ms CPU/GiB", head, r.GiBps, r.CPU)
					section, all = append(section, *r), append(all, *r)
				}
			}
			p.end()
			printProxy(stdout, cfg, conns, traffic, section)
		}
	}
	return all, nil
}

// proxyOnce measures one proxy, in a fresh process, before a target in another.
// Whatever happens, the processes are gone when it returns.
func proxyOnce(ctx context.Context, cfg *proxyFlags, server string, conns int,
	traffic proxyTraffic) (*proxyRound, error) {
	round := cfg.echoConfig
	round.Size, round.Pipeline = traffic.Size, traffic.Pipeline
	behind := round
	behind.Procs, behind.Size = 1, max(64<<10, traffic.Size)
	target, err := child.Start(ctx, cfg.ClientCPUs, serverEnv(behind.Procs),
		serverArgs(&behind, "net"))
	if err != nil {
		return nil, fmt.Errorf("the target: %w", err)
	}
	defer target.Kill()
	p, err := child.Start(ctx, cfg.ServerCPUs, serverEnv(cfg.Procs),
		proxyArgs(cfg, server, target.Hello.Addr))
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	e, err := driveEcho(ctx, &round, p, echoLoad{conns: conns}, 0)
	if err != nil {
		return nil, err
	}
	e.Server = server
	if err := p.Stop(); err != nil {
		return nil, err
	}
	return newProxyRound(e, traffic), target.Stop()
}

func proxyArgs(cfg *proxyFlags, server, target string) []string {
	return []string{"serve-proxy", "-impl", server, "-target", target, "-procs",
		strconv.Itoa(cfg.Procs),
		"-addr", cfg.Addr.String(), "-spin", cfg.Spin, "-processors", strconv.Itoa(cfg.Processors)}
}

func newProxyRound(e *echoRound, t proxyTraffic) *proxyRound {
	const gib = 1 << 30
	return &proxyRound{
		Traffic:   t,
		GiBps:     e.Rate * t.forwarded() / gib,
		CPU:       e.CPUUs / 1000 / t.forwarded() * gib,
		System:    e.SystemUs / max(e.SystemUs+e.UserUs, 1e-9),
		echoRound: *e,
	}
}

// proxyMetrics are the columns of the table. The first is what it is about.
var proxyMetrics = []struct {
	name   string
	format string
	of     func(*proxyRound) float64
}{
	{"CPU ms/GiB", "%.0f", func(r *proxyRound) float64 { return r.CPU }},
	{"system share", "%.2f", func(r *proxyRound) float64 { return r.System }},
	{"GiB/s", "%.2f", func(r *proxyRound) float64 { return r.GiBps }},
	{"p50 µs", "%.0f", func(r *proxyRound) float64 { return r.P50Us }},
	{"p99 µs", "%.0f", func(r *proxyRound) float64 { return r.P99Us }},
	{"switches/msg", "%.3f", func(r *proxyRound) float64 { return r.Switches }},
	{"RSS MiB", "%.1f", func(r *proxyRound) float64 { return float64(r.RSS) / (1 << 20) }},
	{"client busy", "%.2f", func(r *proxyRound) float64 { return r.ClientBusy }},
}

func proxyColumn(rounds []proxyRound, server string, of func(*proxyRound) float64) []float64 {
	var values []float64
	for i := range rounds {
		if rounds[i].Server == server {
			values = append(values, of(&rounds[i]))
		}
	}
	return values
}

// printProxy prints one section: a row of medians for each proxy, and how many
// times the CPU of each other one the last one takes, as the ratio of medians
// and as the median of the ratios within a round.
func printProxy(w io.Writer, cfg *proxyFlags, conns int, traffic proxyTraffic,
	rounds []proxyRound) {
	title := cfg.echoConfig
	title.Size, title.Pipeline = traffic.Size, traffic.Pipeline
	echoes := make([]echoRound, len(rounds))
	for i := range rounds {
		echoes[i] = rounds[i].echoRound
	}
	fmt.Fprintf(w, "%s\n\n", sectionTitle(&title, echoLoad{conns: conns}, echoes))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{fmt.Sprintf("%-20s", "")}
	for _, m := range proxyMetrics {
		head = append(head, m.name)
	}
	fmt.Fprintln(tw, strings.Join(head, "\t")+"\t")
	for _, s := range cfg.Servers {
		cells := []string{fmt.Sprintf("%-20s", serverLabel(echoes, s))}
		for _, m := range proxyMetrics {
			cells = append(cells, fmt.Sprintf(m.format, median(proxyColumn(rounds, s, m.of))))
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t")+"\t")
	}
	tw.Flush()
	last := cfg.Servers[len(cfg.Servers)-1]
	cpu := func(s string) []float64 { return proxyColumn(rounds, s, proxyMetrics[0].of) }
	for _, s := range cfg.Servers[:len(cfg.Servers)-1] {
		fmt.Fprintf(w, "  CPU, %s / %s: %.2f, median of rounds %.2f\n", last, s,
			median(cpu(last))/median(cpu(s)), median(pairRatios(cpu(last), cpu(s))))
	}
	fmt.Fprintln(w)
}
