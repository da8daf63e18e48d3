package introspect

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of one page.
const (
	defaultRows = 100
	maxRows     = 1000
	maxRefresh  = 3600 // seconds
)

// query has the parameters of a request. Its methods that read a parameter keep
// the first error.
type query struct {
	page   string
	values url.Values
	json   bool
	err    error
}

// badQuery is the client's error.
type badQuery struct{ error }

// parse reads a request's path and query. The prefix that the handler is
// mounted at may be stripped or not: the last element of the path names the
// page.
func parse(r *http.Request) *query {
	q := &query{values: r.URL.Query()}
	q.page = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if name, ok := strings.CutSuffix(q.page, ".json"); ok {
		q.page, q.json = name, true
	}
	switch f := q.values.Get("format"); f {
	case "json":
		q.json = true
	case "", "html":
	default:
		q.fail("format is %q, want html or json", f)
	}
	if q.page == "" {
		q.page = "overview"
	}
	for key, list := range q.values { // forms also send empty fields
		if len(list) == 0 || list[0] == "" {
			q.values.Del(key)
		}
	}
	q.values.Del("format")
	return q
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = badQuery{fmt.Errorf(format, args...)}
	}
}

// text returns a parameter, or "".
func (q *query) text(name string) string { return q.values.Get(name) }

// number returns a parameter between low and high, or otherwise if there is
// none.
func (q *query) number(name string, low, high, otherwise uint64) uint64 {
	s := q.text(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n < low || n > high {
		q.fail("%s is %q, want a number from %d to %d", name, cut(s, 40), low, high)
		return otherwise
	}
	return n
}

// processor returns the parameter of that name, or -1 for all.
func (q *query) processor() int {
	if q.text("processor") == "" {
		return -1
	}
	return int(q.number("processor", 0, 1<<20, 0))
}

// duration returns a parameter such as "10s", or 0.
func (q *query) duration(name string) time.Duration {
	s := q.text(name)
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		q.fail("%s is %q, want a duration such as 500ms, 10s or 2h", name, cut(s, 40))
		return 0
	}
	return d
}

// oneOf returns a parameter that must be among some words, or the first of them
// if there is none.
func (q *query) oneOf(name string, words ...string) string {
	s := q.text(name)
	if s == "" {
		return words[0]
	}
	for _, w := range words {
		if s == w {
			return s
		}
	}
	q.fail("%s is %q, want one of: %s", name, cut(s, 40), strings.Join(words, " "))
	return words[0]
}

// order returns the column to sort by and whether its largest comes first: a
// minus in front says so.
func (q *query) order(columns ...string) (column string, down bool) {
	words := columns
	for _, c := range columns {
		words = append(words, "-"+c)
	}
	return strings.CutPrefix(q.oneOf("sort", words...), "-")
}

// selected returns the selection for the requested page.
func selected[T any](q *query, down bool) *selection[T] {
	s := &selection[T]{size: int(q.number("rows", 1, maxRows, defaultRows)), down: down}
	from := q.text("after")
	if before := q.text("before"); before != "" {
		from, s.back = before, true
	}
	if from != "" {
		k, err := parseKey(from)
		if err != nil {
			q.fail("%v", err)
		}
		s.from = &k
	}
	return s
}

// refresh returns after how many seconds the page is to be loaded again, or 0.
func (q *query) refresh() uint64 { return q.number("refresh", 1, maxRefresh, 0) }

// link returns a relative link to a page with the present parameters, some of
// them changed: name, value, name, value; "" removes a parameter. The place in
// the list is dropped: the link's list is a different one.
func (q *query) link(page string, changes ...string) string {
	v := url.Values{}
	for name, list := range q.values {
		if name != "after" && name != "before" {
			v[name] = list
		}
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if v.Del(changes[i]); changes[i+1] != "" {
			v.Set(changes[i], changes[i+1])
		}
	}
	return plain(page, v)
}

// plain returns a relative link.
func plain(page string, v url.Values) string {
	if page == "overview" {
		page = "./"
	}
	if len(v) == 0 {
		return page
	}
	return page + "?" + v.Encode()
}
