package http

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

// A handler that blocks outside of netco, in database/sql or a Go channel, is
// left behind by its Processor: some 60 µs of CPU time, and up to some
// milliseconds in which the Processor's other coroutines wait. Called on an
// ordinary goroutine it costs what it costs with net/http. So a Server learns
// which patterns of its ServeMux block often, or whether a handler of another
// kind does, and calls those on goroutines.

// habits are what a Server has learned of its handlers.
type habits struct {
	any      atomic.Bool // patterns has one
	patterns sync.Map    // string → *habit
}

// habit is how often the handler of a pattern blocks.
type habit struct {
	score atomic.Int32  // up where it has blocked, down where it has not
	calls atomic.Uint32 // on goroutines, and probes, since the last that has not blocked
}

// The score rises while one call in some nine blocks. Of the calls of a handler
// on goroutines a few are a coroutine's, to see whether it still blocks: those
// whose number is a power of two from firstProbe on, or a multiple of
// probeEvery. At 8,000 calls a second some 60 others wait for such a call for
// up to 8 ms. One in 1024 would show at p99.
const (
	blockedScore = 8
	blocksScore  = 32
	maxScore     = 64
	firstProbe   = 1 << 10
	probeEvery   = 1 << 16
)

// shortNs is how long a handler that has been seen blocking may go on without a
// wait in netco. One that takes longer holds up its Processor, though it may
// not be left behind: that happens after up to 8 ms.
const shortNs = 200_000

// pattern returns what separates handlers.
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

// call calls the handler, here or on a goroutine. It returns false if that was
// abandoned there, as the Scheduler ends by force: the response is the
// handler's.
func (w *response) call() bool {
	s := w.c.s
	var h *habit
	if s.habits.any.Load() {
		if v, ok := s.habits.patterns.Load(s.pattern(&w.req)); ok {
			h = v.(*habit)
		}
	}
	if h != nil && h.blocks() {
		w.aside.Store(true)
		if w.bodyRead { // most of those that block ask for it, and here it costs less
			w.ctxMu.Lock()
			(*requestContext)(w).watchLocked()
			w.ctxMu.Unlock()
		}
		call := func() { s.handler().ServeHTTP(w, &w.req) }
		return goroutines.Do(context.Background(), call) == nil
	}
	mark, began := coroutine.MarkLeft(), int64(0)
	if h != nil {
		began = clock.Now()
	}
	s.handler().ServeHTTP(w, &w.req)
	left := mark.Left()
	switch {
	case w.c.hijacked.Load():
	case left && h == nil:
		s.habits.any.Store(true)
		v, _ := s.habits.patterns.LoadOrStore(s.pattern(&w.req), new(habit))
		v.(*habit).note(left)
	case h != nil:
		h.note(left || !mark.Suspended() && clock.Now()-began > shortNs)
	}
	return true
}

// blocks reports whether the next call is to be a goroutine's.
func (h *habit) blocks() bool {
	if h.score.Load() < blocksScore {
		return false
	}
	n := h.calls.Add(1)
	return n < firstProbe || n&(n-1) != 0 && n%probeEvery != 0
}

// note learns from a call as a coroutine.
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
