package introspect

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/coroutine"
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
	Page     string
	template string // of the page, as in pages
	values   url.Values
	json     bool
	err      error

	// For the templates; set by render.
	Code int
	Data any
	Opt  *Options
	Now  time.Time
}

// choices are the values of parameters that have a few. The first is the
// default.
var choices = map[string][]string{
	"format": {"html", "json"},
	"stack":  {"0", "1"},
	"state": {"", coroutine.Ready.String(), coroutine.Running.String(),
		coroutine.Waiting.String(), coroutine.Outside.String()},
	"reason": func() (names []string) {
		for r := coroutine.ReasonNone; r < coroutine.Reasons; r++ {
			names = append(names, r.String())
		}
		return slices.Sorted(slices.Values(names))
	}(),
	"group": {"", "name", "site", "state", "reason", "processor"},
	"kind":  {"", "listener", "connection", "idle"},
	"waits": {"", "any", "read", "write", "none"},
}

// columns are the columns by which each list can be sorted.
var columns = map[string][]column{
	"coroutines": {{"id", "Id", "num"}, {"name", "Name", ""}, {"state", "State", ""},
		{"reason", "Waits for", ""}, {"age", "Since", "num"}, {"site", "Made at", ""},
		{"processor", "Processor", "num"}},
	"sockets": {{"fd", "Fd", "num"}, {"kind", "Kind", ""}, {"network", "Network", ""},
		{"local", "Local", ""}, {"remote", "Remote", ""}, {"processor", "Processor", "num"},
		{"read", "Reader", "num"}, {"write", "Writer", "num"}},
}

type column struct{ Name, Label, Class string }

// parse reads a request's path and query. The prefix that the handler is
// mounted at may be stripped or not: the last element of the path names the
// page.
func parse(r *http.Request) *query {
	q := &query{values: r.URL.Query()}
	q.Page = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	q.Page, q.json = strings.CutSuffix(q.Page, ".json")
	for key, list := range q.values { // forms also send empty fields
		if len(list) == 0 || list[0] == "" {
			q.values.Del(key)
		}
	}
	q.json = q.oneOf("format") == "json" || q.json
	q.values.Del("format")
	q.Page = cmp.Or(q.Page, "overview")
	q.template = q.Page
	return q
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = failure{400, fmt.Errorf(format, args...)}
	}
}

// Get returns a parameter, or "".
func (q *query) Get(name string) string { return q.values.Get(name) }

// number returns a parameter between low and high, or otherwise if the
// parameter is missing.
func (q *query) number(name string, low, high, otherwise uint64) uint64 {
	s := q.Get(name)
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

// id returns the parameter id, which is required.
func (q *query) id() uint64 {
	id := q.number("id", 1, 1<<64-1, 0)
	if id == 0 {
		q.fail("id is missing")
	}
	return id
}

// processor returns the parameter of that name, or -1 for all.
func (q *query) processor() int {
	return int(q.number("processor", 0, 1<<20, 1<<64-1))
}

// duration returns a parameter such as "10s", or 0.
func (q *query) duration(name string) time.Duration {
	s := cmp.Or(q.Get(name), "0s")
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		q.fail("%s is %q, want a duration such as 500ms, 10s or 2h", name, cut(s, 40))
	}
	return d
}

// oneOf returns a parameter whose value must be one of choices.
func (q *query) oneOf(name string) string { return q.among(name, choices[name]) }

func (q *query) among(name string, words []string) string {
	s := cmp.Or(q.Get(name), words[0])
	if !slices.Contains(words, s) {
		q.fail("%s is %q, want one of: %s", name, cut(s, 40), strings.Join(words, " "))
		return words[0]
	}
	return s
}

// Refresh returns the seconds after which a browser loads the page again, or 0.
func (q *query) Refresh() uint64 {
	seconds := q.number("refresh", 1, maxRefresh, 0)
	if q.err != nil {
		return 0
	}
	return seconds
}

// Link returns a relative link to the page with other parameters: name, value,
// name, value; "" removes one. The link leads to the list's beginning.
func (q *query) Link(changes ...string) string {
	v := maps.Clone(q.values)
	v.Del("after")
	v.Del("before")
	for i := 0; i+1 < len(changes); i += 2 {
		if v.Del(changes[i]); changes[i+1] != "" {
			v.Set(changes[i], changes[i+1])
		}
	}
	page := strings.Replace(q.Page, "overview", "./", 1)
	return strings.TrimSuffix(page+"?"+v.Encode(), "?")
}

// Columns returns the columns of the page's list.
func (q *query) Columns() []column { return columns[q.Page] }

// Choice returns the values that a parameter can have, and its current value.
func (q *query) Choice(name string) any {
	return map[string]any{"Now": q.Get(name), "Words": choices[name]}
}
