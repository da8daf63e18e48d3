// Package figure is what results are judged by: the figures that tables and
// reports show, which way each is better, and how a value is written.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// Better is the direction in which a figure improves.
type Better int

// The directions.
const (
	HigherIsBetter Better = iota
	LowerIsBetter
)

func (b Better) String() string {
	if b == HigherIsBetter {
		return "higher is better"
	}
	return "lower is better"
}

// Arrow points up where higher is better, and down otherwise.
func (b Better) Arrow() string {
	if b == HigherIsBetter {
		return "↑"
	}
	return "↓"
}

// A Figure is one number of a result.
type Figure struct {
	Name   string
	Better Better
	// Of returns NaN where a result does not have the figure.
	Of    func(*result.Result) float64
	Write func(float64) string
}

// All returns the figures in the order of tables.
func All() []Figure {
	return []Figure{
		{"requests/s", HigherIsBetter, (*result.Result).RequestsPerSecond, Rate},
		percentile(50), percentile(90), percentile(99), percentile(99.9),
		{"max", LowerIsBetter, func(r *result.Result) float64 {
			return answered(r, float64(r.Response.Max()))
		}, Latency},
		{"errors", LowerIsBetter, (*result.Result).ErrorShare, Share},
		{"connect p99", LowerIsBetter, func(r *result.Result) float64 {
			return counted(&r.Connect, 99)
		}, Latency},
		{"TLS handshake p99", LowerIsBetter, func(r *result.Result) float64 {
			return counted(&r.TLS, 99)
		}, Latency},
		{"server CPU/request", LowerIsBetter, serverCPU, Latency},
		{"server RSS", LowerIsBetter, serverRSS, Bytes},
		{"switches/request", LowerIsBetter, switches, Rate},
	}
}

// Present returns those of figures that at least one result has.
func Present(figures []Figure, rs ...*result.Result) (present []Figure) {
	for _, f := range figures {
		for _, r := range rs {
			if !math.IsNaN(f.Of(r)) {
				present = append(present, f)
				break
			}
		}
	}
	return present
}

func percentile(p float64) Figure {
	return Figure{result.PercentileName(p), LowerIsBetter,
		func(r *result.Result) float64 { return counted(&r.Response, p) }, Latency}
}

func counted(h *result.Histogram, p float64) float64 {
	if h.Count() == 0 {
		return math.NaN()
	}
	return float64(h.At(p))
}

func answered(r *result.Result, v float64) float64 {
	if r.Response.Count() == 0 {
		return math.NaN()
	}
	return v
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
