package compare

import (
	"fmt"
	"io"
	"slices"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
	"github.com/netco-go/netco/cmd/netco-bench/internal/table"
)

// letter names a side in a table's head: a, b, c.
func letter(side int) string { return string(rune('a' + side)) }

// legend says what the letters are.
func (c *Comparison) legend() (lines []string) {
	for i, s := range c.Sides {
		lines = append(lines, fmt.Sprintf("%s: %s, %d rounds", letter(i), s.Name, len(s.Rounds)))
	}
	return lines
}

// table shows a side beside the baseline. ± is half the distance between the
// quartiles.
func (c *Comparison) table(side int) table.Table {
	base, other := letter(0), letter(side)
	t := table.Table{Head: []table.Cell{{Hint: "better"}, {Text: base}, {Text: other},
		{Text: other + "/" + base, Hint: "95 % interval"}, {}}}
	for _, r := range c.Rows(side) {
		says := r.Says()
		if o := r.Outcome(); o == Better || o == Worse {
			says = other + " is " + says
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: r.Figure.Name, Hint: r.Figure.Arrow()},
			{Text: r.Figure.Write(r.Base.Median), Hint: Spread(r.Base)},
			{Text: r.Figure.Write(r.Side.Median), Hint: Spread(r.Side)},
			{Text: figure.Ratio(r.Ratio.Median), Hint: r.Interval()},
			{Text: says}})
	}
	return t
}

// tables shows the sides beside the baseline, or one that is alone.
func (c *Comparison) tables() (all []table.Table) {
	for side := 1; side < len(c.Sides); side++ {
		all = append(all, c.table(side))
	}
	if len(c.Sides) != 1 {
		return all
	}
	t := c.table(0)
	t.Head = append(t.Head[:2:2], table.Cell{})
	for i, row := range t.Rows {
		t.Rows[i] = append(row[:2:2], table.Cell{})
	}
	return append(all, t)
}

// Print writes each side beside the baseline.
func (c *Comparison) Print(w io.Writer) {
	for _, line := range slices.Concat(c.legend(), c.Warnings()) {
		fmt.Fprintln(w, line)
	}
	for _, t := range c.tables() {
		fmt.Fprintln(w)
		t.Print(w)
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
// figure, but errors if there are none. Behind the median stands the ratio to
// the first side, in bold where the rounds show a difference.
func (c *Comparison) Markdown(w io.Writer) {
	fmt.Fprintf(w, "## %s\n\n", c.Title)
	failed := func(r *result.Result) bool { return r.ErrorShare() > 0 }
	figures := slices.DeleteFunc(figure.Of(c.Results()...), func(f figure.Figure) bool {
		return f.Name == "errors" && !slices.ContainsFunc(c.Results(), failed)
	})
	t := table.Table{Head: table.Words("")}
	for _, f := range figures {
		t.Head = append(t.Head, table.Words(f.Name+" "+f.Arrow())...)
	}
	for i, s := range c.Sides {
		row := table.Words(s.Name)
		for _, f := range figures {
			row = append(row, table.Words(c.markdownCell(i, f))...)
		}
		t.Rows = append(t.Rows, row)
	}
	t.Markdown(w)
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
