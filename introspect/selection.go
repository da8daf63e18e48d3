package introspect

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// key is the key by which rows are sorted: a number, then a text, then the id,
// which no two rows share.
type key struct {
	n    uint64
	text string
	id   uint64
}

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.n, o.n), strings.Compare(k.text, o.text), cmp.Compare(k.id, o.id))
}

// textKey returns the text of a key, the first 64 bytes of s. Rows whose texts
// agree in these are sorted by id.
func textKey(s string) string { return s[:min(len(s), 64)] }

// String returns the key in the form that links carry.
func (k key) String() string {
	return fmt.Sprintf("%d.%d.%s", k.n, k.id, base64.RawURLEncoding.EncodeToString([]byte(k.text)))
}

func parseKey(s string) (key, error) {
	if parts := strings.SplitN(s, ".", 3); len(parts) == 3 {
		n, err1 := strconv.ParseUint(parts[0], 10, 64)
		id, err2 := strconv.ParseUint(parts[1], 10, 64)
		text, err3 := base64.RawURLEncoding.DecodeString(parts[2])
		if err1 == nil && err2 == nil && err3 == nil {
			return key{n, string(text), id}, nil
		}
	}
	return key{}, fmt.Errorf("%q is no place in a list", s)
}

// selection picks one page of rows: the first rows, in the selection's order,
// behind a given key or before it. The rows are offered in any order and any
// number; the selection holds little more than two pages of them. A page is
// identified by a row, not by a number, so it begins where the previous page
// ended although rows have come and gone.
type selection[T any] struct {
	size int
	down bool // the largest key first
	back bool // the page before from, not the page behind it
	from *key // nil: from the start

	rows    []row[T] // at most 2*size+1
	bound   *key     // only rows before it are needed; nil: all
	matched uint64   // rows offered
	skipped uint64   // rows offered on the other side of from
}

type row[T any] struct {
	key key
	v   T
}

// order compares keys so that the rows to be kept are the least.
func (s *selection[T]) order(a, b key) int {
	c := a.compare(b)
	if s.down != s.back {
		return -c
	}
	return c
}

// offer copies a row if it may belong to the page.
func (s *selection[T]) offer(k key, v *T) {
	s.matched++
	switch {
	case s.from != nil && s.order(k, *s.from) <= 0:
		s.skipped++
	case s.bound == nil || s.order(k, *s.bound) < 0:
		if s.rows = append(s.rows, row[T]{k, *v}); len(s.rows) > 2*s.size+1 {
			s.trim()
		}
	}
}

// trim sorts the rows and drops the rows behind the page except the first,
// which shows that there are more.
func (s *selection[T]) trim() {
	slices.SortFunc(s.rows, func(a, b row[T]) int { return s.order(a.key, b.key) })
	if len(s.rows) > s.size {
		clear(s.rows[s.size+1:])
		s.rows = s.rows[:s.size+1]
		bound := s.rows[s.size].key
		s.bound = &bound
	}
}

// page returns the selected rows, in order, and their place among the others.
func (s *selection[T]) page() (list []T, l listJSON) {
	s.trim()
	more, others := len(s.rows) > s.size, s.skipped > 0
	rows := s.rows[:min(len(s.rows), s.size)]
	l.Matched, l.First = s.matched, s.skipped+1
	if s.back {
		slices.Reverse(rows)
		more, others = others, more
		l.First = s.matched - s.skipped - uint64(len(rows)) + 1
	}
	l.Last = l.First + uint64(len(rows)) - 1
	for i := range rows {
		list = append(list, rows[i].v)
	}
	if more && len(rows) > 0 {
		l.Next = rows[len(rows)-1].key.String()
	}
	if others && len(rows) > 0 {
		l.Prev = rows[0].key.String()
	}
	return list, l
}

// list walks over all items and returns the requested page of the items that
// the filter selects. A minus in front of the column to sort by puts the
// largest first.
func list[T any](ctx context.Context, q *query, w *walker[T], lets func(*T) bool,
	keyOf func(column string, item *T) key) ([]T, listJSON, error) {
	var words []string
	for _, c := range q.Columns() {
		words = append(words, c.Name, "-"+c.Name)
	}
	column, down := strings.CutPrefix(q.among("sort", words), "-")
	s := &selection[T]{size: int(q.number("rows", 1, maxRows, defaultRows)), down: down,
		back: q.Get("before") != ""}
	if from := cmp.Or(q.Get("before"), q.Get("after")); from != "" {
		k, err := parseKey(from)
		if err != nil {
			q.fail("%v", err)
		}
		s.from = &k
	}
	if q.err != nil {
		return nil, listJSON{}, q.err
	}
	all := uint64(0)
	partial, err := w.walk(ctx, func(item *T) {
		if all++; lets(item) {
			s.offer(keyOf(column, item), item)
		}
	})
	if err != nil {
		return nil, listJSON{}, err
	}
	rows, l := s.page()
	l.Seen, l.Partial = all, partial
	return rows, l, nil
}
