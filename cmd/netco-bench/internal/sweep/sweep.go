// Package sweep finds the rate from which on a server's latency turns up.
//
// A closed loop gives the capacity: what the server answers when each
// connection asks again at once. Open loops at 10 %, 20 %, ... of it follow, on
// past 100 % as long as the server keeps up, until a rate is past the knee by
// the rule of package stats. Such a rate is measured once more, and the better
// of the two counts, since one stall of the machine looks like a knee. Then the
// gap between the last rate within and the first one past is halved a few
// times.
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
	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
	"github.com/netco-go/netco/cmd/netco-bench/internal/table"
)

const (
	// Kind marks a file as one of a sweep.
	Kind = "netco-bench sweep"
	// Schema is the version of the file's format.
	Schema = 1

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

func (s Step) judged() stats.Step {
	return stats.Step{Intended: s.Rate, Answered: s.Result.RequestsPerSecond(),
		P99:    float64(s.Result.Response.At(99)),
		Failed: s.Result.ErrorShare()}
}

// A Load measures at a rate of requests per second, or in a closed loop at 0.
type Load func(ctx context.Context, rate float64) (*result.Result, error)

// Options are a sweep's settings.
type Options struct {
	Factor float64 // of the rule for the knee; 0 is stats.KneeFactor
	Halve  int     // how often the gap around the knee is halved
	// Done is called after each measurement, with rate 0 for the closed loop.
	Done func(rate float64, r *result.Result, past string)
}

// Run sweeps. When a measurement fails, or ctx ends, it returns what there is
// until then with the error.
func Run(ctx context.Context, target string, load Load, o Options) (*Sweep, error) {
	s := &Sweep{Kind: Kind, Schema: Schema, Target: target,
		Factor: cmp.Or(o.Factor, stats.KneeFactor)}
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

func (s *Sweep) judged() []stats.Step {
	steps := make([]stats.Step, len(s.Steps))
	for i, step := range s.Steps {
		steps[i] = step.judged()
	}
	return steps
}

// Judge says of each step what puts it past the knee, empty where nothing does.
func (s *Sweep) Judge() []string { return stats.Judge(s.judged(), s.Factor) }

func (s *Sweep) knee() int { return stats.Knee(s.judged(), s.Factor) }

func (s *Sweep) conclude() {
	knee := s.knee()
	if knee >= 0 {
		s.Knee = s.Steps[knee].Rate
	}
	if knee+1 < len(s.Steps) {
		s.Past, s.Why = s.Steps[knee+1].Rate, s.Judge()[knee+1]
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
	var best *Step
	for range 2 {
		r, err := m.measure(rate)
		if err != nil {
			return false, fmt.Errorf("at %s requests per second: %w", figure.Rate(rate), err)
		}
		step := Step{rate, r}
		why := m.why(step)
		if m.done != nil {
			m.done(rate, r, why)
		}
		if best == nil || why == "" || m.why(*best) != "" &&
			r.Response.At(99) < best.Result.Response.At(99) {
			best = &step
		}
		if why == "" {
			break
		}
	}
	at, _ := slices.BinarySearchFunc(m.sweep.Steps, rate, func(s Step, rate float64) int {
		return cmp.Compare(s.Rate, rate)
	})
	m.sweep.Steps = slices.Insert(m.sweep.Steps, at, *best)
	return m.why(*best) != "", nil
}

// why says what puts a step past the knee.
func (m *meter) why(s Step) string {
	lower := slices.DeleteFunc(m.sweep.judged(), func(o stats.Step) bool {
		return o.Intended >= s.Rate
	})
	return stats.Judge(append(lower, s.judged()), m.sweep.Factor)[len(lower)]
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
	why := s.Judge()
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
			why[i])...))
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
