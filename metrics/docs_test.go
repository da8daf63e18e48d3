package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

const page = "../docs/METRICS.md"

// TestPageHasEveryMetric holds docs/METRICS.md and the collectors together:
// every metric has its row, with its type and labels and a meaning, and there
// is no row for another.
func TestPageHasEveryMetric(t *testing.T) {
	rows := map[string][]string{}
	for _, line := range strings.Split(read(t, page), "\n") {
		if cells := cellsOf(line); len(cells) == 5 && strings.HasPrefix(cells[0], "`netco_") {
			name := strings.Trim(cells[0], "`")
			if rows[name] != nil {
				t.Errorf("two rows for %s", name)
			}
			rows[name] = cells
		}
	}
	for _, f := range documented() {
		cells := rows[f.name]
		if cells == nil {
			t.Errorf("no row for %s", f.name)
			continue
		}
		delete(rows, f.name)
		testenv.Equal(t, cells[1], f.kind, f.name, "is a", f.kind, "the page says")
		if want := labelsCell(f); cells[2] != want {
			t.Errorf("%s: labels are %s, the page says %s", f.name, want, cells[2])
		}
		if cells[3] == "" {
			t.Errorf("%s: no meaning", f.name)
		}
	}
	for name := range rows {
		t.Errorf("there is no metric %s", name)
	}
}

// cellsOf returns the cells of a row of a table.
func cellsOf(line string) (cells []string) {
	line, ok := strings.CutPrefix(line, "|")
	if !ok {
		return nil
	}
	const bar = "\x00" // one that is no cell's end
	for _, c := range strings.Split(strings.TrimSuffix(strings.ReplaceAll(line, `\|`, bar), "|"),
		"|") {
		cells = append(cells, strings.ReplaceAll(strings.TrimSpace(c), bar, "|"))
	}
	return cells
}

func labelsCell(f documentedFamily) string {
	var parts []string
	for _, l := range f.labels {
		l = "`" + l + "`"
		if f.goroutines {
			l += " and none"
		}
		parts = append(parts, l)
	}
	if f.label != "" {
		parts = append(parts, "`"+f.label+"`: "+strings.Join(f.values, ", "))
	}
	return strings.Join(parts, ", ")
}

var mention = regexp.MustCompile(`\bnetco_[a-z_]+[a-z]\b`)

// TestPagesMentionMetrics: what the page and the dashboard name are metrics.
// Whether their queries are right is checked by interop/promql.
func TestPagesMentionMetrics(t *testing.T) {
	names := map[string]bool{}
	for _, f := range documented() {
		names[f.name] = true
		if f.kind == "histogram" {
			names[f.name+"_sum"], names[f.name+"_count"], names[f.name+"_bucket"] = true, true, true
		}
	}
	for _, file := range []string{page, dashboardFile} {
		for _, name := range mention.FindAllString(read(t, file), -1) {
			if !names[name] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

// documentedFamily is what docs/METRICS.md has of a family.
type documentedFamily struct {
	name, label    string
	kind           string
	labels, values []string
	goroutines     bool
}

// documented returns all families of both collectors.
func documented() (all []documentedFamily) {
	all = append(all, documentedFamily{name: "netco_info", kind: "gauge", labels: infoLabels})
	all = append(all, documentedFamily{name: "netco_handoffs_by_site_total", kind: "counter",
		labels: bySite})
	all = append(all, documentedFamily{name: "netco_deadlocked_coroutines", kind: "gauge",
		labels: []string{"circle"}})
	all = append(all, documentedOf(ofScheduler)...)
	all = append(all, documentedOf(ofProcessor)...)
	return append(all, documentedOf(ofProcess)...)
}

func documentedOf[S any](families []family[S]) (all []documentedFamily) {
	for _, f := range families {
		kind := "gauge"
		switch {
		case f.hist != nil:
			kind = "histogram"
		case f.kind == count:
			kind = "counter"
		}
		all = append(all, documentedFamily{f.name, f.label, kind, f.labels, f.values,
			f.goroutines > 0})
	}
	return all
}

func read(t testing.TB, path string) string {
	t.Helper()
	text := testenv.Must(os.ReadFile(path))
	return string(text)
}

const dashboardFile = "../docs/grafana/netco.json"

// dashboard is what is checked of a Grafana dashboard.
type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Datasource  struct{ Type, UID string }
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Datasource                struct{ Type, UID string }
	}
}

var (
	variable = regexp.MustCompile(`\$\{?([a-zA-Z_]+)\}?`)
	legend   = regexp.MustCompile(`\{\{(\w+)\}\}`)
	word     = regexp.MustCompile(`\w+`)
)

// queries checks those of a panel, and adds all words in them to named.
func (p *panel) queries(t *testing.T, variables []string, named map[string]bool) {
	if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
		t.Errorf("%s: %d queries of data source %q", p.Title, len(p.Targets), p.Datasource.UID)
	}
	for _, q := range p.Targets {
		for _, m := range variable.FindAllStringSubmatch(q.Expr, -1) {
			if !slices.Contains(variables, m[1]) {
				t.Errorf("%s: there is no variable %q", p.Title, m[1])
			}
		}
		for _, m := range legend.FindAllStringSubmatch(q.LegendFormat, -1) {
			if !strings.Contains(q.Expr, m[1]) {
				t.Errorf("%s: the legend has %q, which %s does not keep", p.Title, m[1], q.Expr)
			}
		}
		for _, name := range word.FindAllString(q.Expr, -1) {
			named[name] = true
		}
	}
}

// TestDashboard: the dashboard is one, it shows every metric, its variables
// exist, and no panel covers another. Its queries are checked by
// interop/promql.
func TestDashboard(t *testing.T) {
	var d dashboard
	testenv.OK(t, json.Unmarshal([]byte(read(t, dashboardFile)), &d))
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	for _, want := range []string{"datasource", "processor"} {
		if !slices.Contains(variables, want) {
			t.Errorf("no variable %q", want)
		}
	}
	ids := map[int]bool{}
	covered := map[[2]int]string{}
	named := map[string]bool{}
	var rows []string
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: another panel has id %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if covered[at] != "" || at[0] >= 24 {
					t.Errorf("%s covers %q at %v", p.Title, covered[at], at)
				}
				covered[at] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, strings.ToLower(p.Title))
			continue
		}
		p.queries(t, variables, named)
	}
	for _, want := range []string{"load", "coroutines", "latency", "i/o", "sockets",
		"errors and stalls", "blocking calls", "memory"} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %q", want)
		}
	}
	for _, f := range documented() {
		if !named[f.name] {
			t.Errorf("no panel shows %s", f.name)
		}
	}
}

// TestLint: names, units, types and help texts are as Prometheus wants them.
func TestLint(t *testing.T) {
	problems := testenv.Must(promlint.NewWithMetricFamilies(testenv.Must(registered(t,
		started(t, scheduler.Options{Processors: 2})).Gather())).Lint())
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
