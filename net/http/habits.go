package http

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// habits is what a Server has learned about its handlers: which patterns of its
// ServeMux block often, or whether a handler of another kind does. It calls
// those on goroutines, at net/http's cost: to leave a coroutine behind costs 12
// to 16 µs of CPU time (blocking.BenchmarkWait).
type habits struct {
	any      atomic.Bool // patterns is not empty
	patterns sync.Map    // string → *habit
}

// habit tracks how often the handler of a pattern blocks.
type habit struct {
	score atomic.Int32  // rises by a call that blocked, falls by any other
	owed  atomic.Bool   // a probe fell to a goroutine
	calls atomic.Uint32 // on goroutines, and probes, since a probe that did not block
}

// The score rises while one call in some nine blocks. A few calls of a handler
// on goroutines are probes, made on the coroutine with a standby, to see if the
// handler still blocks: calls whose number is a power of two from firstProbe on
// or a multiple of probeEvery. Load may have been heavy for a moment only.
const (
	blockedScore = 8
	blocksScore  = 32
	maxScore     = 64
	firstProbe   = 1 << 9
	probeEvery   = 1 << 16
)

// pattern returns the key under which a request's handler is tracked.
func (s *Server) pattern(r *Request) string {
	mux, ok := s.handler().(*ServeMux)
	switch {
	case !ok:
		return ""
	case r.Pattern != "":
		return r.Pattern // it was called
	}
	_, pattern := mux.Handler(r)
	return pattern
}

// call calls the handler, here or on a goroutine. It returns false if a forced
// end of the Scheduler abandoned the goroutine, whose handler still uses the
// response.
func (w *response) call() bool {
	c, s := w.c, w.c.s
	var h *habit
	var blocks, onGoroutine bool
	if s.habits.any.Load() {
		v, _ := s.habits.patterns.Load(s.pattern(&w.req))
		h, _ = v.(*habit)
		onGoroutine = coroutine.Current() == nil
		blocks = h != nil && h.blocks(onGoroutine)
		c.noteAside(blocks)
		w.aside.Store(blocks || onGoroutine)
	}
	switch {
	case onGoroutine:
		s.handler().ServeHTTP(w, &w.req)
		return true
	case blocks:
		if w.bodyRead { // most blocking handlers want the read, and here it costs less
			(*requestContext)(w).Done()
		}
		call := func() { s.handler().ServeHTTP(w, &w.req) }
		return goroutines.Do(context.Background(), call) == nil
	}
	if h != nil && h.score.Load() >= blocksScore {
		coroutine.ExpectBlock()
	}
	mark := coroutine.MarkLeft()
	s.handler().ServeHTTP(w, &w.req)
	left := mark.Left()
	if left && h == nil {
		s.habits.any.Store(true)
		v, _ := s.habits.patterns.LoadOrStore(s.pattern(&w.req), new(habit))
		h = v.(*habit)
	}
	if h != nil && !c.hijacked.Load() {
		h.note(left)
	}
	return true
}

func (c *conn) noteAside(blocks bool) {
	var now int64
	if blocks {
		now = clock.Now()
	}
	c.stays = blocks && c.asideAt != 0 && now-c.asideAt < int64(c.s.stayLimit)
	c.asideAt = now
}

// blocks reports whether the next call is to run on a goroutine. If the caller
// is one, a probe is left to a later call.
func (h *habit) blocks(onGoroutine bool) bool {
	if h.score.Load() < blocksScore {
		return false
	}
	n := h.calls.Add(1)
	probe := n >= firstProbe && (n&(n-1) == 0 || n%probeEvery == 0)
	if onGoroutine {
		if probe {
			h.owed.Store(true)
		}
		return !probe
	}
	return !probe && !(h.owed.Load() && h.owed.Swap(false))
}

// note learns from a call made on the coroutine.
func (h *habit) note(blocked bool) {
	switch score := h.score.Load(); {
	case blocked && score < maxScore:
		h.score.Add(blockedScore)
	case !blocked && score >= blocksScore:
		h.score.Add(-blockedScore) // a probe, which stands for many
		h.calls.Store(0)
	case !blocked && score > 0:
		h.score.Add(-1)
	}
}
