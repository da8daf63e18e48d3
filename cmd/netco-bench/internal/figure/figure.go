// Package figure is what results are judged by: the figures that tables and
// reports show, which way each is better, and how a value is written.
package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// A Figure is one number of a result.
type Figure struct {
	Name   string
	Higher bool // is better, else lower
	// Of returns NaN where a result does not have the figure.
	Of    func(*result.Result) float64
	Write func(float64) string
}

// Arrow points up where higher is better, and down otherwise.
func (f *Figure) Arrow() string {
	if f.Higher {
		return "↑"
	}
	return "↓"
}

// Of returns the figures that at least one of rs has, in the order of tables.
func Of(rs ...*result.Result) []Figure {
	all := []Figure{{"requests/s", true, (*result.Result).RequestsPerSecond, Rate}}
	for _, p := range []float64{50, 90, 99, 99.9} {
		all = append(all, percentile(result.PercentileName(p), p, response))
	}
	all = append(all, percentile("max", 100, response))
	classed := func(r *result.Result) bool { return r.Classes != nil }
	if at := slices.IndexFunc(rs, classed); at >= 0 {
		for i, c := range rs[at].Classes {
			for _, p := range []float64{50, 90, 99} {
				all = append(all, percentile(result.PercentileName(p)+" of "+c.Name, p, class(i)))
			}
		}
	}
	connect := func(r *result.Result) *result.Histogram { return &r.Connect }
	handshake := func(r *result.Result) *result.Histogram { return &r.TLS }
	all = append(all, Figure{"errors", false, (*result.Result).ErrorShare, Share},
		percentile("connect p99", 99, connect),
		percentile("TLS handshake p99", 99, handshake),
		Figure{"server CPU/request", false, serverCPU, Latency},
		Figure{"server RSS", false, serverRSS, Bytes},
		Figure{"switches/request", false, switches, Rate})
	return slices.DeleteFunc(all, func(f Figure) bool {
		return !slices.ContainsFunc(rs, func(r *result.Result) bool { return !math.IsNaN(f.Of(r)) })
	})
}

func response(r *result.Result) *result.Histogram { return &r.Response }

// class returns the latencies of a class, which a result may not have.
func class(i int) func(*result.Result) *result.Histogram {
	return func(r *result.Result) *result.Histogram {
		if i >= len(r.Classes) {
			return new(result.Histogram)
		}
		return &r.Classes[i].Response
	}
}

// percentile is a latency that a result without values does not have.
func percentile(name string, p float64, of func(*result.Result) *result.Histogram) Figure {
	return Figure{name, false, func(r *result.Result) float64 {
		if of(r).Count() == 0 {
			return math.NaN()
		}
		return float64(of(r).At(p))
	}, Latency}
}

func serverCPU(r *result.Result) float64 {
	if r.Server == nil || r.Totals.Requests == 0 {
		return math.NaN()
	}
	return float64(r.Server.CPUPerRequest(r.Totals.Requests))
}

func serverRSS(r *result.Result) float64 {
	if r.Server == nil {
		return math.NaN()
	}
	return float64(r.Server.RSSMax)
}

func switches(r *result.Result) float64 {
	if r.Server == nil || r.Totals.Requests == 0 {
		return math.NaN()
	}
	return float64(r.Server.Voluntary+r.Server.Involuntary) / float64(r.Totals.Requests)
}

const (
	// BusyShare is the generator's share from which on it adds to latencies,
	// and may be what limits the rate.
	BusyShare = 0.8
	// lateShare is the part of the p99 from which on the generator's own
	// lateness makes up most of it.
	lateShare = 0.5
	// KeptUp is the part of an open loop's rate that must be answered.
	KeptUp = 0.98
)

// Doubts says why r's figures may be the generator's, or depend on how long the
// run was.
func Doubts(r *result.Result) (lines []string) {
	if r.Generator.Share > BusyShare {
		lines = append(lines, "the generator was busy for more than "+Share(BusyShare)+
			" of the time: requests/s is a lower bound, and the latencies are its own in part")
	}
	if late := float64(r.Lateness.At(99)); late > lateShare*float64(r.Response.At(99)) {
		lines = append(lines, "the generator itself sent late: most of the p99 is its own")
	}
	if r.Options.Rate > 0 && r.RequestsPerSecond() < KeptUp*intended(r) {
		lines = append(lines, "less than "+Share(KeptUp)+" of the intended requests were "+
			"answered: the latencies depend on how long the run was")
	}
	return lines
}

// intended returns the rate that was intended. Few random arrivals may be more
// or less than the rate that was asked for.
func intended(r *result.Result) float64 {
	rate, window := r.Options.Rate, r.Options.Duration
	if window > 0 && r.Totals.Intended > 0 {
		rate = min(rate, float64(r.Totals.Intended)/window.Seconds())
	}
	return rate
}

// unit is a size with its name; a value is written in the largest that it
// reaches.
type unit struct {
	size float64
	name string
}

var (
	times = []unit{{float64(time.Second), " s"}, {float64(time.Millisecond), " ms"},
		{float64(time.Microsecond), " µs"}, {1, " ns"}}
	sizes = []unit{{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}
)

// digits is how many digits of a value are written.
const digits = 3

func in(units []unit, v float64) string {
	if v == 0 || math.IsNaN(v) {
		return plain(v)
	}
	for _, u := range units {
		// What rounds up to the unit is written in it.
		if math.Abs(v) >= u.size*(1-0.5e-3) {
			return plain(v/u.size) + u.name
		}
	}
	last := units[len(units)-1]
	return plain(v/last.size) + last.name
}

// plain writes a number with three digits, or all that stand before the point.
func plain(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a == 0:
		return "0"
	case a >= 100:
		return thousands(v)
	default:
		decimals := digits - 1 - int(math.Floor(math.Log10(a)))
		text := strconv.FormatFloat(v, 'f', decimals, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
}

// thousands writes a whole number in groups of three digits.
func thousands(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if v < 0 {
		text = "-" + text
	}
	return text
}

// Latency writes nanoseconds.
func Latency(ns float64) string { return in(times, ns) }

// Bytes writes a size.
func Bytes(n float64) string { return in(sizes, n) }

// Rate writes a number a second.
func Rate(v float64) string { return plain(v) }

// Count writes a whole number.
func Count(v float64) string { return thousands(v) }

// Share writes a part of a whole as a percentage.
func Share(v float64) string {
	if math.IsNaN(v) {
		return plain(v)
	}
	return plain(100*v) + " %"
}

// Ratio writes a ratio.
func Ratio(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}
