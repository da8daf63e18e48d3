package processor

import (
	"iter"
	"slices"
	"time"
)

// Elastic Processors: work is packed on as few Processors as it needs. A thread
// that wakes for one event costs more than the event; one that is busy finds
// many each time it looks. So at partial load a few busy Processors take less
// CPU and answer sooner than many that are mostly asleep.
//
// An active Processor is given new work. The monitor measures how busy each is,
// every balanceEvery, and then
//
//	an active one is busier than busyAbove, spreadAfter     spreads: each that is so busy has half of its
//	times in a row, and not all are active                  connections and of its ready coroutines moved to
//	                                                        another, which is then active
//	a spread did not raise the work done per second         takes it back, and waits before the next
//	an active one is busier than busyAbove, twice in a row, has the difference evened out
//	and another less by unevenAbove
//	the active ones together, packAfter times in a row,     packs: the least busy gives all away and is no
//	would keep one fewer busy for packBelow                 longer active
//	one that is not active was busy                         has it give all away, in its next turn
//
// A spread is a trial because only the outcome tells whether there is a core for
// another thread. Where the peers are on this machine, or other programs, a second
// thread may take from them what the first one needs.
//
// A burst of starts goes to all: where burstStarts are waiting to start, the next
// go to others (Place), and those that sleep take some (share).
const (
	balanceEvery = 20 * time.Millisecond
	busyAbove    = 0.9
	unevenAbove  = 0.25
	packBelow    = 0.6
	packAfter    = 15 // times balanceEvery
	burstStarts  = 64

	spreadAfter   = 4   // times balanceEvery
	trialSettles  = 2   // looks until the connections have moved
	trialLooks    = 5   // looks after these
	trialGone     = 0.3 // less work than this is no verdict: the load has gone
	trialPauseMin = 4 * time.Second
	trialPauseMax = 64 * time.Second
)

// trialGain is what a spread has to bring. A variable for tests.
var trialGain = 1.1

// balancer is what the monitor knows of a group. All fields: the monitor's.
type balancer struct {
	at      time.Time // of the last look
	busyNs  []int64   // of each member, at that time
	busy    []float64 // of each member, between the last two looks
	resumes uint64    // of all members, at that time
	rate    float64   // resumes per second, between the last two looks
	high    int       // how often in a row one was busier than busyAbove
	work    float64   // sum of the rates at these looks
	low     int       // how often in a row one fewer would have done
	trial   trial
}

// trial is a spread until it is known what it has brought.
type trial struct {
	added  []*Processor // that were activated; nil if there is no trial
	before float64      // resumes per second before it
	work   float64      // sum of the rates since the connections have moved
	looks  int          // since it began
	after  time.Time    // no trial until then
	pause  time.Duration
}

// actives are the Processors that are given new work.
func (g *Group) actives() iter.Seq[*Processor] {
	return func(yield func(*Processor) bool) {
		for _, p := range g.members {
			if p.active.Load() && !yield(p) {
				return
			}
		}
	}
}

// SetMinActive makes the first n members active for good, and the others when
// they are needed; without it all are active. To be called before the first has
// started.
func (g *Group) SetMinActive(n int) {
	g.minActive = min(n, len(g.members))
	for i, p := range g.members {
		p.active.Store(i < g.minActive)
	}
}

// IsActive reports whether p is given new work. Any thread.
func (p *Processor) IsActive() bool { return p.active.Load() }

// balance looks how busy the members are, and moves work. The monitor calls it.
func (g *Group) balance(b *balancer, now time.Time) {
	span := now.Sub(b.at)
	if span < balanceEvery {
		return
	}
	stale := span > 10*balanceEvery || b.busyNs == nil
	if b.busyNs == nil {
		b.busyNs, b.busy = make([]int64, len(g.members)), make([]float64, len(g.members))
	}
	b.at = now
	resumes := uint64(0)
	for i, p := range g.members {
		ns := p.BusyNs()
		b.busy[i] = float64(ns-b.busyNs[i]) / float64(span)
		b.busyNs[i] = ns
		resumes += p.ex.Stats.Resumes.Load()
	}
	b.rate = float64(resumes-b.resumes) / span.Seconds()
	b.resumes = resumes
	if stale {
		b.high, b.low, b.work = 0, 0, 0
		return
	}
	g.decide(b)
}

func (g *Group) decide(b *balancer) {
	var hot, cold, spare *Processor
	sum, active := 0.0, 0
	for i, p := range g.members {
		if !p.active.Load() {
			if spare == nil {
				spare = p
			}
			continue
		}
		active++
		sum += b.busy[i]
		if hot == nil || b.busy[i] > b.busy[hot.cfg.Index] {
			hot = p
		}
		if cold == nil || b.busy[i] <= b.busy[cold.cfg.Index] {
			cold = p
		}
	}
	if hot == nil {
		return
	}
	most := b.busy[hot.cfg.Index]
	if most > busyAbove {
		b.high++
		b.work += b.rate
	} else {
		b.high, b.work = 0, 0
	}
	if active > g.minActive && sum < packBelow*float64(active-1) {
		b.low++
	} else {
		b.low = 0
	}
	if b.trial.added != nil {
		g.judge(b)
	}
	switch {
	case b.trial.added != nil:
	case b.high >= spreadAfter && spare != nil && b.at.After(b.trial.after) && hot.movable() > 1:
		g.spread(b)
	case b.high >= 2 && most-b.busy[cold.cfg.Index] > unevenAbove && hot != cold:
		hot.ask(cold, int(float64(hot.movable())*(most-b.busy[cold.cfg.Index])/(2*most)))
		b.high, b.work = 0, 0
	case b.low >= packAfter && cold != hot:
		g.pack(b)
		b.low = 0
	}
	g.packAgain(b)
}

// pack has the least busy Processor give all away to the next.
func (g *Group) pack(b *balancer) {
	p := g.leastBusy(b, g.minActive)
	p.active.Store(false)
	p.ask(g.leastBusy(b, 0), everything)
}

// packAgain asks those that are not active for what they have come by since, and
// for what was at work. It does not ring: one that can sleep is to sleep.
func (g *Group) packAgain(b *balancer) {
	for i, p := range g.members {
		if !p.active.Load() && b.busy[i] > 0 && (p.ep.Registered() > 0 || p.ex.Stats.Live.Load() > 0) {
			p.gift.CompareAndSwap(nil, &gift{g.leastBusy(b, 0), everything})
		}
	}
}

// spread has every active Processor that is busy give half to another.
func (g *Group) spread(b *balancer) {
	t := &b.trial
	t.before, t.work, t.looks = b.work/float64(b.high), 0, 0
	spare := slices.DeleteFunc(slices.Clone(g.members), (*Processor).IsActive)
	before := slices.Collect(g.actives())
	for _, p := range before {
		if len(spare) > 0 && b.busy[p.cfg.Index] > busyAbove && p.movable() > 1 {
			t.added = append(t.added, spare[0])
			spare[0].active.Store(true) // first: p gives to none that is not active
			p.ask(spare[0], p.movable()/2)
			spare = spare[1:]
		}
	}
	b.high, b.work = 0, 0
}

// judge ends a trial that has lasted long enough, and takes it back if it has
// failed.
func (g *Group) judge(b *balancer) {
	t := &b.trial
	over, failed := t.look(b.rate, b.at)
	if failed {
		for _, p := range t.added {
			p.active.Store(false)
		}
		for _, p := range t.added {
			p.ask(g.leastBusy(b, 0), everything)
		}
	}
	if over {
		t.added = nil
	}
}

// look counts the work between two looks, and reports whether the trial is over
// and has failed.
func (t *trial) look(rate float64, now time.Time) (over, failed bool) {
	if t.looks++; t.looks > trialSettles {
		t.work += rate
	}
	if t.looks < trialSettles+trialLooks {
		return false, false
	}
	switch gain := t.work / trialLooks / t.before; {
	case gain >= trialGain:
		t.pause = 0
	case gain > trialGone:
		t.pause = min(max(2*t.pause, trialPauseMin), trialPauseMax)
		t.after = now.Add(t.pause)
		return true, true
	}
	return true, false
}

// leastBusy returns the least busy of the active ones from an index on, the first
// of equals. Precondition: there is one.
func (g *Group) leastBusy(b *balancer, from int) (least *Processor) {
	for _, p := range g.members[from:] {
		if p.active.Load() && (least == nil || b.busy[p.cfg.Index] < b.busy[least.cfg.Index]) {
			least = p
		}
	}
	return least
}

// movable is how much p could share: its connections, or its ready coroutines if
// those are more. Any thread.
func (p *Processor) movable() int {
	return max(p.ep.Registered(), int(p.Stats.Queued.Load()))
}

// ask asks p to give n connections away, and as many of its ready coroutines. Any
// thread.
func (p *Processor) ask(to *Processor, n int) {
	p.gift.Store(&gift{to, n})
	p.ex.RequestPreempt()
	p.ep.Ring()
}
