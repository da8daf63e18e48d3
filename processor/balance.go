package processor

import (
	"iter"
	"time"
)

// Elastic Processors: work is packed on as few Processors as it needs. A thread
// that wakes for one event costs more than the event; one that is busy finds
// many each time it looks. So at partial load a few busy Processors take less
// CPU and are quicker than many that are mostly asleep.
//
// An active Processor is given new work. The monitor measures how busy each is,
// every balanceEvery, and then
//
//	an active one is busier than busyAbove, twice in a row,  activates another and has half of its connections
//	and not all are active                                   moved there
//	an active one is busier than busyAbove, twice in a row,  has the difference evened out
//	and another less by unevenAbove
//	the active ones together, packAfter times in a row,      the last one gives all away and is no longer active
//	would keep one fewer busy for packBelow
//
// A burst of starts activates Processors at once: where burstStarts are waiting to
// start, the next go to others (Place), and those that sleep take some (share).
const (
	balanceEvery = 20 * time.Millisecond
	busyAbove    = 0.9
	unevenAbove  = 0.25
	packBelow    = 0.6
	packAfter    = 15 // times balanceEvery
	burstStarts  = 64
)

// balancer is the monitor's.
type balancer struct {
	at     time.Time
	busyNs []int64   // of each member, at that time
	busy   []float64 // since the time before
	high   int       // how often in a row one was busier than busyAbove
	low    int       // how often in a row one fewer would have done
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

func (p *Processor) isActive() bool { return p.active.Load() }

// activate makes p active: it has taken work by itself.
func (p *Processor) activate() {
	if !p.active.Load() {
		p.active.Store(true)
	}
}

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
	for i, p := range g.members {
		ns := p.BusyNs()
		b.busy[i] = float64(ns-b.busyNs[i]) / float64(span)
		b.busyNs[i] = ns
	}
	if stale {
		b.high, b.low = 0, 0
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
	} else {
		b.high = 0
	}
	if active > g.minActive && sum < packBelow*float64(active-1) {
		b.low++
	} else {
		b.low = 0
	}
	switch {
	case b.high >= 2 && spare != nil && hot.ep.Registered() > 1:
		spare.active.Store(true)
		hot.ask(spare, hot.ep.Registered()/2)
		b.high = 0
	case b.high >= 2 && most-b.busy[cold.cfg.Index] > unevenAbove && hot != cold:
		hot.ask(cold, int(float64(hot.ep.Registered())*(most-b.busy[cold.cfg.Index])/(2*most)))
		b.high = 0
	case b.low >= packAfter && cold != hot:
		if cold.cfg.Index < g.minActive {
			cold, hot = hot, cold
		}
		cold.active.Store(false)
		cold.ask(hot, cold.ep.Registered())
		b.low = 0
	}
}

// ask asks p to give n connections away. Any thread.
func (p *Processor) ask(to *Processor, n int) {
	p.gift.Store(&gift{to, n})
	p.ex.Notice()
	p.ep.Ring()
}
