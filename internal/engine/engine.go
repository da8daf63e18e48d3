// Package engine gives netco's own packages what a Scheduler is made of: its
// Processors and their group, which its users do not see.
//
// Package scheduler registers itself here when it is initialised. A Scheduler
// goes by any, because this package stands below the one that declares it.
package engine

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/processor"
)

// Scheduler is a Scheduler as netco's own packages see it. Its methods do not
// park, and may be called from any thread.
type Scheduler interface {
	// Group returns what its Processors have in common; nil before its start.
	Group() *processor.Group

	// Processors returns the Processors, in the order of their numbers; nil
	// before its start. Not to be changed.
	Processors() []*processor.Processor

	// Circles returns the deadlocks of some of its coroutines that the watchdog
	// has found last.
	Circles() []Circle

	// Go starts a coroutine, also one of the library's own, which
	// Options.MaxCoroutines does not keep from starting (Unlimited).
	Go(sp processor.Spawn) (coroutine.Handle, error)
}

// open is constant once package scheduler is initialised.
var open func(scheduler any) Scheduler

// Register sets what Of does. For the init of package scheduler.
func Register(f func(scheduler any) Scheduler) { open = f }

// Of returns the engine of s, which is a *scheduler.Scheduler.
func Of(s any) Scheduler { return open(s) }

// Progress is how far Processors have come, and whether they have anything to
// do.
type Progress struct {
	Asleep  bool   // all, and nothing is under way to them
	Stopped bool   // all that are not asleep run a coroutine: they do no more if that is blocked
	Timers  bool   // any is set, of those that are not stopped by a coroutine
	Watches bool   // an fd is waited for without a coroutine: what comes there starts one
	Done    uint64 // only rises, with whatever a coroutine does
	Live    uint64 // coroutines
}

// ProgressOf reads it. What a sleeping Processor has counted stands still; what
// another sends it, its thread counts before it acts on it. So what is under
// way is read first, then whether the threads sleep, and last what is counted:
// a coroutine that was woken, ran and waits again meanwhile shows in Done.
func ProgressOf(list []*processor.Processor) Progress {
	g := Progress{Asleep: len(list) > 0, Stopped: len(list) > 0}
	busy := make([]bool, len(list))
	for i, p := range list {
		asleep := p.Submitted() == 0 && p.InboxDepth() == 0 && p.Stats.Queued.Load() == 0 &&
			p.Idle()
		busy[i] = !asleep && p.Executor().Current() != nil
		g.Asleep, g.Stopped = g.Asleep && asleep, g.Stopped && (asleep || busy[i])
	}
	for i, p := range list {
		stats := p.Coroutines()
		g.Done += stats.Resumes.Load() + stats.Spawned.Load() + stats.Ended.Load()
		g.Done += p.Stats.RemoteWakes.Load()
		g.Done += p.Posted() // one that runs a coroutine may not take them
		g.Live += p.Live()
		g.Timers = g.Timers || !busy[i] && p.Stats.Timers.Load() != 0
		g.Watches = g.Watches || !busy[i] && p.Watches() != 0
	}
	return g
}

// Still reports whether coroutines live, and nothing but an ordinary goroutine
// or another Scheduler can set anything going.
func (g Progress) Still() bool { return g.Asleep && g.nothingDue() }

// StillIfBlocked is Still, provided that what runs is blocked outside netco.
func (g Progress) StillIfBlocked() bool { return g.Stopped && g.nothingDue() }

func (g Progress) nothingDue() bool { return !g.Timers && !g.Watches && g.Live > 0 }

// Stuck reports whether only another coroutine or goroutine ends the wait that
// a coroutine is in. An fd, time, a function elsewhere, a context and what
// others have built do not belong there.
func Stuck(i *coroutine.Info) bool {
	if i.State != coroutine.Waiting || i.OrContext {
		return false
	}
	switch i.Reason {
	case coroutine.ReasonLock, coroutine.ReasonJoin, coroutine.ReasonChannel, coroutine.ReasonCond,
		coroutine.ReasonSemaphore, coroutine.ReasonGroup, coroutine.ReasonFuture:
		return true
	}
	return false
}
