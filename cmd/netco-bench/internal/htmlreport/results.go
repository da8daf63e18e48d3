package htmlreport

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/netco-go/netco/cmd/netco-bench/internal/figure"
	"github.com/netco-go/netco/cmd/netco-bench/internal/result"
)

// Named is a result under the name that its page gives it.
type Named struct {
	Name string
	*result.Result
}

// Results shows results side by side.
func Results(all ...Named) []Section {
	errors := Section{Heading: "Errors", Tables: []Table{facts("By class", all,
		func(r *result.Result) any { return r.Totals.Errors }), statusTable(all)}}
	if !slices.ContainsFunc(all, func(n Named) bool { return n.Totals.Errors.Sum() > 0 }) {
		errors.Text = []string{"None."}
	}
	sections := []Section{{Warnings: warnings(all), Text: closedLoopText(all),
		Tables: []Table{latencyTable(all)}, Chart: PercentileChart(all)}, errors}
	if t := thresholdTable(all); len(t.Rows) > 0 {
		sections = append(sections, Section{Heading: "Thresholds", Tables: []Table{t}})
	}
	return append(sections, Environment(all...))
}

// only returns the name with a colon where there are several results.
func only(all []Named, n Named) string {
	if len(all) == 1 {
		return ""
	}
	return n.Name + ": "
}

func warnings(all []Named) (lines []string) {
	for _, n := range all {
		add := func(format string, args ...any) {
			lines = append(lines, only(all, n)+fmt.Sprintf(format, args...))
		}
		if n.Failure != "" {
			add("The run could not be finished: %s. The figures are those until then.", n.Failure)
		}
		if n.Interrupted {
			add("The run was interrupted. The figures are those until then.")
		}
		for _, doubt := range figure.Doubts(n.Result) {
			add("In this run %s.", doubt)
		}
	}
	return lines
}

func closedLoopText(all []Named) []string {
	if !slices.ContainsFunc(all, func(n Named) bool { return !n.Options.Open() }) {
		return nil
	}
	return []string{"In a closed loop a connection asks again when it has its answer: a server " +
		"that stalls is asked less, and a stall counts once for each connection, however long it " +
		"is. Latencies that count the requests held up meanwhile need an open loop (-rate)."}
}

// distribution is one of a result's histograms, as a row and as a line.
type distribution struct {
	name, hint string
	histogram  *result.Histogram
}

// distributions returns the response times of several results, and all
// histograms of a single one.
func distributions(all []Named) (list []distribution) {
	for _, n := range all {
		hint := "from the intended time of sending"
		if !n.Options.Open() {
			hint = "from sending"
		}
		list = append(list, distribution{n.Name, hint, &n.Response})
	}
	if len(all) != 1 {
		return list
	}
	list[0].name = "response"
	r := all[0].Result
	if r.Options.Open() {
		list = append(list, distribution{"service", "from the actual sending", &r.Service},
			distribution{"sent late", "the generator's own", &r.Lateness})
	}
	list = append(list, distribution{"connect", "each connection", &r.Connect},
		distribution{"TLS handshake", "", &r.TLS})
	return slices.DeleteFunc(list, func(d distribution) bool { return d.histogram.Count() == 0 })
}

func latencyTable(all []Named) Table {
	t := Table{Caption: "Requests and latency", Head: Words("", "requests/s")}
	for _, p := range result.Percentiles {
		t.Head = append(t.Head, Words(result.PercentileName(p))...)
	}
	t.Head = append(t.Head, Words("max", "mean", "count")...)
	for i, d := range distributions(all) {
		row := []Cell{{Text: d.name, Hint: d.hint}, {}}
		if i < len(all) {
			row[1].Text = figure.Rate(all[i].RequestsPerSecond())
		}
		row = append(row, Latencies(d.histogram, result.Percentiles...)...)
		row = append(row, Words(figure.Latency(d.histogram.Mean()),
			figure.Count(float64(d.histogram.Count())))...)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Latencies are the percentiles of a histogram, and its highest value.
func Latencies(h *result.Histogram, ps ...float64) (cells []Cell) {
	for _, p := range append(slices.Clone(ps), 100) {
		ns := math.NaN()
		if h.Count() > 0 {
			ns = float64(h.At(p))
		}
		cells = append(cells, Words(figure.Latency(ns))...)
	}
	return cells
}

// perNine is how many points a line by percentile has for each nine.
const perNine = 12

// PercentileChart shows the distributions up to the percentile of the last
// value. Each nine of a percentile takes as much room.
func PercentileChart(all []Named) Chart {
	c := Chart{Title: "Latency by percentile"}
	list := slices.DeleteFunc(distributions(all), func(d distribution) bool {
		return d.histogram.Count() == 0 || d.name == "connect" || d.name == "TLS handshake"
	})
	nines := 1.0
	for _, d := range list {
		nines = max(nines, math.Log10(float64(d.histogram.Count())))
	}
	for i := range int(nines) + 1 {
		p := 100 - 100*math.Pow(10, -float64(i))
		c.Marks = append(c.Marks, Mark{float64(i) / nines, fmt.Sprintf("p%.10g", p)})
	}
	for _, d := range list {
		l := Line{Name: d.name}
		last := math.Log10(float64(d.histogram.Count()))
		for i := 0; float64(i) <= last*perNine; i++ {
			at := float64(i) / perNine
			ns := d.histogram.At(100 - 100*math.Pow(10, -at))
			l.Points = append(l.Points, Point{at / nines, float64(ns)})
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

func statusTable(all []Named) Table {
	t := sideBySide("Answers by status", all)
	statuses := map[string]bool{}
	for _, n := range all {
		for status := range n.Totals.Status {
			statuses[status] = true
		}
	}
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		row := Words(status)
		for _, n := range all {
			row = append(row, Words(figure.Count(float64(n.Totals.Status[status])))...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sideBySide returns a table with a column for each result.
func sideBySide(caption string, all []Named) Table {
	t := Table{Caption: caption}
	if len(all) > 1 {
		t.Head = Words("")
		for _, n := range all {
			t.Head = append(t.Head, Words(n.Name)...)
		}
	}
	return t
}

func thresholdTable(all []Named) Table {
	t := Table{Head: Words("limit", "measured", "")}
	for _, n := range all {
		for _, limit := range n.Thresholds {
			verdict := Cell{Text: "kept", Tone: "good"}
			if limit.Broken {
				verdict = Cell{Text: "broken", Tone: "bad"}
			}
			t.Rows = append(t.Rows, []Cell{{Text: only(all, n) + limit.Limit}, {Text: limit.Value},
				verdict})
		}
	}
	return t
}

// facts is a table of the fields of a struct that each result has, or none. A
// field that is zero in all is left out.
func facts(caption string, all []Named, of func(*result.Result) any) Table {
	t := sideBySide(caption, all)
	var structs []reflect.Value
	for _, n := range all {
		structs = append(structs, reflect.Indirect(reflect.ValueOf(of(n.Result))))
	}
	at := slices.IndexFunc(structs, reflect.Value.IsValid)
	if at < 0 {
		return t
	}
	for i, field := range reflect.VisibleFields(structs[at].Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		row, known := []Cell{{Text: strings.ReplaceAll(name, "_", " ")}}, false
		for _, s := range structs {
			text := ""
			if s.IsValid() && !s.Field(i).IsZero() {
				text, known = fieldText(name, s.Field(i).Interface()), true
			}
			row = append(row, Cell{Text: cmp.Or(text, "–"), Tone: "text"})
		}
		if known {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// fieldText writes the value of a field of that name.
func fieldText(name string, value any) string {
	switch v := value.(type) {
	case float64:
		if name == "share" || name == "peak" {
			return figure.Share(v)
		}
		return figure.Rate(v)
	case int64:
		if strings.HasPrefix(name, "rss") {
			return figure.Bytes(float64(v))
		}
		return figure.Count(float64(v))
	case uint64:
		return figure.Count(float64(v))
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return fmt.Sprint(value)
}

// Environment shows what results are of.
func Environment(all ...Named) Section {
	type run struct {
		Target      string          `json:"target"`
		CommandLine string          `json:"command_line"`
		Start       time.Time       `json:"start"`
		Elapsed     result.Duration `json:"elapsed"`
		Merged      int             `json:"sum_of"`
		Tool        string          `json:"netco-bench"`
	}
	return Section{Heading: "Load and environment", Tables: []Table{
		facts("Run", all, func(r *result.Result) any {
			return run{r.Target, strings.Join(r.Args, " "), r.Start, r.Elapsed, r.Merged, r.Tool}
		}),
		facts("Load", all, func(r *result.Result) any { return r.Options }),
		facts("Generator", all, func(r *result.Result) any { return r.Generator }),
		facts("Server", all, func(r *result.Result) any { return r.Server }),
		facts("Generator's machine", all, func(r *result.Result) any { return r.Environment }),
	}}
}
