package htmlreport

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/netco-go/netco/cmd/netco-bench/internal/compare"
	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/sweep"
)

// Comparisons shows each comparison of a file.
func Comparisons(f *compare.File) (sections []Section) {
	var first []Named
	for _, c := range f.Comparisons {
		sections = append(sections, comparison(c))
		for _, s := range c.Sides {
			if first == nil && len(s.Rounds) > 0 {
				first = []Named{{s.Name, s.Rounds[0]}}
			}
		}
	}
	if first == nil {
		return sections
	}
	return append(sections, environmentSection(first))
}

func comparison(c *compare.Comparison) Section {
	s := Section{Heading: c.Title}
	if s.Heading == "" {
		s.Heading = "Comparison"
	}
	s.Warnings = c.Warnings()
	s.Text = []string{"Rounds ran in turn. A ratio is the median of those within each round, the " +
		"interval below it its 95 % percentile bootstrap " +
		"over the rounds, and where it holds 1, no difference is shown. ± is half the distance " +
		"between the quartiles."}
	if len(c.Sides) == 2 {
		s.Tables = []Table{comparisonTable(c, 1)}
	} else {
		s.Tables = []Table{sidesTable(c)}
	}
	sides := merged(c)
	s.Charts = append(s.Charts, percentileChart(sides))
	for _, f := range figure.All() {
		switch f.Name {
		case "requests/s":
			s.Charts = append(s.Charts, roundsChart(c, f, PerSecond))
		case "p99", "server CPU/request":
			s.Charts = append(s.Charts, roundsChart(c, f, Nanoseconds))
		}
	}
	return s
}

func comparisonTable(c *compare.Comparison, side int) Table {
	base, other := c.Sides[0], c.Sides[side]
	t := Table{Caption: other.Name + " beside " + base.Name,
		Head: []string{"", other.Name + " is", "ratio", base.Name, other.Name}}
	for _, r := range c.Rows(side) {
		t.Rows = append(t.Rows,
			[]Cell{{Text: r.Figure.Name, Hint: r.Figure.Better.Arrow() + " " +
				r.Figure.Better.String()},
				{Text: r.Says(), Tone: tone[r.Outcome()]}, {Text: figure.Ratio(r.Ratio.Median),
					Hint: r.Interval()},
				{Text: r.Figure.Write(r.Base.Median), Hint: compare.Spread(r.Base)},
				{Text: r.Figure.Write(r.Side.Median), Hint: compare.Spread(r.Side)}})
	}
	return t
}

var tone = map[compare.Outcome]string{compare.Better: "good", compare.Worse: "bad",
	compare.Same: "quiet wrap", compare.Unknown: "quiet wrap"}

// joined is a dash at which no line breaks.
const joined = "\u2060–\u2060"

// sidesTable shows more than two sides: below each median stands its ratio to
// the first side's, and its colour is the outcome.
func sidesTable(c *compare.Comparison) Table {
	t := Table{Caption: "Beside " + c.Sides[0].Name + "; coloured where a difference is shown",
		Head: []string{""}}
	for _, s := range c.Sides {
		t.Head = append(t.Head, s.Name)
	}
	for _, f := range figure.Present(figure.All(), c.Results()...) {
		row := []Cell{{Text: f.Name, Hint: f.Better.Arrow() + " " + f.Better.String()}}
		for i := range c.Sides {
			r := c.Row(i, f)
			cell := Cell{Text: f.Write(r.Side.Median), Hint: compare.Spread(r.Side)}
			if i > 0 {
				cell.Hint = "×" + figure.Ratio(r.Ratio.Median)
				if o := r.Outcome(); o != compare.Unknown {
					cell.Hint += "\u00a0(" + strings.ReplaceAll(r.Interval(), "–", joined) + "), " +
						string(o)
					if o != compare.Same {
						cell.Tone = tone[o]
					}
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// merged returns the sum of each side's rounds. A side whose rounds do not add
// up is shown by its first.
func merged(c *compare.Comparison) (sides []Named) {
	for _, s := range c.Sides {
		if len(s.Rounds) == 0 {
			continue
		}
		sum, err := result.Merge(s.Rounds...)
		if err != nil {
			sum = s.Rounds[0]
		}
		sides = append(sides, Named{s.Name, sum})
	}
	return sides
}

// roundsChart shows a figure by round; it is empty if there is one round, or no
// side has the figure.
func roundsChart(c *compare.Comparison, f figure.Figure, unit Unit) Chart {
	chart := Chart{Title: f.Name + " by round", Hint: f.Better.String(), XLabel: "round",
		YLabel: f.Name, XUnit: Count, YUnit: unit}
	rounds := 0
	for _, s := range c.Sides {
		rounds = max(rounds, len(s.Rounds))
	}
	if rounds < 2 || len(figure.Present([]figure.Figure{f}, c.Results()...)) == 0 {
		return chart
	}
	for i := range rounds {
		chart.X = append(chart.X, float64(i+1))
	}
	for _, s := range c.Sides {
		line := Series{Name: s.Name, Points: true}
		for i := range rounds {
			y := math.NaN()
			if i < len(s.Rounds) {
				y = f.Of(s.Rounds[i])
			}
			line.Y = append(line.Y, y)
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}

// Sweeps shows latency by rate. names are of the sweeps.
func Sweeps(names []string, all ...*sweep.Sweep) (sections []Section) {
	for i, s := range all {
		sections = append(sections, sweepSection(names[i], s))
	}
	if len(all) > 1 {
		sections = slices.Insert(sections, 0,
			Section{Heading: "p99 by rate", Charts: []Chart{sweepsChart(names, all)}})
	}
	for i, s := range all {
		if s.Closed != nil {
			sections = append(sections, environmentSection([]Named{{names[i], s.Closed}}))
		}
	}
	return sections
}

func sweepSection(name string, s *sweep.Sweep) Section {
	section := Section{Heading: "Latency by rate: " + name, Text: []string{s.Conclusion(),
		fmt.Sprintf("A rate is past the knee if its p99 is more than %g times the lowest of all "+
			"lower rates, less than 98 %% of it is answered, "+
			"or more than 1 %% of the requests fail; one that is was measured again, and the "+
			"better run counts.", s.Factor)}}
	if s.Doubt != "" {
		section.Warnings = []string{s.Doubt}
	}
	t := Table{Caption: "Open loops by rate, latency from the intended times",
		Head: []string{"requests/s intended", "of capacity", "answered",
			"p50", "p90", "p99", "p99.9", "max", "errors", ""}}
	latency := Chart{Title: "Latency by rate", Hint: "lower is better", XLabel: "requests a second",
		YLabel: "latency", XUnit: PerSecond,
		YUnit: Nanoseconds, YLog: true}
	answered := Chart{Title: "Answered by rate", Hint: "higher is better", XLabel: "intended",
		YLabel: "answered", XUnit: PerSecond, YUnit: PerSecond,
		Series: []Series{{Name: "answered", Points: true}}}
	if s.Knee > 0 {
		latency.Marks = []Mark{{s.Knee, "knee"}}
		answered.Marks = latency.Marks
	}
	lines, why := []float64{50, 99, 99.9}, s.Judge()
	for _, p := range lines {
		latency.Series = append(latency.Series, Series{Name: result.PercentileName(p),
			Points: true})
	}
	for i, step := range s.Steps {
		h := &step.Result.Response
		rate := step.Result.RequestsPerSecond()
		row := []Cell{{Text: figure.Rate(step.Rate)}, {Text: figure.Share(step.Rate / s.Capacity)},
			{Text: figure.Rate(rate)}}
		for _, p := range []float64{50, 90, 99, 99.9} {
			row = append(row, latencyCell(h, float64(h.At(p))))
		}
		t.Rows = append(t.Rows, append(row, latencyCell(h, float64(h.Max())),
			Cell{Text: figure.Share(step.Result.ErrorShare())},
			Cell{Text: why[i], Tone: "bad wrap"}))
		latency.X, answered.X = append(latency.X, step.Rate), append(answered.X, step.Rate)
		for i, p := range lines {
			latency.Series[i].Y = append(latency.Series[i].Y, float64(h.At(p)))
		}
		answered.Series[0].Y = append(answered.Series[0].Y, rate)
	}
	section.Tables, section.Charts = []Table{t}, []Chart{latency, answered}
	return section
}

// sweepsChart shows the p99 of several sweeps.
func sweepsChart(names []string, all []*sweep.Sweep) Chart {
	c := Chart{Title: "p99 by rate", Hint: "lower is better", XLabel: "requests a second",
		YLabel: "p99", XUnit: PerSecond, YUnit: Nanoseconds, YLog: true}
	for _, s := range all {
		for _, step := range s.Steps {
			c.X = append(c.X, step.Rate)
		}
	}
	slices.Sort(c.X)
	c.X = slices.Compact(c.X)
	for i, s := range all {
		line := Series{Name: names[i], Points: true, Y: slices.Repeat([]float64{math.NaN()},
			len(c.X))}
		for _, step := range s.Steps {
			at, _ := slices.BinarySearch(c.X, step.Rate)
			line.Y[at] = float64(step.Result.Response.At(99))
		}
		c.Series = append(c.Series, line)
	}
	return c
}
