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
// and no timer set, and in between none has run anything; none waits for an fd
// without a coroutine; and all coroutines that live wait for one another. Then
// a short while is waited, and if still nothing has run, it is reported.
// Ordinary goroutines are not looked at: one of them may hold what is waited
// for.

// secondLook is how long after the first a deadlock is looked at again.
const secondLook = 100 * time.Millisecond

// deadlock returns what a walk has found that began after before was read, or
// nil.
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

// Bounds of what is shown of deadlocks of some.
const (
	mostCircles  = 10
	mostInCircle = 20
)

// lockCircles returns the deadlocks of some that a walk has found.
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
