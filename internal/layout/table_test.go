package layout

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// table says which folder may import which: it is the table of
// docs/ARCHITECTURE.md between the two marks. Its first column names a folder
// in backquotes ("." is the root package; "cmd/..." is everything below cmd),
// its last one what that folder may import: folders of rows above it, or
// modules.
type table struct {
	rows  []row
	index map[string]int // by folder
}

type row struct {
	folder string
	may    []string
}

const (
	tableFile  = "docs/ARCHITECTURE.md"
	tableBegin = "<!-- imports: begin -->"
	tableEnd   = "<!-- imports: end -->"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// parseTable reads the table out of the page and holds it against itself: it
// must run one way.
func parseTable(page string) (*table, error) {
	_, rest, begun := strings.Cut(page, tableBegin)
	body, _, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		return nil, fmt.Errorf("%s: no table between %s and %s", tableFile, tableBegin, tableEnd)
	}
	t := &table{index: map[string]int{}}
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 2 {
			continue
		}
		folder := quoted.FindStringSubmatch(cells[0])
		if folder == nil {
			continue // the heading, and the line under it
		}
		r := row{folder: folder[1]}
		for _, m := range quoted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if _, known := t.index[m[1]]; !known && !isModule(m[1]) {
				return nil, fmt.Errorf("%s: the row of %s lets it import %s, which no row above "+
					"it names", tableFile, r.folder, m[1])
			}
			r.may = append(r.may, m[1])
		}
		if _, twice := t.index[r.folder]; twice {
			return nil, fmt.Errorf("%s: two rows for %s", tableFile, r.folder)
		}
		t.index[r.folder] = len(t.rows)
		t.rows = append(t.rows, r)
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("%s: the table has no rows", tableFile)
	}
	return t, nil
}

// isModule reports whether a name of the table is a module and not a folder.
func isModule(name string) bool {
	host, _, slash := strings.Cut(name, "/")
	return slash && strings.Contains(host, ".")
}

// rowOf returns the row for a folder: its own, or the nearest with "..." that
// it is in.
func (t *table) rowOf(folder string) (row, bool) {
	if i, ok := t.index[folder]; ok {
		return t.rows[i], true
	}
	for dir := folder; ; {
		if i, ok := t.index[dir+"/..."]; ok {
			return t.rows[i], true
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return row{}, false
		}
		dir = dir[:i]
	}
}

// allows reports whether the row lets its folder import another of the module.
func (r row) allows(t *table, folder string) bool {
	to, ok := t.rowOf(folder)
	return ok && (slices.Contains(r.may, to.folder) || to.folder == r.folder)
}

// allowsModule reports whether the row lets its folder import a package of
// another module.
func (r row) allowsModule(pkg string) bool {
	return slices.ContainsFunc(r.may, func(m string) bool {
		return isModule(m) && (pkg == m || strings.HasPrefix(pkg, m+"/"))
	})
}
