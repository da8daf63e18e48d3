package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const page = "../docs/METRICS.md"

// TestPageHasEveryMetric holds docs/METRICS.md and the collectors together: every metric has its row, with its type and labels and a
// meaning, and there is no row for another.
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
		if cells[1] != f.kind.String() {
			t.Errorf("%s is a %s, the page says %q", f.name, f.kind, cells[1])
		}
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
	for _, c := range strings.Split(strings.TrimSuffix(strings.ReplaceAll(line, `\|`, bar), "|"), "|") {
		cells = append(cells, strings.ReplaceAll(strings.TrimSpace(c), bar, "|"))
	}
	return cells
}

func labelsCell(f documentedFamily) string {
	var parts []string
	for _, l := range f.labels {
		l = "`" + l + "`"
		if f.outside {
			l += " and outside"
		}
		parts = append(parts, l)
	}
	if f.label != "" {
		parts = append(parts, "`"+f.label+"`: "+strings.Join(f.values, ", "))
	}
	return strings.Join(parts, ", ")
}

var (
	block   = regexp.MustCompile("(?s)```promql\n(.*?)```")
	mention = regexp.MustCompile("`(netco_[a-z_]+)`")
)

// TestPageQueries: the page's queries, alerts and mentions are of metrics that there are.
func TestPageQueries(t *testing.T) {
	words := vocabularyOf(t)
	text := read(t, page)
	queries := 0
	check := func(query string) {
		queries++
		if err := words.checkQuery(query); err != nil {
			t.Error(err)
		}
	}
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		check(m[1])
	}
	for _, line := range strings.Split(text, "\n") {
		if cells := cellsOf(line); len(cells) == 3 && strings.HasPrefix(cells[0], "`") {
			check(strings.Trim(cells[0], "`"))
		}
	}
	if queries < 10 {
		t.Errorf("only %d queries found", queries)
	}
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if _, ok := words[m[1]]; !ok {
			t.Errorf("there is no metric %s", m[1])
		}
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
