package introspect

import (
	"context"
	"slices"
)

// stalls returns the remembered stalls, the latest first.
func (h *handler) stalls() []stallJSON {
	list := []stallJSON{}
	for _, s := range h.src.stalls() {
		list = append(list, stallJSON{
			Processor: s.Processor, Began: s.Began, LengthNs: int64(s.Length), Over: s.Over,
			Coroutine: s.Coroutine, Name: cut(s.Name, maxText), Site: cut(s.Site, maxText),
			Cause: s.Cause, Detail: cut(s.Detail, maxText), Stack: cut(s.Stack, maxStack),
		})
	}
	slices.Reverse(list)
	return list
}

// listStalls is the page "stalls".
func (h *handler) listStalls(_ context.Context, q *query) (*stallsJSON, error) {
	processor, cause := q.processor(), q.text("cause")
	if q.err != nil {
		return nil, q.err
	}
	list := &stallsJSON{Stalls: []stallJSON{}, Handoffs: []handoffJSON{}}
	for _, s := range h.stalls() {
		if (processor < 0 || s.Processor == processor) && (cause == "" || s.Cause == cause) {
			list.Stalls = append(list.Stalls, s)
		}
	}
	for _, one := range h.handoffs() {
		if cause == "" || one.Cause == cause {
			list.Handoffs = append(list.Handoffs, one)
		}
	}
	return list, nil
}

// handoffs returns the places at which coroutines were left behind, the most
// frequent first.
func (h *handler) handoffs() []handoffJSON {
	list := []handoffJSON{}
	for _, one := range h.src.handoffs() {
		list = append(list, handoffJSON{
			Cause: one.Cause, BlockedAt: cut(one.BlockedAt, maxText), Count: one.Count,
			Detail: cut(one.Detail, maxText), Coroutine: one.Coroutine,
			Name: cut(one.Name, maxText),
		})
	}
	return list
}
