// Package htmlreport writes results as one HTML page that needs nothing else:
// style, script and data are in the file, so that it can be mailed, attached to
// a ticket and opened years later.
//
// page.go knows charts and tables and no results; results.go turns results
// into sections, as packages compare and sweep do with theirs. uPlot (50 KiB)
// draws the charts in the browser: a spike in a series of hundreds of seconds
// is read by pointing and zooming, for which an SVG would need a script too.
// Every figure is in a table as well, so that a page reads without scripts.
package htmlreport

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
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
	Tiles    []Tile
	Tables   []Table
	Charts   []Chart
}

// A Tile is one figure that is to be seen first.
type Tile struct{ Name, Value, Hint string }

// A Table is rows of cells. The first column names the row.
type Table struct {
	Caption string
	Head    []Cell
	Rows    [][]Cell
}

// A Cell is a figure, or a word. Tone is "", "good", "bad" or "quiet".
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

// A Unit says how the script writes the values of an axis.
type Unit string

// The units. A percentile is given as 1/(1-q), which is what its log scale
// shows: 10 is p90, 100 is p99.
const (
	Nanoseconds Unit = "ns"
	PerSecond   Unit = "/s"
	Bytes       Unit = "B/s"
	Count       Unit = "count"
	Seconds     Unit = "s"
	Percentile  Unit = "percentile"
)

// A Chart is lines over a common x axis. One without X is left out.
type Chart struct {
	Title  string `json:"title"`
	Hint   string `json:"hint"`
	XLabel string `json:"xLabel"`
	YLabel string `json:"yLabel"`
	XUnit  Unit   `json:"xUnit"`
	YUnit  Unit   `json:"yUnit"`
	XLog   bool   `json:"xLog"`
	YLog   bool   `json:"yLog"`
	// Marks are values of x with a line and a word.
	Marks  []Mark    `json:"marks"`
	X      []float64 `json:"x"`
	Series []Series  `json:"series"`
}

// A Mark is a vertical line in a chart.
type Mark struct {
	X    float64 `json:"x"`
	Text string  `json:"text"`
}

// A Series is a line: one value for each x of its chart. NaN leaves a gap.
type Series struct {
	Name string
	Y    []float64
	// Points shows the values themselves and not only the line.
	Points bool
}

// MarshalJSON writes gaps as null.
func (s Series) MarshalJSON() ([]byte, error) {
	y := make([]any, len(s.Y))
	for i, v := range s.Y {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			y[i] = json.Number(strconv.FormatFloat(v, 'g', 6, 64))
		}
	}
	return json.Marshal(map[string]any{"name": s.Name, "points": s.Points, "y": y})
}

var (
	//go:embed uplot/uPlot.iife.min.js
	uplotScript string
	//go:embed uplot/uPlot.min.css
	uplotStyle string
	//go:embed uplot/LICENSE
	uplotLicence string
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	pageTemplate = template.Must(template.New("page").Parse(pageText))
)

// Write writes p.
func Write(w io.Writer, p Page) error {
	return pageTemplate.Execute(w, struct {
		Page
		Style, Licence, Library, Script any
	}{p, template.CSS(uplotStyle + pageStyle),
		template.HTML("<!--\nuPlot:\n" + uplotLicence + "-->"),
		template.JS(uplotScript), template.JS(pageScript)})
}
