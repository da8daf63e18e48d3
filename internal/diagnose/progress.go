package diagnose

import "github.com/netco-go/netco/processor"

// Progress is how much Processors have done, and whether they have work.
type Progress struct {
	Asleep  bool   // all sleep, and no wake or coroutine is under way to them
	Stopped bool   // all that are not asleep run a coroutine: a blocked one would stop them
	Timers  bool   // a timer is set on a Processor that no coroutine stops
	Watches bool   // an fd is watched without a coroutine: an event starts one
	Done    uint64 // rises with every action of a coroutine
	Live    uint64 // live coroutines
}

// ProgressOf returns the Progress of the Processors in list. The counters of a
// sleeping Processor stand still, and a Processor that gets work counts it
// before it acts. So ProgressOf reads the work under way first, then whether
// the threads sleep, and the counters last: a coroutine that was woken, ran and
// waits again meanwhile shows in Done.
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
		g.Done += p.Posted() // a Processor that runs a coroutine may not take them
		g.Live += p.Live()
		g.Timers = g.Timers || !busy[i] && p.Stats.Timers.Load() != 0
		g.Watches = g.Watches || !busy[i] && p.Watches() != 0
	}
	return g
}

// still reports whether coroutines live and only an ordinary goroutine or
// another Scheduler can make one go on, provided that the running coroutines
// are blocked outside netco.
func (p Progress) still() bool { return p.Stopped && !p.Timers && !p.Watches && p.Live > 0 }
