package http

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
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
	calls atomic.Uint32 // on goroutines, and probes
}

// The score rises while one call in some nine blocks. A few calls of a handler
// on goroutines are probes, made on the coroutine: a handler that waits in
// netco does not block there. At 8,000 calls a second some 60 other requests
// wait for a probe for up to 8 ms.
const (
	blockedScore = 8
	blocksScore  = 32
	maxScore     = 64
	firstProbe   = 1 << 10
	probeEvery   = 1 << 16
)

// quickNs is the longest call on a goroutine that counts as one that did not
// block.
const quickNs = 20_000

// shortNs is how long a handler known to block may run without a wait in netco.
// A longer call counts as blocked: it holds up its Processor, which leaves it
// behind only after up to 8 ms.
const shortNs = 200_000

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
		call := func() {
			began := clock.Now()
			s.handler().ServeHTTP(w, &w.req)
			h.note(clock.Now()-began > quickNs, false)
		}
		return goroutines.Do(context.Background(), call) == nil
	}
	mark, began, probe := coroutine.MarkLeft(), int64(0), false
	if h != nil {
		began, probe = clock.Now(), h.score.Load() >= blocksScore
	}
	s.handler().ServeHTTP(w, &w.req)
	left := mark.Left()
	switch {
	case w.c.hijacked.Load():
	case left && h == nil:
		s.habits.any.Store(true)
		v, _ := s.habits.patterns.LoadOrStore(s.pattern(&w.req), new(habit))
		v.(*habit).note(left, false)
	case h != nil:
		h.note(left || !mark.Suspended() && clock.Now()-began > shortNs, probe)
	}
	return true
}

// blocks reports whether the next call is to run on a goroutine.
func (h *habit) blocks() bool {
	if h.score.Load() < blocksScore {
		return false
	}
	n := h.calls.Add(1)
	return n != firstProbe && n%probeEvery != 0
}

// note learns from a call. A probe stands for many. Another call on the
// coroutine may have begun before the handler was known to block.
func (h *habit) note(blocked, probe bool) {
	switch score := h.score.Load(); {
	case blocked && score < maxScore:
		h.score.Add(blockedScore)
	case !blocked && probe:
		h.score.Store(0)
	case !blocked && score > 0:
		h.score.Add(-1)
	}
}
