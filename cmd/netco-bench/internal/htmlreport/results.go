package htmlreport

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

const (
	// busyShare is the generator's share from which on it adds to latencies.
	busyShare = 0.8
	// lateShare is the part of the p99 from which on the generator's own
	// lateness rules it.
	lateShare = 0.5
	// keptUp is the part of an open loop's rate that must be answered.
	keptUp = 0.98
	// shortSecond is the part of a second below which the last one, cut short,
	// is no point of a rate.
	shortSecond = 0.5
)

// Named is a result under the name that its page gives it.
type Named struct {
	Name string
	*result.Result
}

// Results shows results side by side.
func Results(all ...Named) []Section {
	first := Section{Warnings: warnings(all), Text: closedLoopText(all), Tiles: tiles(all),
		Tables: []Table{latencyTable(all)}, Charts: append([]Chart{percentileChart(all)},
			timeCharts(all)...)}
	sections := []Section{first, errorSection(all)}
	if t := thresholdTable(all); len(t.Rows) > 0 {
		sections = append(sections, Section{Heading: "Thresholds", Tables: []Table{t}})
	}
	if t := resourceTable(all); len(t.Rows) > 0 {
		sections = append(sections, Section{Heading: "Generator and server", Tables: []Table{t}})
	}
	return append(sections, environmentSection(all))
}

// only returns the name with a colon where there are several results.
func only(all []Named, n Named) string {
	if len(all) == 1 {
		return ""
	}
	return n.Name + ": "
}

func warnings(all []Named) (lines []string) {
	for _, n := range all {
		add := func(format string, args ...any) {
			lines = append(lines, only(all, n)+fmt.Sprintf(format, args...))
		}
		p99 := n.Response.At(99)
		if n.Failure != "" {
			add("The run could not be finished: %s. The figures are those until then.", n.Failure)
		}
		if n.Interrupted {
			add("The run was interrupted. The figures are those until then.")
		}
		if n.Generator.Share > busyShare {
			add("The generator was busy for %s of the time: the latencies are its own in part, "+
				"and the rate is a lower bound.",
				figure.Share(n.Generator.Share))
		}
		if late := n.Lateness.At(99); float64(late) > lateShare*float64(p99) {
			add("The generator itself sent 1 in 100 requests %s late or more: most of the p99 is "+
				"its own.", figure.Latency(float64(late)))
		}
		if rate := n.RequestsPerSecond(); n.Options.Rate > 0 && rate < keptUp*n.Options.Rate {
			add("%s of the intended %s requests a second were answered: the latencies depend on "+
				"how long the run was.",
				figure.Rate(rate), figure.Rate(n.Options.Rate))
		}
	}
	return lines
}

func closedLoopText(all []Named) []string {
	if !slices.ContainsFunc(all, func(n Named) bool { return !n.Options.Open() }) {
		return nil
	}
	return []string{"In a closed loop a connection asks again when it has its answer: a server " +
		"that stalls is asked less, " +
		"and a stall counts once for each connection, however long it is. Latencies that count " +
		"the requests " +
		"held up meanwhile need an open loop (-rate)."}
}

func tiles(all []Named) (list []Tile) {
	if len(all) != 1 {
		return nil
	}
	r := all[0].Result
	from := "lower is better"
	if r.Options.Open() {
		from = "from the intended times; lower is better"
	}
	latency := func(p float64) Tile {
		return Tile{result.PercentileName(p), figure.Latency(float64(r.Response.At(p))), from}
	}
	list = []Tile{{"Requests a second", figure.Rate(r.RequestsPerSecond()), "higher is better"},
		latency(50), latency(99), latency(99.9),
		{"Errors", figure.Count(float64(r.Totals.Errors.Sum())), figure.Share(r.ErrorShare()) +
			" of all attempts"}}
	if r.Elapsed > 0 {
		seconds := r.Elapsed.Seconds()
		list = append(list, Tile{"Received", figure.Bytes(float64(r.Totals.BytesIn)/seconds) + "/s",
			"sent " + figure.Bytes(float64(r.Totals.BytesOut)/seconds) + "/s"})
	}
	return list
}

// percentilesOf returns the percentiles that the results were asked for.
func percentilesOf(all []Named) (ps []float64) {
	for _, n := range all {
		ps = append(ps, n.Options.Percentiles...)
	}
	if len(ps) == 0 {
		ps = []float64{50, 90, 99, 99.9, 99.99}
	}
	return result.SortedPercentiles(ps)
}

// distribution is one of a result's histograms, as a row and as a line.
type distribution struct {
	name, hint string
	histogram  *result.Histogram
}

// distributions returns the response times of several results, and all
// histograms of a single one.
func distributions(all []Named) (list []distribution) {
	for _, n := range all {
		hint := "from the intended time of sending"
		if !n.Options.Open() {
			hint = "from sending"
		}
		list = append(list, distribution{n.Name, hint, &n.Response})
	}
	if len(all) != 1 {
		return list
	}
	list[0].name = "response"
	r := all[0].Result
	if r.Options.Open() {
		list = append(list, distribution{"service", "from the actual sending", &r.Service},
			distribution{"sent late", "the generator's own", &r.Lateness})
	}
	list = append(list, distribution{"connect", "each connection", &r.Connect},
		distribution{"TLS handshake", "", &r.TLS})
	return slices.DeleteFunc(list, func(d distribution) bool { return d.histogram.Count() == 0 })
}

func latencyTable(all []Named) Table {
	t := Table{Caption: "Latency, lower is better", Head: []string{""}}
	ps := percentilesOf(all)
	if len(all) > 1 {
		t.Head = append(t.Head, "requests/s")
	}
	for _, p := range ps {
		t.Head = append(t.Head, result.PercentileName(p))
	}
	t.Head = append(t.Head, "max", "mean", "count")
	for i, d := range distributions(all) {
		row := []Cell{{Text: d.name, Hint: d.hint}}
		if len(all) > 1 {
			row = append(row, Cell{Text: figure.Rate(all[i].RequestsPerSecond())})
		}
		for _, p := range ps {
			row = append(row, latencyCell(d.histogram, float64(d.histogram.At(p))))
		}
		t.Rows = append(t.Rows, append(row, latencyCell(d.histogram, float64(d.histogram.Max())),
			latencyCell(d.histogram, d.histogram.Mean()),
			Cell{Text: figure.Count(float64(d.histogram.Count()))}))
	}
	return t
}

func latencyCell(h *result.Histogram, ns float64) Cell {
	if h.Count() == 0 {
		ns = math.NaN()
	}
	return Cell{Text: figure.Latency(ns)}
}

// perDecade is how many points a line by percentile has for each nine.
const perDecade = 12

// percentileChart shows the distributions up to the percentile of the last
// value.
func percentileChart(all []Named) Chart {
	c := Chart{Title: "Latency by percentile", Hint: "lower is better; both scales are logarithmic",
		XLabel: "percentile", YLabel: "latency",
		XUnit: Percentile, YUnit: Nanoseconds, XLog: true, YLog: true}
	list := slices.DeleteFunc(distributions(all), func(d distribution) bool {
		return d.name == "connect" || d.name == "TLS handshake"
	})
	most := uint64(0)
	for _, d := range list {
		most = max(most, d.histogram.Count())
	}
	for i := 0; most > 0; i++ {
		x := math.Pow(10, float64(i)/perDecade)
		if x > max(float64(most), 10) {
			break
		}
		c.X = append(c.X, x)
	}
	for _, d := range list {
		s := Series{Name: d.name}
		for _, x := range c.X {
			y := math.NaN()
			if x <= max(float64(d.histogram.Count()), 1) {
				y = float64(d.histogram.At(100 * (1 - 1/x)))
			}
			s.Y = append(s.Y, y)
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// timeCharts shows what went on from second to second.
func timeCharts(all []Named) []Chart {
	latency := overTime(all, Chart{Title: "Latency over time", Hint: "lower is better",
		YLabel: "latency", YUnit: Nanoseconds, YLog: true},
		map[string]func(*result.Second) float64{"p99": func(s *result.Second) float64 {
			return float64(s.P99)
		}})
	if len(all) == 1 {
		latency = overTime(all, latency, map[string]func(*result.Second) float64{
			"p50": func(s *result.Second) float64 { return float64(s.P50) },
			"p99": func(s *result.Second) float64 { return float64(s.P99) },
			"max": func(s *result.Second) float64 { return float64(s.Max) },
		})
	} else {
		latency.Title = "p99 over time"
	}
	perSecond := func(of func(*result.Second) float64) map[string]func(*result.Second) float64 {
		return map[string]func(*result.Second) float64{"": func(s *result.Second) float64 {
			return of(s) / s.Length.Seconds()
		}}
	}
	rate := overTime(all, Chart{Title: "Throughput over time", Hint: "higher is better",
		YLabel: "requests", YUnit: PerSecond},
		perSecond(func(s *result.Second) float64 { return float64(s.Requests) }))
	charts := []Chart{latency, rate}
	if slices.ContainsFunc(all, func(n Named) bool { return n.Totals.Errors.Sum() > 0 }) {
		charts = append(charts,
			overTime(all, Chart{Title: "Errors over time", Hint: "lower is better",
				YLabel: "errors", YUnit: PerSecond},
				perSecond(func(s *result.Second) float64 { return float64(s.Errors) })))
	}
	return charts
}

// overTime fills c with a line for each result and each of lines. A line is
// named by what there are several of.
func overTime(all []Named, c Chart, lines map[string]func(*result.Second) float64) Chart {
	c.XLabel, c.XUnit, c.X, c.Series = "time", Seconds, nil, nil
	at := map[int]int{} // seconds to their index in X
	for _, n := range all {
		for _, s := range n.Series {
			at[s.At] = 0
		}
	}
	seconds := make([]int, 0, len(at))
	for s := range at {
		seconds = append(seconds, s)
	}
	slices.Sort(seconds)
	for i, s := range seconds {
		at[s], c.X = i, append(c.X, float64(s))
	}
	for _, n := range all {
		for _, name := range slices.SortedFunc(maps.Keys(lines), compareLines) {
			y := slices.Repeat([]float64{math.NaN()}, len(c.X))
			for i := range n.Series {
				s := &n.Series[i]
				if i == 0 || s.Length.Seconds() >= shortSecond {
					y[at[s.At]] = lines[name](s)
				}
			}
			if len(all) > 1 || name == "" {
				name = n.Name
			}
			c.Series = append(c.Series, Series{Name: name, Y: y})
		}
	}
	return c
}

// compareLines orders p50, p99, max.
func compareLines(a, b string) int {
	return cmp.Or(-cmp.Compare(a[:min(1, len(a))], b[:min(1, len(b))]), cmp.Compare(a, b))
}

func errorSection(all []Named) Section {
	s := Section{Heading: "Errors"}
	var sum uint64
	t := sideBySide("Lower is better", all)
	for i, class := range (&result.Errors{}).Classes() {
		row := []Cell{{Text: class.Name}}
		for _, n := range all {
			row = append(row, countCell(n.Totals.Errors.Classes()[i].Count))
		}
		t.Rows = append(t.Rows, row)
	}
	statuses := map[string]bool{}
	for _, n := range all {
		sum += n.Totals.Errors.Sum()
		for status := range n.Totals.Status {
			statuses[status] = true
		}
	}
	if sum > 0 {
		s.Tables = append(s.Tables, t)
	} else {
		s.Text = append(s.Text, "None.")
	}
	if len(statuses) > 0 {
		t := sideBySide("Answers by status", all)
		for _, status := range slices.Sorted(maps.Keys(statuses)) {
			row := []Cell{{Text: status}}
			for _, n := range all {
				row = append(row, Cell{Text: figure.Count(float64(n.Totals.Status[status]))})
			}
			t.Rows = append(t.Rows, row)
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func countCell(n uint64) Cell {
	c := Cell{Text: figure.Count(float64(n)), Tone: "quiet"}
	if n > 0 {
		c.Tone = "bad"
	}
	return c
}

// sideBySide returns a table with a column for each result.
func sideBySide(caption string, all []Named) Table {
	t := Table{Caption: caption}
	if len(all) > 1 {
		t.Head = []string{""}
		for _, n := range all {
			t.Head = append(t.Head, n.Name)
		}
	}
	return t
}

func thresholdTable(all []Named) Table {
	t := Table{Head: []string{"limit", "measured", ""}}
	for _, n := range all {
		for _, limit := range n.Thresholds {
			verdict := Cell{Text: "kept", Tone: "good"}
			if limit.Broken {
				verdict = Cell{Text: "broken", Tone: "bad"}
			}
			t.Rows = append(t.Rows, []Cell{{Text: only(all, n) + limit.Limit}, {Text: limit.Value},
				verdict})
		}
	}
	return t
}

// A fact is a row of a table of facts. One that no result has is left out.
type fact struct {
	name string
	of   func(*result.Result) string
}

func factTable(caption string, all []Named, facts []fact, tone string) Table {
	t := sideBySide(caption, all)
	for _, f := range facts {
		row, any := []Cell{{Text: f.name}}, false
		for _, n := range all {
			text := f.of(n.Result)
			any = any || text != ""
			row = append(row, Cell{Text: cmp.Or(text, "–"), Tone: tone})
		}
		if any {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func resourceTable(all []Named) Table {
	server := func(of func(*result.Result, *result.Server) string) func(*result.Result) string {
		return func(r *result.Result) string {
			if r.Server == nil || r.Totals.Requests == 0 {
				return ""
			}
			return of(r, r.Server)
		}
	}
	perRequest := func(n int64, r *result.Result) string {
		if n == 0 {
			return ""
		}
		return figure.Rate(float64(n) / float64(r.Totals.Requests))
	}
	return factTable("", all, []fact{
		{"generator: share of its threads' time", func(r *result.Result) string {
			return nonZero(r.Generator.Share, figure.Share)
		}},
		{"generator: highest of a second", func(r *result.Result) string {
			return nonZero(r.Generator.Peak, figure.Share)
		}},
		{"server: CPU per request", server(func(r *result.Result, s *result.Server) string {
			return figure.Latency(float64(s.CPUPerRequest(r.Totals.Requests)))
		})},
		{"server: RSS at the start", server(func(_ *result.Result, s *result.Server) string {
			return figure.Bytes(float64(s.RSSStart))
		})},
		{"server: RSS at most", server(func(_ *result.Result, s *result.Server) string {
			return figure.Bytes(float64(s.RSSMax))
		})},
		{"server: switches per request", server(func(r *result.Result, s *result.Server) string {
			return perRequest(s.Voluntary+s.Involuntary, r)
		})},
		{"server: reads per request", server(func(r *result.Result, s *result.Server) string {
			return perRequest(s.Reads, r)
		})},
		{"server: writes per request", server(func(r *result.Result, s *result.Server) string {
			return perRequest(s.Writes, r)
		})},
	}, "")
}

func nonZero(v float64, write func(float64) string) string {
	if v == 0 {
		return ""
	}
	return write(v)
}

func environmentSection(all []Named) Section {
	count := func(n int) string { return nonZero(float64(n), figure.Count) }
	span := func(d result.Duration) string {
		return nonZero(float64(d), func(float64) string { return d.String() })
	}
	options := []fact{
		{"target", func(r *result.Result) string { return r.Target }},
		{"loop", loop},
		{"connections", func(r *result.Result) string { return count(r.Options.Connections) }},
		{"idle connections", func(r *result.Result) string { return count(r.Options.Idle) }},
		{"in flight on each", func(r *result.Result) string { return count(r.Options.Pipeline) }},
		{"size", func(r *result.Result) string { return r.Options.Size }},
		{"measured for", func(r *result.Result) string {
			return span(result.Duration(time.Duration(r.Elapsed).Round(time.Millisecond)))
		}},
		{"warm-up", func(r *result.Result) string { return span(r.Options.Warmup) }},
		{"time-out", func(r *result.Result) string { return span(r.Options.Timeout) }},
		{"requests per connection", func(r *result.Result) string {
			return count(r.Options.Churn)
		}},
		{"command line", func(r *result.Result) string { return strings.Join(r.Args, " ") }},
	}
	machine := []fact{
		{"started", func(r *result.Result) string {
			if r.Start.IsZero() {
				return ""
			}
			return r.Start.UTC().Format("2006-01-02 15:04:05 UTC")
		}},
		{"sum of", func(r *result.Result) string {
			return nonZero(float64(r.Merged), func(v float64) string {
				return figure.Count(v) + " runs"
			})
		}},
		{"generator threads", func(r *result.Result) string { return count(r.Options.Threads) }},
		{"CPU", func(r *result.Result) string { return r.Environment.CPU }},
		{"cores", func(r *result.Result) string { return count(r.Environment.Cores) }},
		{"kernel", func(r *result.Result) string {
			return strings.TrimSpace(r.Environment.OS + " " + r.Environment.Kernel)
		}},
		{"architecture", func(r *result.Result) string { return r.Environment.Arch }},
		{"Go", func(r *result.Result) string { return r.Environment.Go }},
		{"netco-bench", func(r *result.Result) string { return r.Tool }},
	}
	return Section{Heading: "Load and environment", Tables: []Table{
		factTable("Load", all, options, "text"), factTable("Generator's machine", all, machine,
			"text")}}
}

func loop(r *result.Result) string {
	switch {
	case r.Options.Ramp != "":
		return "open, rate rising " + r.Options.Ramp
	case r.Options.Open():
		return strings.TrimSpace("open, " + figure.Rate(r.Options.Rate) + " requests/s, " +
			r.Options.Arrival)
	}
	return "closed"
}
