package introspect

import (
	"regexp"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/testenv"
)

// TestNarrowRows: on a narrow screen no column lies outside of it: each row of
// a table of many columns is a block, in which each cell bears the name of its
// column. At 390 pixels three of seven columns were to be seen.
func TestNarrowRows(t *testing.T) {
	f := newFake(40)
	f.progress = func() diagnose.Progress { return diagnose.Progress{} }
	h := f.handler(Options{})
	tables := regexp.MustCompile(`(?s)<table[^>]*>.*?</table>`)
	rows := regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	cells := regexp.MustCompile(`<t[dh][ >][^>]*>`)
	heads := regexp.MustCompile(`(?s)<thead>.*?</thead>`)
	seen := 0
	for _, page := range []string{"", "coroutines", "coroutines?group=name", "sockets", "timers",
		"stalls"} {
		text, _ := get(t, h, "/x/"+page, 200)
		for _, table := range tables.FindAllString(text, -1) {
			columns := len(cells.FindAllString(heads.FindString(table), -1))
			if columns <= 3 {
				continue
			}
			seen++
			if !strings.Contains(table[:strings.IndexByte(table, '>')], "cards") {
				t.Errorf("%q: a table of %d columns without the class cards", page, columns)
			}
			for _, row := range rows.FindAllString(table[strings.Index(table, "<tbody>"):], -1) {
				for i, cell := range cells.FindAllString(row, -1) {
					if !strings.Contains(cell, `data-label="`) &&
						!(i == 0 && strings.Contains(cell, `scope="row"`)) {
						t.Errorf("%q: a cell without a label: %s", page, cell)
					}
				}
			}
		}
	}
	testenv.Equal(t, seen, 8, "tables")
	_, narrow, _ := strings.Cut(style, "@media (max-width: 40rem)")
	for _, rule := range []string{".cards tbody tr { display: block;", "content: attr(data-label)",
		"white-space: normal; overflow-wrap: anywhere;"} {
		if !strings.Contains(narrow, rule) {
			t.Errorf("the style for narrow screens has no %q", rule)
		}
	}
}
