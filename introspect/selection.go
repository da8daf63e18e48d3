package introspect

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// key is the key by which rows are sorted: a number, a text, and last the id,
// which no two rows share.
type key struct {
	n    uint64
	text string
	id   uint64
}

func (k key) compare(o key) int {
	if c := cmp.Compare(k.n, o.n); c != 0 {
		return c
	}
	if c := strings.Compare(k.text, o.text); c != 0 {
		return c
	}
	return cmp.Compare(k.id, o.id)
}

// textKey makes a key's text, cut: rows whose texts agree up to there are in
// the order of their ids.
func textKey(s string) string { return s[:min(len(s), 64)] }

// String returns the key in the form that links carry.
func (k key) String() string {
	return fmt.Sprintf("%d.%d.%s", k.n, k.id, base64.RawURLEncoding.EncodeToString([]byte(k.text)))
}

func parseKey(s string) (key, error) {
	number, rest, _ := strings.Cut(s, ".")
	id, text, ok := strings.Cut(rest, ".")
	if !ok {
		return key{}, fmt.Errorf("%q is no place in a list", s)
	}
	var k key
	var err error
	if k.n, err = strconv.ParseUint(number, 10, 64); err == nil {
		k.id, err = strconv.ParseUint(id, 10, 64)
	}
	if err != nil {
		return key{}, fmt.Errorf("%q is no place in a list", s)
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return key{}, fmt.Errorf("%q is no place in a list", s)
	}
	k.text = string(b)
	return k, nil
}

// selection picks one page out of any number of rows that it is offered in any
// order, and holds no more than that page: the rows that come first, in its
// order, behind a given key or before it. A page is found by a row and not by a
// number, so a page begins where the last one ended although rows have come and
// gone.
type selection[T any] struct {
	size int
	down bool // the largest key first
	back bool // the page before from, not the one behind it
	from *key // nil: from the start

	heap    []row[T] // the worst is at the top; at most size+1: one more shows that there is more
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

// wants counts a row, and reports whether it would be kept. Rows that are not
// kept need not be made.
func (s *selection[T]) wants(k key) bool {
	s.matched++
	if s.from != nil && s.order(k, *s.from) <= 0 {
		s.skipped++
		return false
	}
	return len(s.heap) <= s.size || s.order(k, s.heap[0].key) < 0
}

// add keeps a row for which wants has returned true.
func (s *selection[T]) add(k key, v T) {
	if len(s.heap) <= s.size {
		s.heap = append(s.heap, row[T]{k, v})
		s.up(len(s.heap) - 1)
		return
	}
	s.heap[0] = row[T]{k, v}
	s.sift(0)
}

func (s *selection[T]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if s.order(s.heap[i].key, s.heap[parent].key) <= 0 {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

func (s *selection[T]) sift(i int) {
	for {
		worst := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(s.heap) && s.order(s.heap[child].key, s.heap[worst].key) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		s.heap[i], s.heap[worst] = s.heap[worst], s.heap[i]
		i = worst
	}
}

// part is a page of a list.
type part[T any] struct {
	rows  []T
	first uint64 // the first row's number among the matching rows, from 1
	prev  string // the keys from which the pages before and behind go on, "" if there is none
	next  string
}

// page returns the selected rows, in order.
func (s *selection[T]) page() part[T] {
	rows := slices.Clone(s.heap)
	slices.SortFunc(rows, func(a, b row[T]) int { return s.order(a.key, b.key) })
	more := len(rows) > s.size
	rows = rows[:min(len(rows), s.size)]
	others := s.skipped > 0
	first := s.skipped + 1
	if s.back {
		slices.Reverse(rows)
		more, others = others, more
		first = s.matched - s.skipped - uint64(len(rows)) + 1
	}
	p := part[T]{first: first, rows: make([]T, len(rows))}
	for i := range rows {
		p.rows[i] = rows[i].v
	}
	if len(rows) == 0 {
		return p
	}
	if more {
		p.next = rows[len(rows)-1].key.String()
	}
	if others {
		p.prev = rows[0].key.String()
	}
	return p
}
