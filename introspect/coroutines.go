package introspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// coroutineFilter returns a function that reports whether the parameters select
// a coroutine. The cheap comparisons come first.
func (h *handler) coroutineFilter(q *query) func(*seen) bool {
	name, site, processor := q.Get("name"), q.Get("site"), q.processor()
	state, reason := q.oneOf("state"), q.oneOf("reason")
	since := int64(math.MaxInt64) // the coroutine has been in its state since then or longer
	if age := q.duration("age"); age > 0 {
		since = clock.Now() - int64(age)
	}
	return func(c *seen) bool {
		return (state == "" || c.State.String() == state) &&
			(reason == "" || c.reason() == reason) &&
			(processor < 0 || c.processor == processor) &&
			(since == math.MaxInt64 || c.Since <= since && c.Since != 0) &&
			(name == "" || strings.Contains(c.Name, name)) &&
			(site == "" || strings.Contains(h.site(c).short, site) ||
				strings.Contains(h.site(c).fn, site))
	}
}

// text returns what a column shows of c.
func (h *handler) text(column string, c *seen) string {
	switch column {
	case "name":
		return cut(c.Name, maxText)
	case "site":
		return h.site(c).short
	case "state":
		return c.State.String()
	case "reason":
		return c.reason()
	case "processor":
		return strconv.Itoa(c.processor)
	}
	return ""
}

// coroutineKey returns the key by which c is sorted. The key of an age is the
// inverted start time, which stays the same while time passes.
func (h *handler) coroutineKey(column string, c *seen) key {
	switch column {
	case "age": // in the order of signed numbers: a test's Since may be below 0
		return key{n: ^(uint64(c.Since) ^ 1<<63), id: c.ID}
	case "processor":
		return key{n: uint64(c.processor), id: c.ID}
	}
	return key{text: textKey(h.text(column, c)), id: c.ID}
}

// describe returns coroutines as pages show them.
func (h *handler) describe(rows ...seen) []coroutineJSON {
	list, now := make([]coroutineJSON, len(rows)), clock.Now()
	for i := range rows {
		c, d := &rows[i], &list[i]
		at := h.site(c)
		*d = coroutineJSON{
			ID: c.ID, Name: cut(c.Name, maxText), State: c.State.String(), Reason: c.reason(),
			WaitsFor: cut(c.WaitsFor, maxText), SinceNs: -1, Processor: c.processor,
			Func: at.fn, File: at.file, Line: at.line,
		}
		if c.State == coroutine.Waiting {
			d.HeldBy = c.Held().By
		}
		if c.Since != 0 {
			d.SinceNs = max(now-c.Since, 0)
		}
	}
	return list
}

// listCoroutines is the page "coroutines".
func (h *handler) listCoroutines(ctx context.Context, q *query) (any, error) {
	if q.Get("group") != "" {
		return h.groupCoroutines(ctx, q)
	}
	rows, l, err := list(ctx, q, h.coroutines, h.coroutineFilter(q), h.coroutineKey)
	if err != nil {
		return nil, err
	}
	return &coroutinesJSON{l, h.describe(rows...)}, nil
}

// stackTimeout bounds the wait for a running coroutine to stop.
const stackTimeout = time.Second

// coroutine is the page "coroutine".
func (h *handler) coroutine(ctx context.Context, q *query) (any, error) {
	id, withStack := q.id(), q.oneOf("stack") == "1"
	if q.err != nil {
		return nil, q.err
	}
	c, err := h.find(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &h.describe(*c)[0]
	if withStack {
		ctx, cancel := context.WithTimeout(ctx, stackTimeout)
		defer cancel()
		stack, err := h.src.stack(ctx, c)
		d.Stack = cut(stack, maxStack)
		switch {
		case errors.Is(err, coroutine.ErrBusy):
			d.StackError = "busy: it has kept running for " + span(int64(stackTimeout)) +
				", see stalls"
		case err != nil:
			d.StackError = err.Error()
		}
	}
	return d, nil
}

// find returns a copy of the coroutine with that id, by a walk over all.
func (h *handler) find(ctx context.Context, id uint64) (*seen, error) {
	var found *seen
	_, err := h.coroutines.walk(ctx, func(c *seen) {
		if c.ID == id {
			copied := *c
			found = &copied
		}
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, errNoCoroutine
	}
	return found, nil
}

// site is a place that starts coroutines. short is made of the other fields.
type site struct {
	fn, file, short string
	line            int
}

// site returns the place that started a coroutine. Places are few and resolving
// a place is costly, so h.sites keeps them by program counter.
func (h *handler) site(i *seen) site {
	if i.File == "" {
		if at, ok := h.sites.Load(i.Site); ok {
			return at.(site)
		}
		i.Resolve()
	}
	fn, file := cut(i.Func, maxText), cut(i.File, maxText)
	at := site{fn, file, shortPlace(fn, file, i.Line), i.Line}
	if i.Site != 0 {
		h.sites.Store(i.Site, at)
	}
	return at
}

// shortPlace returns the short form of a place: the file's name with its
// folder, and the line; the function if the file is unknown; "" if nothing is
// known.
func shortPlace(fn, file string, line int) string {
	switch {
	case file == "" && fn == "":
		return ""
	case file == "":
		return path.Base(fn)
	}
	return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(file)), path.Base(file)), line)
}

// Bounds of a grouping. If there are more groups than maxGroups, as with a name
// for each coroutine, the first maxGroups are kept, which probably include the
// large groups, and groupsJSON.Missing counts the coroutines of the other
// groups.
const (
	maxGroups   = 8192
	shownGroups = 1000
)

// add counts c.
func (s *statesJSON) add(c *seen) {
	switch c.State {
	case coroutine.Ready:
		s.Ready++
	case coroutine.Running:
		s.Running++
	case coroutine.Outside:
		s.Outside++
	case coroutine.Waiting:
		s.Waiting++
		s.Reasons[c.reason()]++
	}
}

// tally counts coroutines by a key. In its groups OldestNs is the least Since.
// missing counts the coroutines in no group.
type tally struct {
	groups  map[string]*groupJSON
	missing uint64
}

// add counts c under k.
func (t *tally) add(k string, c *seen) {
	g := t.groups[k]
	if g == nil {
		if len(t.groups) >= maxGroups {
			t.missing++
			return
		}
		g = &groupJSON{k, 0, statesJSON{Reasons: map[string]uint64{}}, c.Since}
		t.groups[k] = g
	}
	g.Count++
	g.statesJSON.add(c)
	g.OldestNs = min(g.OldestNs, c.Since)
}

// groupCoroutines is the page "coroutines" with the parameter group.
func (h *handler) groupCoroutines(ctx context.Context, q *query) (any, error) {
	by, lets := q.oneOf("group"), h.coroutineFilter(q)
	if q.err != nil {
		return nil, q.err
	}
	t := tally{groups: map[string]*groupJSON{}}
	r := &groupsJSON{By: by}
	var err error
	r.Partial, err = h.coroutines.walk(ctx, func(c *seen) {
		if r.Seen++; lets(c) {
			r.Matched++
			t.add(h.text(by, c), c)
		}
	})
	if err != nil {
		return nil, err
	}
	q.template = "groups"
	r.Missing, r.Groups = t.missing, t.largest(clock.Now())
	return r, nil
}

// largest returns the groups, the largest first; groups of one size are sorted
// by key.
func (t *tally) largest(now int64) []groupJSON {
	list := make([]groupJSON, 0, len(t.groups))
	for _, g := range t.groups {
		g.OldestNs = max(now-g.OldestNs, 0)
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b groupJSON) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(len(list), shownGroups)]
}
