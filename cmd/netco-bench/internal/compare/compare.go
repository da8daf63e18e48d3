// Package compare loads two or more targets in alternating rounds and says
// where they differ.
//
// What is compared runs in turn, and in the other order each second round, so
// that a drift of the machine hits all sides alike. The first side is the
// baseline; a ratio is of another side to it, within each round, and its
// interval is package stats'.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/stats"
)

const (
	// Kind marks a file as one of comparisons.
	Kind = "netco-bench compare"
	// Schema is the version of the file's format.
	Schema = 1
)

// A File holds comparisons, each under a title.
type File struct {
	Kind        string        `json:"kind"`
	Schema      int           `json:"schema"`
	Title       string        `json:"title"`
	Comparisons []*Comparison `json:"comparisons"`
}

// NewFile returns a File of comparisons.
func NewFile(title string, all ...*Comparison) *File {
	return &File{Kind: Kind, Schema: Schema, Title: title, Comparisons: all}
}

// A Comparison is what the sides gave under one load.
type Comparison struct {
	Title string  `json:"title,omitempty"`
	Sides []*Side `json:"sides"` // the first is the baseline
}

// A Side is one of what is compared. Round i of all sides ran one after
// another.
type Side struct {
	Name   string           `json:"name"`
	Rounds []*result.Result `json:"rounds"`
	// Failure is why there are not more rounds.
	Failure string `json:"failure,omitempty"`
}

// A Load measures one round of the side of that number.
type Load func(ctx context.Context, side int) (*result.Result, error)

// Run measures rounds of all sides in turn, and calls done after each. When a
// round fails it returns what there is until then, with the error.
func Run(ctx context.Context, names []string, rounds int, load Load,
	done func(round, side int, r *result.Result)) (*Comparison, error) {
	c := &Comparison{}
	for _, name := range names {
		c.Sides = append(c.Sides, &Side{Name: name})
	}
	return c, Alternate(rounds, len(names), func(round, side int) error {
		r, err := load(ctx, side)
		if err == nil && r.Interrupted {
			err = context.Cause(ctx)
		}
		if err != nil {
			c.Sides[side].Failure = err.Error()
			return fmt.Errorf("round %d of %s: %w", round+1, names[side], err)
		}
		// Files of many rounds are large, and no comparison shows these.
		r.Series, r.Service = nil, result.Histogram{}
		c.Sides[side].Rounds = append(c.Sides[side].Rounds, r)
		if done != nil {
			done(round, side, r)
		}
		return nil
	})
}

// Alternate calls one for each side in each round: in order, and in the other
// order in each second round (a b, b a, a b), so that a steady drift of the
// machine favours none of them.
func Alternate(rounds, sides int, one func(round, side int) error) error {
	for round := range rounds {
		for i := range sides {
			if round%2 == 1 {
				i = sides - 1 - i
			}
			if err := one(round, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Complete reports whether each side has a round, so that there is something to
// compare.
func (c *Comparison) Complete() bool {
	return !slices.ContainsFunc(c.Sides, func(s *Side) bool { return len(s.Rounds) == 0 })
}

// Warnings says why figures of a side cannot be trusted.
func (c *Comparison) Warnings() (lines []string) {
	for _, s := range c.Sides {
		if s.Failure != "" {
			lines = append(lines, fmt.Sprintf("%s ended in round %d: %s", s.Name, len(s.Rounds)+1,
				s.Failure))
		}
		errors, first, doubts := uint64(0), "", map[string]int{}
		for _, r := range s.Rounds {
			errors += r.Totals.Errors.Sum()
			first = cmp.Or(first, r.Totals.FirstError)
			for _, doubt := range figure.Doubts(r) {
				doubts[doubt]++
			}
		}
		if errors > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d errors, the first: %s", s.Name, errors,
				first))
		}
		for _, doubt := range slices.Sorted(maps.Keys(doubts)) {
			if n := doubts[doubt]; 2*n > len(s.Rounds) {
				lines = append(lines, fmt.Sprintf("%s: %s, in %d of %d rounds", s.Name, doubt, n,
					len(s.Rounds)))
			}
		}
	}
	return lines
}

// A Row compares one side with the baseline by one figure.
type Row struct {
	Figure     figure.Figure
	Base, Side stats.Summary
	Ratio      stats.Ratio // of the side to the baseline
}

// Results returns all rounds of all sides.
func (c *Comparison) Results() (all []*result.Result) {
	for _, s := range c.Sides {
		all = append(all, s.Rounds...)
	}
	return all
}

// Rows compares side with the baseline by each figure that one of them has.
func (c *Comparison) Rows(side int) (rows []Row) {
	base, other := c.Sides[0].Rounds, c.Sides[side].Rounds
	for _, f := range figure.Of(slices.Concat(base, other)...) {
		rows = append(rows, c.Row(side, f))
	}
	return rows
}

// Row compares side with the baseline by f.
func (c *Comparison) Row(side int, f figure.Figure) Row {
	a, b := values(f, c.Sides[0].Rounds), values(f, c.Sides[side].Rounds)
	return Row{f, stats.Summarize(present(a)), stats.Summarize(present(b)), stats.Compare(b, a)}
}

func values(f figure.Figure, rounds []*result.Result) []float64 {
	v := make([]float64, len(rounds))
	for i, r := range rounds {
		v[i] = f.Of(r)
	}
	return v
}

// present returns the values that are not missing.
func present(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v != v })
}

// Outcome is what a row shows: "" if there are too few rounds.
type Outcome string

// The outcomes, from the side that is compared with the baseline.
const (
	Unknown Outcome = ""
	Same    Outcome = "no difference shown"
	Better  Outcome = "better"
	Worse   Outcome = "worse"
)

// Outcome returns what the row shows.
func (r *Row) Outcome() Outcome {
	switch above, below := r.Ratio.Low > 1, r.Ratio.High < 1; {
	case r.Ratio.Pairs < stats.MinPairs:
		return Unknown
	case !above && !below:
		return Same
	case above == r.Figure.Higher:
		return Better
	}
	return Worse
}

// Says is the row's last column.
func (r *Row) Says() string {
	if o := r.Outcome(); o != Unknown {
		return string(o)
	}
	switch {
	case r.Ratio.Pairs == 0:
		return "–"
	case r.Ratio.Pairs == 1:
		return "one round: no interval"
	}
	return fmt.Sprintf("%d rounds: an interval needs %d", r.Ratio.Pairs, stats.MinPairs)
}

// Interval writes the ratio's interval, empty if there is none.
func (r *Row) Interval() string {
	if r.Ratio.Pairs < stats.MinPairs {
		return ""
	}
	return figure.Ratio(r.Ratio.Low) + "–" + figure.Ratio(r.Ratio.High)
}

// Spread writes a summary's spread, empty of one round.
func Spread(s stats.Summary) string {
	if s.Rounds < 2 || s.Spread != s.Spread {
		return ""
	}
	return "±" + strconv.FormatFloat(50*s.Spread, 'f', 1, 64) + " %"
}
