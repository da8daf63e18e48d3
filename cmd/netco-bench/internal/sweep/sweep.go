// Package sweep finds the rate from which on a server's latency turns up.
//
// A closed loop gives the capacity: what the server answers when each
// connection asks again at once. Open loops at 10 %, 20 %, ... of it follow, on
// past 100 % as long as the server keeps up, until a rate is past the knee.
// Such a rate is measured once more, and the better of the two counts, since
// one stall of the machine looks like a knee. Then the gap between the last
// rate within and the first one past is halved a few times.
//
// The rule of the knee needs no model of the server: a rate is past it when
// waiting for the server, rather than its work, makes up most of the latency.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/table"
)

const (
	// Kind marks a file as one of a sweep.
	Kind = "netco-bench sweep"
	// Schema is the version of the file's format.
	Schema = 1

	// KneeFactor is how many times the lowest p99 of all lower rates a rate
	// within the knee may have. Of all, since noise of the machine only adds:
	// a first step that has met with some would hide any knee.
	KneeFactor = 5

	keptUp     = 0.98 // the part of the intended rate that must be answered
	errorShare = 0.01 // the part of the requests that may fail

	parts    = 10 // of the capacity, a step each
	furthest = 2 * parts
)

// A Sweep is a server's latency by rate.
type Sweep struct {
	Kind     string         `json:"kind"`
	Schema   int            `json:"schema"`
	Target   string         `json:"target"`
	Factor   float64        `json:"factor"`   // of the rule for the knee
	Capacity float64        `json:"capacity"` // requests per second of the closed loop
	Closed   *result.Result `json:"closed"`   // its result
	Steps    []Step         `json:"steps"`    // by rate
	// Knee is the highest rate within the knee, 0 if there is none. Past is the
	// lowest one past it, 0 if the sweep did not reach it.
	Knee float64 `json:"knee"`
	Past float64 `json:"past"`
	Why  string  `json:"why,omitempty"` // what is wrong at Past
	// Doubt is why the knee may be the generator's own, if it may.
	Doubt string `json:"doubt,omitempty"`
}

// A Step is an open loop at one rate.
type Step struct {
	Rate   float64        `json:"rate"`
	Result *result.Result `json:"result"`
}

func (s Step) p99() float64 { return float64(s.Result.Response.At(99)) }

// why says what puts s past the knee, empty if nothing does. lower are the
// steps at lower rates.
func (s Step) why(lower []Step, factor float64) string {
	base := math.Inf(1)
	for _, l := range lower {
		base = min(base, l.p99())
	}
	switch {
	case s.Result.RequestsPerSecond() < keptUp*s.Rate:
		return "did not keep up"
	case s.Result.ErrorShare() > errorShare:
		return "requests failed"
	case s.p99() > factor*base:
		return "latency turned up"
	}
	return ""
}

// A Load measures at a rate of requests per second, or in a closed loop at 0.
type Load func(ctx context.Context, rate float64) (*result.Result, error)

// Options are a sweep's settings.
type Options struct {
	Factor float64 // of the rule for the knee; 0 is KneeFactor
	Halve  int     // how often the gap around the knee is halved
	// Done is called after each measurement, with rate 0 for the closed loop.
	Done func(rate float64, r *result.Result, past string)
}

// Run sweeps. When a measurement fails, or ctx ends, it returns what there is
// until then with the error.
func Run(ctx context.Context, target string, load Load, o Options) (*Sweep, error) {
	s := &Sweep{Kind: Kind, Schema: Schema, Target: target,
		Factor: cmp.Or(o.Factor, KneeFactor)}
	m := &meter{ctx: ctx, load: load, sweep: s, done: o.Done}
	closed, err := m.measure(0)
	if err != nil {
		return s, fmt.Errorf("the closed loop: %w", err)
	}
	s.Closed, s.Capacity = closed, closed.RequestsPerSecond()
	if o.Done != nil {
		o.Done(0, closed, "")
	}
	if s.Capacity < parts {
		return s, fmt.Errorf("the closed loop answered %s requests per second, too few to cut "+
			"into rates", figure.Rate(s.Capacity))
	}
	past := false
	for i := 1; i <= furthest && !past && err == nil; i++ {
		past, err = m.step(math.Round(s.Capacity * float64(i) / parts))
	}
	for i := 0; i < o.Halve && past && s.knee() >= 0 && err == nil; i++ {
		knee := s.knee()
		_, err = m.step(math.Round((s.Steps[knee].Rate + s.Steps[knee+1].Rate) / 2))
	}
	s.conclude()
	return s, err
}

// why says what puts step i past the knee, empty if nothing does.
func (s *Sweep) why(i int) string { return s.Steps[i].why(s.Steps[:i], s.Factor) }

// knee returns the index of the last step before the first one past the knee,
// or -1 if that is the first of all.
func (s *Sweep) knee() int {
	for i := range s.Steps {
		if s.why(i) != "" {
			return i - 1
		}
	}
	return len(s.Steps) - 1
}

func (s *Sweep) conclude() {
	knee := s.knee()
	if knee >= 0 {
		s.Knee = s.Steps[knee].Rate
	}
	if knee+1 < len(s.Steps) {
		s.Past, s.Why = s.Steps[knee+1].Rate, s.why(knee+1)
		s.Doubt = strings.Join(figure.Doubts(s.Steps[knee+1].Result), "; ")
	}
}

// meter measures the steps of a sweep.
type meter struct {
	ctx   context.Context
	load  Load
	sweep *Sweep
	done  func(rate float64, r *result.Result, past string)
}

func (m *meter) measure(rate float64) (*result.Result, error) {
	r, err := m.load(m.ctx, rate)
	if err == nil && r.Interrupted {
		err = cmp.Or(context.Cause(m.ctx), errors.New("interrupted"))
	}
	return r, err
}

// step measures at a rate, a second time if that is past the knee, and enters
// the better one.
func (m *meter) step(rate float64) (past bool, err error) {
	at, _ := slices.BinarySearchFunc(m.sweep.Steps, rate, func(s Step, rate float64) int {
		return cmp.Compare(s.Rate, rate)
	})
	lower, factor := m.sweep.Steps[:at], m.sweep.Factor
	var best *Step
	for range 2 {
		r, err := m.measure(rate)
		if err != nil {
			return false, fmt.Errorf("at %s requests per second: %w", figure.Rate(rate), err)
		}
		step := Step{rate, r}
		why := step.why(lower, factor)
		if m.done != nil {
			m.done(rate, r, why)
		}
		if best == nil || why == "" || best.why(lower, factor) != "" &&
			r.Response.At(99) < best.Result.Response.At(99) {
			best = &step
		}
		if why == "" {
			break
		}
	}
	m.sweep.Steps = slices.Insert(m.sweep.Steps, at, *best)
	return m.sweep.why(at) != "", nil
}

// Conclusion says in a sentence where the knee is.
func (s *Sweep) Conclusion() string {
	switch {
	case s.Knee == 0 && s.Past == 0:
		return "Nothing was measured."
	case s.Knee == 0:
		return fmt.Sprintf("Past the knee already at %s requests/s, the lowest rate: %s.",
			figure.Rate(s.Past), s.Why)
	case s.Past == 0:
		return fmt.Sprintf("No knee up to %s requests/s.", figure.Rate(s.Knee))
	}
	return fmt.Sprintf("The knee is at %s requests/s, %s of the closed loop's %s; at %s: %s.",
		figure.Rate(s.Knee),
		figure.Share(s.Knee/s.Capacity), figure.Rate(s.Capacity), figure.Rate(s.Past), s.Why)
}

// table has a row for each rate.
func (s *Sweep) table() table.Table {
	t := table.Table{Head: table.Words("rate", "of capacity", "answered/s", "p50", "p90", "p99",
		"p99.9", "max", "errors", "")}
	for i, step := range s.Steps {
		row := table.Words(figure.Rate(step.Rate), figure.Share(step.Rate/s.Capacity),
			figure.Rate(step.Result.RequestsPerSecond()))
		for _, p := range []float64{50, 90, 99, 99.9, 100} {
			ns := math.NaN()
			if h := &step.Result.Response; h.Count() > 0 {
				ns = float64(h.At(p))
			}
			row = append(row, table.Words(figure.Latency(ns))...)
		}
		t.Rows = append(t.Rows, append(row, table.Words(figure.Share(step.Result.ErrorShare()),
			s.why(i))...))
	}
	return t
}

// Print writes a row for each rate.
func (s *Sweep) Print(w io.Writer) { s.write(w, s.table().Print) }

// Markdown writes a row for each rate.
func (s *Sweep) Markdown(w io.Writer) {
	fmt.Fprintf(w, "## Open loops by rate, latency from the intended times: %s\n\n", s.Target)
	s.write(w, s.table().Markdown)
	fmt.Fprintln(w)
}

func (s *Sweep) write(w io.Writer, table func(io.Writer)) {
	table(w)
	fmt.Fprintf(w, "\n%s\n", s.Conclusion())
	if s.Doubt != "" {
		fmt.Fprintf(w, "There %s.\n", s.Doubt)
	}
}
