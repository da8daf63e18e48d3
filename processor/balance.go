package processor

import (
	"iter"
	"time"
)

// balanceEvery is the shortest interval between two decisions of the policy.
const balanceEvery = 20 * time.Millisecond

// balancer has the monitor's measurements of a group. Owner: the monitor.
type balancer struct {
	at      time.Time  // of the last measurement
	totals  []totals   // of each member, at that time
	members []measured // in the last interval
	policy  policy
}

// totals are the sums of a member since its start.
type totals struct {
	busyNs int64
	waitNs uint64 // of all runs
	runs   uint64
}

// actives returns the Processors that get new work.
func (g *Group) actives() iter.Seq[*Processor] {
	return func(yield func(*Processor) bool) {
		for _, p := range g.members {
			if p.active.Load() && !yield(p) {
				return
			}
		}
	}
}

// SetMinActive keeps the first n members always active, and makes the others
// active when they are needed; without it all are active. It is called before
// the first member has started.
func (g *Group) SetMinActive(n int) {
	g.minActive = min(n, len(g.members))
	for i, p := range g.members {
		p.active.Store(i < g.minActive)
	}
	g.setDomains()
}

// IsActive reports whether p gets new work. Any thread.
func (p *Processor) IsActive() bool { return p.active.Load() }

// balance measures the members once in balanceEvery, and carries out the
// decision of the policy. The monitor calls it.
func (g *Group) balance(b *balancer, now time.Time) {
	span := now.Sub(b.at)
	if span < balanceEvery {
		return
	}
	m := g.measure(b, span)
	b.at = now
	var d decision
	b.policy, d = b.policy.decide(m)
	g.carryOut(d)
}

// measure returns the measurements of the interval that ends now.
func (g *Group) measure(b *balancer, span time.Duration) interval {
	m := interval{
		minActive: g.minActive,
		sharing:   g.Sharing(),
		seconds:   span.Seconds(),
		stale:     span > 10*balanceEvery || b.members == nil,
	}
	if b.members == nil {
		b.totals, b.members = make([]totals, len(g.members)), make([]measured, len(g.members))
	}
	m.members = b.members
	for i, p := range g.members {
		t, last := totals{p.BusyNs(), p.Stats.WaitNs.Sum(), p.ex.Stats.Resumes.Load()}, b.totals[i]
		b.totals[i] = t
		runs := t.runs - last.runs
		m.runs += runs
		m.members[i] = measured{
			busy:   float64(t.busyNs-last.busyNs) / float64(span),
			waitNs: float64(t.waitNs-last.waitNs) / float64(max(runs, 1)),
			cpuNs:  int(p.runCPU.Load()),
			active: p.active.Load(),
			shares: p.movable(),
		}
	}
	return m
}

// carryOut makes the members act on the decision.
func (g *Group) carryOut(d decision) {
	if d.endSharing {
		g.EndSharing()
	}
	for _, m := range d.moves {
		p, to := g.members[m.from], g.members[m.to]
		to.active.Store(true) // first: work moves to active Processors only
		switch {
		case m.part < 1:
			p.Give(to, int(m.part*float64(p.movable())))
		case p.active.Load():
			p.GiveAll(to)
		default: // a Processor that sleeps may go on sleeping
			p.moveRequest.CompareAndSwap(nil, &moveRequest{to, moveAll})
		}
	}
}

// movable returns how many pieces of work could move from p: the number of its
// connections, or of its ready coroutines if that is higher. Any thread.
func (p *Processor) movable() int {
	return max(p.ep.Registered(), int(p.Stats.Queued.Load()))
}

// Give asks p to move n connections to another Processor, and as many of its
// ready coroutines. Any thread.
func (p *Processor) Give(to *Processor, n int) {
	p.moveRequest.Store(&moveRequest{to, n})
	p.ex.RequestPreempt()
	p.ep.Ring()
}

// GiveAll makes p inactive, and asks it to move all its work to another
// Processor. Any thread.
func (p *Processor) GiveAll(to *Processor) {
	p.active.Store(false)
	p.Give(to, moveAll)
}
