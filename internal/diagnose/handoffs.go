package diagnose

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/stacks"
)

// Handoff is scheduler.Handoff, which documents the fields. As JSON it is a row
// of a live page.
type Handoff struct {
	Cause     string `json:"cause"`
	BlockedAt string `json:"blocked_at"`
	Count     uint64 `json:"count"`
	Detail    string `json:"detail"`
	Coroutine uint64 `json:"coroutine"`
	Name      string `json:"name"`
}

// BlockedElsewhere stands for all places but the first 64.
const BlockedElsewhere = "elsewhere"

const maxHandoffs = 64

// handoffs counts by cause and place. Its mutex is held for some 30 µs at most,
// by monitors and by callers of Handoffs.
type handoffs struct {
	mu   sync.Mutex
	list map[handoffKey]*Handoff
	// Causes and places by stack: to resolve a stack takes longer than a
	// handoff.
	known map[coroutine.Stack]Handoff
}

// maxKnown bounds known, some 40 KiB.
const maxKnown = 64

type handoffKey struct{ cause, blockedAt string }

// NoteHandoff counts a handoff and reports the first of its kind. On a
// goroutine of its own.
func (o *Observer) NoteHandoff(left *coroutine.LeftBehind) {
	one, first := o.handoffs.add(left)
	if o.reporting() && one.Count <= maxReportable {
		reportLasting(left, left.Stack, reportHandoff(one, left.Stack.Frames()), lookAgainAfter)
	}
	if o.cfg.Logs && first {
		o.cfg.Logger.Warn("processor handed on", zap.Uint64("coroutine", one.Coroutine),
			zap.String("name", one.Name), zap.String("cause", one.Cause),
			zap.String("detail", one.Detail), zap.String("blocked_at", one.BlockedAt),
			zap.String("instead", advice(one.Cause, left.Stack.Frames())))
	}
}

// add counts a handoff, and reports whether it is the first of its cause and
// place.
func (h *handoffs) add(left *coroutine.LeftBehind) (one Handoff, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one, ok := h.known[left.Stack]
	if !ok {
		one.Cause, one.Detail, one.BlockedAt = causeOfHandoff(left.Stack.Frames())
		if h.known == nil || len(h.known) >= maxKnown {
			h.known = map[coroutine.Stack]Handoff{}
		}
		h.known[left.Stack] = one
	}
	one.Coroutine, one.Name = left.ID, left.Name
	one.Count = h.countLocked(one)
	return one, one.Count == 1
}

// countLocked counts last, and returns the number of handoffs with its cause
// and place.
func (h *handoffs) countLocked(last Handoff) uint64 {
	if h.list == nil {
		h.list = map[handoffKey]*Handoff{}
	}
	key := handoffKey{last.Cause, last.BlockedAt}
	if h.list[key] == nil && len(h.list) >= maxHandoffs {
		key.blockedAt = BlockedElsewhere
	}
	last.BlockedAt, last.Count = key.blockedAt, 1
	if before := h.list[key]; before != nil {
		last.Count += before.Count
	}
	h.list[key] = &last
	return last.Count
}

// causeOfHandoff returns the cause that blocked a coroutine and the place, from
// the coroutine's calls.
func causeOfHandoff(frames []runtime.Frame) (cause, detail, at string) {
	var s stacks.Stack
	for _, f := range frames {
		s.Funcs = append(s.Funcs, f.Function)
	}
	cause, detail = fromStack(s)
	if cause == "" || cause == CauseComputation {
		cause = CauseUnknown
	}
	f := stacks.BlockedAt(frames)
	return cause, detail, site(f.File, f.Line, f.Function)
}

// Handoffs is Scheduler.Handoffs.
func (o *Observer) Handoffs() []Handoff {
	h := &o.handoffs
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]Handoff, 0, len(h.list))
	for _, one := range h.list {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Handoff) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause),
			cmp.Compare(a.BlockedAt, b.BlockedAt))
	})
	return all
}
