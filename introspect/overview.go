package introspect

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

const lastStalls = 5 // and places of handoffs, that the overview shows

// overview is the page "overview".
func (h *handler) overview(ctx context.Context, _ *query) (any, error) {
	o := &overviewJSON{
		Time: time.Now(), Phase: h.src.phase(), PID: os.Getpid(),
		Program: versions.program, Netco: versions.netco, Go: runtime.Version(),
		Backend: cocontext.Backend(), BackendReason: cocontext.BackendReason(),
		Refused: h.src.refused(),
	}
	before := h.src.progress()
	c, err := h.census(ctx)
	if err != nil {
		return nil, err
	}
	o.Coroutines = c.n
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
	o.Deadlock = h.deadlock(before, c)
	o.LockCircles = h.lockCircles(&c.locks)
	return o, nil
}

// census has the counts of one walk over the coroutines.
type census struct {
	n      countsJSON
	stuck  uint64          // coroutines that only another coroutine or goroutine can wake
	lowest selection[seen] // some of those
	locks  diagnose.LockWaits
}

func (h *handler) census(ctx context.Context) (*census, error) {
	c := &census{n: countsJSON{statesJSON: statesJSON{Reasons: map[string]uint64{}}},
		lowest: selection[seen]{size: mostStuck}}
	cut, err := h.coroutines.walk(ctx, func(s *seen) {
		c.n.Live++
		c.n.add(s)
		if s.State != coroutine.Waiting {
			return
		}
		c.locks.Add(&s.Info)
		if diagnose.Stuck(&s.Info) {
			c.stuck++
			c.lowest.offer(key{id: s.ID}, s)
		}
	})
	if err != nil {
		return nil, err
	}
	c.n.Partial = cut
	return c, nil
}

// A deadlock is reported only of a picture that stood still: before the walk,
// after it and a while later every Processor slept, with nothing under way to
// it, no timer set and no Watch armed, and all coroutines wait for one another.
// An ordinary goroutine may still wake them.
const (
	secondLook  = 100 * time.Millisecond // after the first
	mostStuck   = 20                     // coroutines of a deadlock that are shown
	mostCircles = 10                     // deadlocks of some coroutines that are
)

// deadlock returns the deadlock that a walk has found, or nil. The walk began
// after before was read.
func (h *handler) deadlock(before diagnose.Progress, c *census) *deadlockJSON {
	if !before.Still() || c.n.Partial || c.stuck != c.n.Live || c.stuck != before.Live ||
		h.src.progress() != before {
		return nil
	}
	time.Sleep(secondLook)
	if h.src.progress() != before {
		return nil
	}
	rows, _ := c.lowest.page()
	return &deadlockJSON{Count: c.stuck, Coroutines: h.describe(rows...)}
}

// lockCircles returns the deadlocks of some coroutines that a walk has found.
func (h *handler) lockCircles(waits *diagnose.LockWaits) []lockCircleJSON {
	list := []lockCircleJSON{} // not null
	circles := waits.Circles()
	for _, c := range circles[:min(len(circles), mostCircles)] {
		var rows []seen
		for _, w := range c[:min(len(c), mostStuck)] {
			s := seen{w.Info, -1}
			if p, ok := w.Host.(*processor.Processor); ok {
				s.processor = p.Index()
			}
			rows = append(rows, s)
		}
		list = append(list, lockCircleJSON{c.String(), len(c), h.describe(rows...)})
	}
	return list
}

// cutAll shortens texts to at most n bytes.
func cutAll(n int, texts ...*string) {
	for _, t := range texts {
		*t = cut(*t, n)
	}
}

// stalls returns the remembered stalls, the latest first.
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

// versions are the versions of the program and of netco.
var versions = func() (v struct{ program, netco string }) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.program = strings.TrimSpace(info.Main.Path + " " + info.Main.Version)
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/netco-go/netco" {
			v.netco = m.Version
		}
	}
	return v
}()
