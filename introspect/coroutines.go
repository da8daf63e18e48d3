package introspect

import (
	"context"
	"slices"
	"strings"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// coroutineFilter selects the coroutines of a page. The zero value of each
// field selects all.
type coroutineFilter struct {
	name, site string // contained
	state      coroutine.State
	reason     coroutine.Reason
	processor  int   // -1: all
	since      int64 // CLOCK_MONOTONIC, ns: in their state since then at least; 0: all
}

var (
	stateNames = []string{"", coroutine.Ready.String(), coroutine.Running.String(),
		coroutine.Waiting.String(), coroutine.Outside.String()}
	reasonNames = reasons()
)

// reasons lists the reasons of waits, by Reason.
func reasons() (names []string) {
	for r := coroutine.ReasonNone; r < coroutine.Reasons; r++ {
		names = append(names, r.String())
	}
	return names
}

func (h *handler) coroutineFilter(q *query, now int64) coroutineFilter {
	f := coroutineFilter{name: q.text("name"), site: q.text("site"), processor: q.processor()}
	f.state = coroutine.State(slices.Index(stateNames, q.oneOf("state", stateNames...)))
	f.reason = coroutine.Reason(slices.Index(reasonNames, q.oneOf("reason", reasonNames...)))
	if age := q.duration("age"); age > 0 {
		f.since = now - int64(age)
	}
	return f
}

// lets reports whether the filter selects c. The cheap comparisons come first.
func (f *coroutineFilter) lets(h *handler, c *seen) bool {
	return (f.state == 0 || c.State == f.state) &&
		(f.reason == 0 || c.State == coroutine.Waiting && c.Reason == f.reason) &&
		(f.processor < 0 || c.processor == f.processor) &&
		(f.since == 0 || c.Since <= f.since && c.Since != 0) &&
		(f.name == "" || strings.Contains(c.Name, f.name)) &&
		(f.site == "" || h.siteHas(c, f.site))
}

func (h *handler) siteHas(c *seen, part string) bool {
	at := h.sites.of(c)
	return strings.Contains(at.short, part) || strings.Contains(at.fn, part)
}

// coroutineColumns are the columns by which coroutines can be sorted.
var coroutineColumns = []string{"id", "name", "state", "reason", "age", "site", "processor"}

// coroutineKey returns the key by which c is sorted. An age is turned round, so
// that the key stays the same while time passes.
func (h *handler) coroutineKey(column string, c *seen) key {
	k := key{id: c.ID}
	switch column {
	case "name":
		k.text = textKey(c.Name)
	case "state":
		k.n = uint64(c.State)
	case "reason":
		if c.State == coroutine.Waiting {
			k.text = c.Reason.String()
		}
	case "age":
		// In the order of signed numbers: a test's may be from before the
		// machine's start.
		k.n = ^(uint64(c.Since) ^ 1<<63)
	case "site":
		k.text = h.sites.of(c).short
	case "processor":
		k.n = uint64(c.processor)
	}
	return k
}

// describe returns a coroutine as pages show it.
func (h *handler) describe(c *seen, now int64) coroutineJSON {
	at := h.sites.of(c)
	d := coroutineJSON{
		ID: c.ID, Name: cut(c.Name, maxText), State: c.State.String(), WaitsFor: cut(c.WaitsFor,
			maxText),
		SinceNs: ago(now, c.Since), Processor: c.processor, Func: at.fn, File: at.file,
		Line: at.line,
	}
	if c.State == coroutine.Waiting {
		d.Reason = c.Reason.String()
		d.HeldBy = c.Held().By
	}
	return d
}

// ago returns how long before now a moment was, or -1 if it is not known.
func ago(now, then int64) int64 {
	if then == 0 {
		return -1
	}
	return max(now-then, 0)
}

// listCoroutines is the page "coroutines".
func (h *handler) listCoroutines(ctx context.Context, q *query) (*coroutinesJSON, error) {
	now := clock.Now()
	filter := h.coroutineFilter(q, now)
	column, down := q.order(coroutineColumns...)
	rows := selected[seen](q, down)
	if q.err != nil {
		return nil, q.err
	}
	all := uint64(0)
	cut, err := h.coroutines.walk(ctx, func(c *seen) {
		all++
		if !filter.lets(h, c) {
			return
		}
		if k := h.coroutineKey(column, c); rows.wants(k) {
			rows.add(k, *c)
		}
	})
	if err != nil {
		return nil, err
	}
	page := rows.page()
	list := &coroutinesJSON{listJSON: page.list(all, rows.matched, cut),
		Coroutines: make([]coroutineJSON, len(page.rows))}
	now = clock.Now()
	for i := range page.rows {
		list.Coroutines[i] = h.describe(&page.rows[i], now)
	}
	return list, nil
}

func (p *part[T]) list(seen, matched uint64, cut bool) listJSON {
	return listJSON{Seen: seen, Matched: matched, First: p.first, Next: p.next, Prev: p.prev,
		Partial: cut}
}
