package main

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/scheduler"
)

// phase is how far the daemon is.
type phase int32

const (
	starting phase = iota
	serving
	draining
)

// health answers two questions. Is it alive: would starting it anew help? Is it
// ready: should it get more connections?
type health struct {
	sched *scheduler.Scheduler
	s     *service
	phase atomic.Int32
}

func (h *health) enter(p phase) { h.phase.Store(int32(p)) }

// begin ends the start. It returns false if a signal has ended it before.
func (h *health) begin() bool {
	return h.phase.CompareAndSwap(int32(starting), int32(serving))
}

func (h *health) is(p phase) bool { return phase(h.phase.Load()) == p }

// alive returns an error if a Processor has made no turn for too long. That is
// what the watchdog sees; without one it is unknown, and no error. A daemon
// that drains, or that is at a limit, is alive.
func (h *health) alive() error {
	for _, st := range h.sched.Stalls() {
		if long := time.Since(st.Began); !st.Over && long > h.s.deadAfter {
			return fmt.Errorf("processor %d has made no turn for %v, cause: %s", st.Processor,
				long.Round(time.Millisecond), st.Cause)
		}
	}
	return nil
}

// ready returns an error if new connections are better sent elsewhere.
func (h *health) ready() error {
	switch phase(h.phase.Load()) {
	case starting:
		return fmt.Errorf("starting")
	case draining:
		return fmt.Errorf("draining")
	}
	if n := h.s.open.Load(); n >= int64(h.s.maxConns) {
		return fmt.Errorf("%d connections, which is the limit", n)
	}
	if n := h.sched.Live(); h.s.maxCoroutines > 0 && n >= h.s.maxCoroutines {
		return fmt.Errorf("%d coroutines, which is the limit", n)
	}
	return h.alive()
}

// page makes an HTTP handler of such a question: 200, or 503 and why.
func page(ask func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := ask(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		io.WriteString(w, "ok\n")
	}
}
