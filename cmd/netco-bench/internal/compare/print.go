package compare

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
)

// Letters names the sides in a table's head: a, b, c.
func letter(side int) string { return string(rune('a' + side)) }

// Print writes each side beside the baseline. ± is half the distance between
// the quartiles.
func (c *Comparison) Print(w io.Writer) {
	for i, s := range c.Sides {
		fmt.Fprintf(w, "%s: %s, %d rounds\n", letter(i), s.Name, len(s.Rounds))
	}
	for _, line := range c.Warnings() {
		fmt.Fprintln(w, line)
	}
	for side := 1; side < len(c.Sides); side++ {
		fmt.Fprintln(w)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		base, other := letter(0), letter(side)
		fmt.Fprintf(tw, "\tbetter\t%s\t\t%s\t\t%s/%s\t95 %% interval\t\n", base, other, other, base)
		for _, r := range c.Rows(side) {
			says := r.Says()
			if o := r.Outcome(); o == Better || o == Worse {
				says = other + " is " + says
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n", r.Figure.Name,
				r.Figure.Better.Arrow(),
				r.Figure.Write(r.Base.Median), Spread(r.Base), r.Figure.Write(r.Side.Median),
				Spread(r.Side),
				figure.Ratio(r.Ratio.Median), r.Interval(), says)
		}
		tw.Flush()
	}
}

// MarkdownHead writes what the tables mean, and where they are from.
func (f *File) MarkdownHead(w io.Writer) {
	fmt.Fprintf(w, "Medians over rounds that ran in turn. Behind each stands the ratio to the "+
		"first row, the median of those within\n"+
		"the rounds; in bold where its 95 %% interval does not hold 1, so that a difference is "+
		"shown. ↑ higher, ↓ lower is\nbetter.\n\n")
	for _, c := range f.Comparisons {
		if all := c.Results(); len(all) > 0 {
			e := all[0].Environment
			fmt.Fprintf(w, "%s, %s %s, %s, %s, %s, netco-bench %s; %d rounds of %s each.\n\n",
				all[0].Start.UTC().Format("2006-01-02"),
				e.OS, e.Kernel, e.CPU, f.cores(), e.Go, all[0].Tool, len(c.Sides[0].Rounds),
				all[0].Options.Duration)
			return
		}
	}
}

// cores says how many cores the generators had.
func (f *File) cores() string {
	var n []int
	for _, c := range f.Comparisons {
		for _, r := range c.Results() {
			n = append(n, r.Environment.Cores)
		}
	}
	least, most := slices.Min(n), slices.Max(n)
	if least < most {
		return fmt.Sprintf("%d to %d cores", least, most)
	}
	return fmt.Sprintf("%d cores", most)
}

// Markdown writes a table with a row for each side and a column for each
// figure. Below the median stands the ratio to the first side, in bold where
// the rounds show a difference.
func (c *Comparison) Markdown(w io.Writer) {
	fmt.Fprintf(w, "## %s\n\n", c.Title)
	all := c.Results()
	figures := figure.Present(figure.All(), all...)
	head, rule := "| |", "|---|"
	for _, f := range figures {
		head += fmt.Sprintf(" %s %s |", f.Name, f.Better.Arrow())
		rule += "---|"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for i, s := range c.Sides {
		fmt.Fprintf(w, "| %s |", s.Name)
		for _, f := range figures {
			fmt.Fprintf(w, " %s |", c.markdownCell(i, f))
		}
		fmt.Fprintln(w)
	}
	for _, line := range c.Warnings() {
		fmt.Fprintf(w, "\n%s\n", line)
	}
	fmt.Fprintln(w)
}

func (c *Comparison) markdownCell(side int, f figure.Figure) string {
	r := c.Row(side, f)
	text := f.Write(r.Side.Median)
	if side == 0 || r.Ratio.Pairs == 0 {
		return text
	}
	ratio := figure.Ratio(r.Ratio.Median)
	switch o := r.Outcome(); o {
	case Better, Worse:
		ratio = "**" + ratio + "** " + string(o)
	case Same:
		ratio += " " + string(o)
	}
	return text + " " + ratio
}
