package introspect

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// groupKeys are the keys by which coroutines can be grouped.
var groupKeys = []string{"", "name", "site", "state", "reason", "processor"}

// Bounds of a grouping. If there are more groups than maxGroups, as with a name
// for each coroutine, the large ones are kept and counted too low by no more
// than groupsJSON.Missing: Misra and Gries, Finding repeated elements, 1982.
const (
	maxGroups   = 8192
	shownGroups = 1000
)

// tally counts coroutines by a key.
type tally struct {
	groups  map[string]*group
	missing uint64
}

type group struct {
	count   uint64 // too low by missing at most
	states  [coroutine.States]uint64
	reasons [coroutine.Reasons]uint64
	oldest  int64 // the least Since
}

// add counts c under k.
func (t *tally) add(k string, c *seen) {
	g := t.groups[k]
	if g == nil {
		if len(t.groups) >= maxGroups {
			t.decay()
			return
		}
		g = &group{oldest: c.Since}
		t.groups[k] = g
	}
	g.count++
	g.states[c.State]++
	if c.State == coroutine.Waiting && int(c.Reason) < len(g.reasons) {
		g.reasons[c.Reason]++
	}
	g.oldest = min(g.oldest, c.Since)
}

// decay takes one from every group and drops groups that are then empty. The
// coroutine that just came is of yet another group, and is not counted. So a
// decay leaves out one coroutine more than there are groups, all of different
// groups; and no group loses more than the count of all divided by the number
// of groups.
func (t *tally) decay() {
	t.missing++
	maps.DeleteFunc(t.groups, func(_ string, g *group) bool {
		g.count--
		return g.count == 0
	})
}

// groupKey returns the group that c belongs to.
func (h *handler) groupKey(by string, c *seen) string {
	switch by {
	case "name":
		return cut(c.Name, maxText)
	case "site":
		return h.sites.of(c).short
	case "state":
		return c.State.String()
	case "reason":
		if c.State != coroutine.Waiting {
			return ""
		}
		return c.Reason.String()
	}
	return strconv.Itoa(c.processor)
}

// groupCoroutines is the page "coroutines" with the parameter group.
func (h *handler) groupCoroutines(ctx context.Context, q *query) (*groupsJSON, error) {
	by := q.oneOf("group", groupKeys...)
	filter := h.coroutineFilter(q, clock.Now())
	if q.err != nil {
		return nil, q.err
	}
	t := tally{groups: map[string]*group{}}
	r := &groupsJSON{By: by}
	var err error
	r.Partial, err = h.coroutines.walk(ctx, func(c *seen) {
		if r.Seen++; filter.lets(h, c) {
			r.Matched++
			t.add(h.groupKey(by, c), c)
		}
	})
	if err != nil {
		return nil, err
	}
	r.Missing = t.missing
	r.Groups = t.largest(clock.Now())
	return r, nil
}

// largest returns the groups, the largest first; groups of one size are sorted
// by key.
func (t *tally) largest(now int64) []groupJSON {
	names := slices.Collect(maps.Keys(t.groups))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(t.groups[b].count, t.groups[a].count), cmp.Compare(a, b))
	})
	names = names[:min(len(names), shownGroups)]
	list := make([]groupJSON, len(names))
	for i, name := range names {
		g := t.groups[name]
		list[i] = groupJSON{
			Key: name, Count: g.count, Ready: g.states[coroutine.Ready],
			Running: g.states[coroutine.Running],
			Waiting: g.states[coroutine.Waiting], Outside: g.states[coroutine.Outside],
			Reasons: map[string]uint64{}, OldestNs: max(now-g.oldest, 0),
		}
		for reason, n := range g.reasons {
			if n > 0 {
				list[i].Reasons[coroutine.Reason(reason).String()] = n
			}
		}
	}
	return list
}

// waitsFor lists the reasons of the group's waits, the most frequent first.
func waitsFor(g groupJSON) string {
	var words []string
	for i, p := range pairs(g.Reasons) {
		if i == 5 {
			words = append(words, "…")
			break
		}
		words = append(words, p.Name+" "+count(p.N))
	}
	return strings.Join(words, ", ")
}
