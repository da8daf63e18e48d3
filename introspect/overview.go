package introspect

import (
	"context"
	"os"
	"runtime"
	"slices"
	"time"

	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

const lastStalls = 5 // how many stalls, and how many places of handoffs, the overview shows

// overview is the page "overview".
func (h *handler) overview(ctx context.Context, _ *query) (any, error) {
	program, version := engine.Versions()
	o := &overviewJSON{
		Time: time.Now(), Phase: h.src.phase(), PID: os.Getpid(),
		Program: program, Netco: version, Go: runtime.Version(),
		Backend: cocontext.Backend(), BackendReason: cocontext.BackendReason(),
		Refused: h.src.refused(),
	}
	if err := h.census(ctx, &o.Coroutines); err != nil {
		return nil, err
	}
	o.Stalls, o.Handoffs, o.Processors = h.stalls(), h.handoffs(), h.src.processors()
	for i := range o.Processors {
		p := &o.Processors[i]
		if p.State == "busy" && slices.ContainsFunc(o.Stalls, func(s scheduler.Stall) bool {
			return !s.Over && s.Processor == p.Index
		}) {
			p.State = "stalled"
		}
		o.UptimeNs = max(o.UptimeNs, p.SinceNs)
		o.Coroutines.Submitted += p.Submitted
	}
	o.Stalls = o.Stalls[:min(len(o.Stalls), lastStalls)]
	o.Handoffs = o.Handoffs[:min(len(o.Handoffs), lastStalls)]
	if all := h.src.stuck(); len(all) > 0 {
		o.Deadlock = &deadlockJSON{uint64(len(all)), h.some(all)}
	}
	o.LockCircles = []lockCircleJSON{} // not null
	circles := h.src.circles()
	for _, c := range circles[:min(len(circles), mostCircles)] {
		o.LockCircles = append(o.LockCircles,
			lockCircleJSON{c.String(), len(c), h.some(c.Coroutines())})
	}
	return o, nil
}

// census counts the coroutines.
func (h *handler) census(ctx context.Context, n *countsJSON) (err error) {
	n.Reasons = map[string]uint64{}
	n.Partial, err = h.coroutines.walk(ctx, func(s *seen) {
		n.Live++
		n.add(s)
	})
	return err
}

// How much of deadlocks is shown.
const (
	mostStuck   = 20 // coroutines of one deadlock
	mostCircles = 10 // circles of locks
)

// some describes the first of these coroutines.
func (h *handler) some(all []coroutine.Info) []coroutineJSON {
	var rows []seen
	for _, i := range all[:min(len(all), mostStuck)] {
		s := seen{i, -1}
		if p, ok := i.Host.(*processor.Processor); ok {
			s.processor = p.Index()
		}
		rows = append(rows, s)
	}
	return h.describe(rows...)
}

// cutAll shortens texts to at most n bytes.
func cutAll(n int, texts ...*string) {
	for _, t := range texts {
		*t = cut(*t, n)
	}
}

// stalls returns the recorded stalls, the latest first.
func (h *handler) stalls() []scheduler.Stall {
	list := append([]scheduler.Stall{}, h.src.stalls()...)
	for i := range list {
		s := &list[i]
		cutAll(maxText, &s.Name, &s.Site, &s.Detail)
		cutAll(maxStack, &s.Stack)
	}
	slices.Reverse(list)
	return list
}

// handoffs returns the places at which coroutines were left behind, the most
// frequent first.
func (h *handler) handoffs() []scheduler.Handoff {
	list := append([]scheduler.Handoff{}, h.src.handoffs()...)
	for i := range list {
		cutAll(maxText, &list[i].BlockedAt, &list[i].Name, &list[i].Detail)
	}
	return list
}

// listStalls is the page "stalls".
func (h *handler) listStalls(_ context.Context, q *query) (any, error) {
	on, cause := q.processor(), q.Get("cause")
	if q.err != nil {
		return nil, q.err
	}
	return &stallsJSON{
		slices.DeleteFunc(h.stalls(), func(s scheduler.Stall) bool {
			return on >= 0 && s.Processor != on || cause != "" && s.Cause != cause
		}),
		slices.DeleteFunc(h.handoffs(), func(x scheduler.Handoff) bool {
			return cause != "" && x.Cause != cause
		}),
	}, nil
}
