package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
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
		testenv.Equal(t, cells[1], f.kind.String(), f.name, "is a", f.kind, "the page says")
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
			l += " and outside"
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
		if f.kind == histogram {
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
	kind           kind
	labels, values []string
	goroutines     bool
}

// documented returns all families of both collectors.
func documented() (all []documentedFamily) {
	all = append(all, documentedFamily{name: "netco_info", kind: gauge, labels: infoLabels})
	all = append(all, documentedFamily{name: "netco_handoffs_by_site_total", kind: count,
		labels: bySite})
	all = append(all, documentedFamily{name: "netco_deadlocked_coroutines", kind: gauge,
		labels: []string{"circle"}})
	all = append(all, documentedOf(ofScheduler)...)
	all = append(all, documentedOf(ofProcessor)...)
	return append(all, documentedOf(ofProcess)...)
}

func documentedOf[S any](families []family[S]) (all []documentedFamily) {
	for _, f := range families {
		all = append(all, documentedFamily{f.name, f.label, f.kind, f.labels, f.values,
			f.goroutines > 0})
	}
	return all
}

func read(t testing.TB, path string) string {
	t.Helper()
	text := testenv.Must(os.ReadFile(path))
	return string(text)
}
