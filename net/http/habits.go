package http

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
)

// A handler that blocks outside of netco, in database/sql or a Go channel, is
// left behind by its Processor. That takes some 60 µs of CPU time, and the
// Processor's other coroutines wait for up to some milliseconds. On an ordinary
// goroutine the handler costs the same as with net/http. So a Server learns
// which patterns of its ServeMux block often, or whether a handler of another
// kind does, and calls those handlers on goroutines.

// habits is what a Server has learned about its handlers.
type habits struct {
	any      atomic.Bool // patterns is not empty
	patterns sync.Map    // string → *habit
}

// habit tracks how often the handler of a pattern blocks.
type habit struct {
	score atomic.Int32  // rises by a call that blocked, falls by any other
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
	s := w.c.s
	var h *habit
	if s.habits.any.Load() {
		v, _ := s.habits.patterns.Load(s.pattern(&w.req))
		h, _ = v.(*habit)
	}
	if h != nil && h.blocks() {
		w.aside.Store(true)
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
	if h != nil && !w.c.hijacked.Load() {
		h.note(left)
	}
	return true
}

// blocks reports whether the next call is to run on a goroutine.
func (h *habit) blocks() bool {
	if h.score.Load() < blocksScore {
		return false
	}
	n := h.calls.Add(1)
	return n < firstProbe || n&(n-1) != 0 && n%probeEvery != 0
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
