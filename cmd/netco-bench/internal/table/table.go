// Package table writes tables of figures for a terminal and as Markdown.
package table

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Table is rows of cells. The first column names the row.
type Table struct {
	Head []Cell
	Rows [][]Cell
}

// A Cell is a figure, or a word.
type Cell struct{ Text, Hint string }

// Words are cells of text.
func Words(words ...string) (cells []Cell) {
	for _, w := range words {
		cells = append(cells, Cell{Text: w})
	}
	return cells
}

// Print writes t for a terminal: hints stand in a column of their own, and the
// last column begins to the left.
func (t Table) Print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows := append([][]Cell{t.Head}, t.Rows...)
	for _, row := range rows {
		for i, c := range row {
			hinted := slices.ContainsFunc(rows, func(r []Cell) bool { return r[i].Hint != "" })
			switch {
			case i == len(row)-1 && c.Text != "":
				fmt.Fprintf(tw, "  %s", c.Text)
			case i == len(row)-1:
			case hinted:
				fmt.Fprintf(tw, "%s\t%s\t", c.Text, c.Hint)
			default:
				fmt.Fprintf(tw, "%s\t", c.Text)
			}
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
}

// Markdown writes t as Markdown, without hints.
func (t Table) Markdown(w io.Writer) {
	for i, row := range append([][]Cell{t.Head}, t.Rows...) {
		line := "|"
		for _, c := range row {
			line += strings.TrimRight(" "+strings.ReplaceAll(c.Text, "|", `\|`), " ") + " |"
		}
		if i == 0 {
			line += "\n|" + strings.Repeat("---|", len(row))
		}
		fmt.Fprintln(w, line)
	}
}
