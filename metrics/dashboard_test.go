package metrics

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

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
