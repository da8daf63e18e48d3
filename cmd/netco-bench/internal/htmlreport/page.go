// Package htmlreport writes results as one HTML page that needs nothing else
// and has no script, so that it can be mailed, attached to a ticket and opened
// years later.
//
// page.go knows tables and charts and no results; results.go turns results into
// sections, as packages compare and sweep do with theirs.
package htmlreport

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
)

// A Page is what is shown, from top to bottom.
type Page struct {
	Title    string
	Subtitle string
	Sections []Section
}

// A Section has a heading, and shows what it has in the order of its fields.
type Section struct {
	Heading  string
	Text     []string
	Warnings []string
	Tables   []Table
	Chart    Chart
}

// A Table is rows of cells. The first column names the row.
type Table struct {
	Caption string
	Head    []Cell
	Rows    [][]Cell
}

// A Cell is a figure, or a word. Tone is "", "good" or "bad".
type Cell struct{ Text, Hint, Tone string }

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

// A Chart is latencies as lines, on a logarithmic scale. One without lines is
// left out.
type Chart struct {
	Title string
	Marks []Mark // of the horizontal axis
	Lines []Line
}

// A Mark is a word at a place of the horizontal axis, from 0 to 1.
type Mark struct {
	At   float64
	Text string
}

// A Line is points: X from 0 to 1, and ns.
type Line struct {
	Name   string
	Points []Point
}

// A Point of a line.
type Point struct{ X, Ns float64 }

// The size of a chart, and of the room for the words at its left and below.
const (
	chartWidth, chartHeight = 720, 300
	chartLeft, chartBelow   = 60, 20
)

// drawn is a Chart as the page's template wants it, in its coordinates.
type drawn struct {
	Chart
	Decades []placed // of the vertical axis
	Below   []placed
	Paths   []placed
}

// placed is a word at a place, or the points of a line of that name.
type placed struct {
	At     float64
	Text   string
	Points string
	Colour int
}

// draw places what c has, between the powers of ten around its latencies.
func (c Chart) draw() *drawn {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			at := math.Log10(max(p.Ns, 1))
			low = min(low, math.Floor(at))
			high = max(high, math.Ceil(at), low+1)
		}
	}
	if low > high {
		return nil
	}
	y := func(log float64) float64 {
		return 5 + (high-log)/(high-low)*(chartHeight-chartBelow-5)
	}
	x := func(at float64) float64 { return chartLeft + at*(chartWidth-chartLeft-40) }
	d := &drawn{Chart: c}
	for log := low; log <= high; log++ {
		d.Decades = append(d.Decades, placed{At: y(log), Text: figure.Latency(math.Pow(10, log))})
	}
	for _, m := range c.Marks {
		d.Below = append(d.Below, placed{At: x(m.At), Text: m.Text})
	}
	for i, l := range c.Lines {
		path := placed{Text: l.Name, Colour: i % 6}
		for _, p := range l.Points {
			path.Points += fmt.Sprintf("%.1f,%.1f ", x(p.X), y(math.Log10(max(p.Ns, 1))))
		}
		d.Paths = append(d.Paths, path)
	}
	return d
}

var (
	//go:embed page.html
	pageText string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"draw": Chart.draw}).Parse(pageText))
)

// Write writes p.
func Write(w io.Writer, p Page) error { return pageTemplate.Execute(w, p) }
