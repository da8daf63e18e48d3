package introspect

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	cocontext "github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/diagnose"
)

// lastStalls is how many stalls, and how many places of handoffs, the overview
// shows.
const lastStalls = 5

// overview is the page "overview".
func (h *handler) overview(ctx context.Context, q *query) (*overviewJSON, error) {
	if q.err != nil {
		return nil, q.err
	}
	o := &overviewJSON{
		Time: time.Now(), Phase: h.src.phase(), PID: os.Getpid(),
		Program: versions.program, Netco: versions.netco, Go: runtime.Version(),
		Backend: cocontext.Backend(), BackendReason: cocontext.BackendReason(),
		Refused: h.src.refused(),
	}
	if h.opt.AllowLogLevel != nil {
		o.LogLevel = h.opt.AllowLogLevel.Level().String()
	}
	before := h.src.progress()
	census, err := h.census(ctx)
	if err != nil {
		return nil, err
	}
	o.Stalls = h.stalls()
	o.Processors = h.processors(o.Stalls)
	o.Stalls = o.Stalls[:min(len(o.Stalls), lastStalls)]
	o.Handoffs = h.handoffs()
	o.Handoffs = o.Handoffs[:min(len(o.Handoffs), lastStalls)]
	for i := range o.Processors {
		o.UptimeNs = max(o.UptimeNs, o.Processors[i].SinceNs)
		o.Coroutines.Submitted += o.Processors[i].Submitted
	}
	census.into(&o.Coroutines)
	o.Deadlock = h.deadlock(ctx, before, census)
	o.LockCircles = h.lockCircles(&census.locks)
	return o, nil
}

// processors returns the Processors' figures, including the watchdog's.
func (h *handler) processors(stalls []stallJSON) []processorJSON {
	list := h.src.processors()
	for i := range list {
		list[i].Stalls = h.src.stallCount(list[i].Index)
	}
	for _, s := range stalls {
		for i := range list {
			if !s.Over && list[i].Index == s.Processor && list[i].State == "busy" {
				list[i].State = "stalled"
			}
		}
	}
	return list
}

// census has the counts of one walk over the coroutines.
type census struct {
	all     uint64
	states  [coroutine.States]uint64
	reasons [coroutine.Reasons]uint64
	stuck   uint64           // coroutines that only another coroutine or goroutine can wake
	lowest  *selection[seen] // some of those
	locks   diagnose.LockWaits
	cut     bool
}

// exampleStuck is how many coroutines of a deadlock are shown.
const exampleStuck = 100

func (h *handler) census(ctx context.Context) (c *census, err error) {
	c = &census{lowest: &selection[seen]{size: exampleStuck}}
	c.cut, err = h.coroutines.walk(ctx, func(s *seen) {
		c.all++
		c.states[s.State]++
		if s.State != coroutine.Waiting || int(s.Reason) >= len(c.reasons) {
			return
		}
		c.reasons[s.Reason]++
		c.locks.Add(&s.Info)
		if diagnose.Stuck(&s.Info) {
			c.stuck++
			if k := (key{id: s.ID}); c.lowest.wants(k) {
				c.lowest.add(k, *s)
			}
		}
	})
	return c, err
}

func (c *census) into(n *countsJSON) {
	n.Live = c.all
	n.Ready, n.Running, n.Waiting = c.states[coroutine.Ready], c.states[coroutine.Running],
		c.states[coroutine.Waiting]
	n.Outside = c.states[coroutine.Outside]
	n.Reasons = map[string]uint64{}
	for r, k := range c.reasons {
		if k > 0 {
			n.Reasons[coroutine.Reason(r).String()] = k
		}
	}
	n.Partial = c.cut
}

// versions are the versions of the program and of netco.
var versions = func() (v struct{ program, netco string }) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	const module = "github.com/netco-go/netco"
	v.program = info.Main.Path + " " + info.Main.Version
	if info.Main.Path == "" {
		v.program = ""
	}
	if info.Main.Path == module {
		v.netco = info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			v.netco = dep.Version
		}
	}
	return v
}()

// now returns the present time, for ages.
func now() int64 { return clock.Now() }
