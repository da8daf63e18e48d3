package diagnose

import "github.com/netco-go/netco/processor"

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

// still reports whether coroutines live, and nothing but an ordinary goroutine
// or another Scheduler can set anything going, provided that what runs is
// blocked outside netco.
func (g Progress) still() bool { return g.Stopped && !g.Timers && !g.Watches && g.Live > 0 }
