package introspect

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/processor"
)

// A deadlock is reported only of a picture that stood still: every Processor
// slept before the walk and after it, with nothing ready, posted or submitted
// and no timer set, and ran nothing in between; no Watch waits for an fd; and
// all coroutines that live wait for one another. If still nothing has run a
// short while later, the deadlock is reported. Ordinary goroutines are not
// looked at: one of them may hold a lock that coroutines wait for.

// secondLook is the time between the two looks at a deadlock.
const secondLook = 100 * time.Millisecond

// deadlock returns the deadlock that a walk has found, or nil. The walk began
// after before was read.
func (h *handler) deadlock(ctx context.Context, before diagnose.Progress, c *census) *deadlockJSON {
	if !before.Still() || c.cut || c.stuck != c.all || c.stuck != before.Live ||
		h.src.progress() != before {
		return nil
	}
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
		return nil
	}
	if h.src.progress() != before {
		return nil
	}
	d := &deadlockJSON{Count: c.stuck}
	at := now()
	for _, s := range c.lowest.page().rows {
		d.Coroutines = append(d.Coroutines, h.describe(&s, at))
	}
	return d
}

// Bounds of the list of deadlocks of some coroutines.
const (
	mostCircles  = 10
	mostInCircle = 20
)

// lockCircles returns the deadlocks of some coroutines that a walk has found.
func (h *handler) lockCircles(waits *diagnose.LockWaits) []lockCircleJSON {
	list := []lockCircleJSON{} // not null
	at := now()
	for _, c := range waits.Circles() {
		if len(list) == mostCircles {
			break
		}
		one := lockCircleJSON{Circle: c.String(), Count: len(c)}
		for _, w := range c[:min(len(c), mostInCircle)] {
			one.Coroutines = append(one.Coroutines, h.describe(seenOf(&w.Info), at))
		}
		list = append(list, one)
	}
	return list
}

func seenOf(i *coroutine.Info) *seen {
	s := &seen{Info: *i, processor: -1}
	if p, ok := i.Host.(*processor.Processor); ok {
		s.processor = p.Index()
	}
	return s
}
