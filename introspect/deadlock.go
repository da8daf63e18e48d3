package introspect

import (
	"context"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// A deadlock is reported only of a picture that stood still: every Processor
// slept before the walk and after it, with nothing ready, posted or submitted
// and no timer set, and in between none has run anything; none waits for an fd
// without a coroutine; and all coroutines that live wait for one another. Then
// a short while is waited, and if still nothing has run, it is reported.
// Ordinary goroutines are not looked at: one of them may hold what is waited
// for.

// progress is how far the Processors have come, and whether they have anything
// to do.
type progress struct {
	asleep bool   // all, and nothing is under way to them
	timers bool   // any is set
	watch  bool   // an fd is waited for that holds no coroutine: what comes there starts one
	done   uint64 // only rises, with whatever a coroutine does
	live   uint64 // coroutines
}

// progressOf reads it. What a sleeping Processor has counted stands still; what
// another sends it, its thread counts before it is heard of.
func progressOf(list []*processor.Processor) progress {
	g := progress{asleep: len(list) > 0}
	for _, p := range list {
		stats := p.Coroutines()
		g.done += stats.Resumes.Load() + stats.Spawned.Load() + stats.Ended.Load() + p.Stats.RemoteWakes.Load()
		g.live += stats.Live.Load()
		g.timers = g.timers || p.Stats.Timers.Load() != 0
		g.watch = g.watch || p.Watches() != 0
		g.asleep = g.asleep && p.Idle() && p.Stats.Queued.Load() == 0 && p.InboxDepth() == 0 && p.Submitted() == 0
	}
	return g
}

// still reports whether nothing but an ordinary goroutine can set anything
// going.
func (g progress) still() bool { return g.asleep && !g.timers && !g.watch && g.live > 0 }

// stuckIn reports whether only another coroutine or goroutine ends a wait for
// r. An fd, time, a function elsewhere, a context and what others have built do
// not belong there.
func stuckIn(r coroutine.Reason) bool {
	switch r {
	case coroutine.ReasonLock, coroutine.ReasonJoin, coroutine.ReasonChannel, coroutine.ReasonCond, coroutine.ReasonSemaphore,
		coroutine.ReasonGroup, coroutine.ReasonFuture:
		return true
	}
	return false
}

// secondLook is how long after the first a deadlock is looked at again.
const secondLook = 100 * time.Millisecond

// deadlock returns what a walk has found that began after before was read, or
// nil.
func (h *handler) deadlock(ctx context.Context, before progress, c *census) *Deadlock {
	if !before.still() || c.cut || c.stuck != c.all || c.stuck != before.live || h.src.progress() != before {
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
	d := &Deadlock{Count: c.stuck}
	at := now()
	for _, s := range c.lowest.page().rows {
		d.Coroutines = append(d.Coroutines, h.describe(&s, at))
	}
	return d
}
