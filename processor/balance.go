package processor

import (
	"iter"
	"math"
	"slices"
	"time"
)

// Elastic Processors: work is packed on as few Processors as it needs. A thread
// that wakes for one event costs more than the event; a busy one finds many
// events in each poll. So at partial load a few busy Processors take less CPU
// and answer sooner than many that are mostly asleep.
//
// Active Processors get new work. Every balanceEvery the monitor measures how
// busy each Processor is, and acts:
//
//	finding                               action
//	an active one is busier than          spread: each that is so busy moves
//	busyAbove, spreadAfter times in a     half of its connections and of its
//	row, and not all are active           ready coroutines to an inactive one,
//	                                      which becomes active
//	a Processor's runs take longAboveNs   the members of a domain share, from
//	and waited for waitAboveNs, on        its next turn on (share.go)
//	average
//	such a domain is busier than          the same for domains: spread, even
//	domainAbove                           out, pack
//	packAfter times in a row runs take    that ends
//	less than longBelowNs, or would
//	wait for less than waitBelowNs on
//	one Processor
//	a spread did not raise the work       undo it, and wait before the next
//	done per second
//	an active one is busier than          even out the difference
//	busyAbove, twice in a row, and
//	another less busy by unevenAbove
//	the active ones together, packAfter   pack: the least busy gives all away
//	times in a row, would keep one fewer  and becomes inactive
//	busy for packBelow
//	an inactive one was busy              it gives all away in its next turn
//
// A spread is a trial, because only its outcome shows whether there is a core
// for another thread. Where the peers, or other programs, are on this machine,
// a second thread may take from them what the first one needs.
//
// Where a run takes longAboveNs, an event waits for the handler before it, and
// one wake serves no more than one event: packing saves little and costs much.
// With 100 µs in the handler and 8,000 requests a second, one Processor has six
// times the p90 of two. So nothing is packed or spread while Processors share.
//
// A burst of starts goes to all Processors: once burstStarts are waiting to
// start on one, the next go to others (place), and idle ones steal some
// (share).
const (
	balanceEvery = 20 * time.Millisecond
	busyAbove    = 0.9
	unevenAbove  = 0.25
	domainAbove  = 0.75
	packBelow    = 0.6
	packAfter    = 15 // times balanceEvery
	burstStarts  = 64

	longAboveNs = 20_000
	longBelowNs = 12_000
	waitAboveNs = 15_000
	waitBelowNs = 7_500

	spreadAfter   = 4   // times balanceEvery
	trialSettles  = 2   // samples until the connections have moved
	trialSamples  = 5   // samples after these
	trialGone     = 0.3 // with less work than this share there is no verdict: the load has gone
	trialPauseMin = 4 * time.Second
	trialPauseMax = 64 * time.Second
)

// trialGain is by what factor a spread has to raise the work done. A variable
// for tests.
var trialGain = 1.1

// balancer is what the monitor knows of a group. All fields: the monitor's.
type balancer struct {
	at      time.Time // of the last sample
	busyNs  []int64   // of each member, at that time
	busy    []float64 // of each member, as a share of the last interval
	resumes uint64    // of all members, at that time
	rate    float64   // resumes per second, in the last interval
	runNs   float64   // mean length of the runs of the last interval that had any
	seldom  int       // how often in a row sharing was not worth it
	high    int       // how often in a row one was busier than busyAbove
	work    float64   // sum of the rates in these intervals
	low     int       // how often in a row one fewer would have been enough
	trial   trial
}

// trial is a spread whose outcome is not known yet.
type trial struct {
	added   []*Processor // the Processors it activated; nil if there is no trial
	before  float64      // resumes per second before it
	work    float64      // sum of the rates since the connections have moved
	samples int          // since it began
	after   time.Time    // no other trial until then
	pause   time.Duration
}

// actives are the Processors that get new work.
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
// they are needed; without it all are active. It is called before the first has
// started.
func (g *Group) SetMinActive(n int) {
	g.minActive = min(n, len(g.members))
	for i, p := range g.members {
		p.active.Store(i < g.minActive)
	}
	g.setDomains()
}

// IsActive reports whether p gets new work. Any thread.
func (p *Processor) IsActive() bool { return p.active.Load() }

// balance measures how busy the members are, and moves work. The monitor calls
// it.
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
	resumes, busyNs := uint64(0), int64(0)
	for i, p := range g.members {
		ns := p.BusyNs()
		b.busy[i] = float64(ns-b.busyNs[i]) / float64(span)
		busyNs += ns - b.busyNs[i]
		b.busyNs[i] = ns
		resumes += p.ex.Stats.Resumes.Load()
	}
	b.rate = float64(resumes-b.resumes) / span.Seconds()
	if runs := resumes - b.resumes; runs > 0 { // else as before
		b.runNs = float64(busyNs) / float64(runs)
	}
	b.resumes = resumes
	if stale {
		b.high, b.low, b.work = 0, 0, 0
		return
	}
	if g.sharing.Load() && b.endsSharing(float64(busyNs)/float64(span)) {
		g.sharing.Store(false)
	}
	if g.sharing.Load() {
		g.decideDomains(b)
	} else {
		g.decide(b)
	}
}

// endsSharing reports whether sharing is to end: it has not been worth it
// packAfter times in a row. busy is how many Processors' time the group uses.
func (b *balancer) endsSharing(busy float64) bool {
	b.seldom = rising(b.seldom, b.runNs < longBelowNs || alone(busy, b.runNs) < waitBelowNs)
	if b.seldom < packAfter {
		return false
	}
	b.seldom = 0
	return true
}

// alone returns how long an event would wait, on average, if one Processor
// served all of a load that keeps it busy for a part of the time with runs of
// runNs: what M/D/1 has, by Pollaczek and Khinchin.
func alone(busy, runNs float64) float64 {
	if busy >= 1 {
		return math.Inf(1)
	}
	return busy * runNs / (2 * (1 - busy))
}

// decide acts on the measurements as the table above says.
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
		hot.requestMove(cold, int(float64(hot.movable())*(most-b.busy[cold.cfg.Index])/(2*most)))
		b.high, b.work = 0, 0
	case b.low >= packAfter && cold != hot:
		g.pack(b)
		b.low = 0
	}
	g.packAgain(b)
}

// decideDomains is decide for domains, while their members share. All members
// of a domain are active, or none.
func (g *Group) decideDomains(b *balancer) {
	var hot, cold, spare []*Processor
	most, least, sum, active := 0.0, 0.0, 0.0, 0
	for d := range slices.Chunk(g.members, domainSize) {
		busy := 0.0
		for _, p := range d {
			busy += b.busy[p.cfg.Index] / float64(len(d))
		}
		if !d[0].active.Load() {
			if spare == nil {
				spare = d
			}
			continue
		}
		active++
		sum += busy
		if hot == nil || busy > most {
			hot, most = d, busy
		}
		if cold == nil || busy <= least {
			cold, least = d, busy
		}
	}
	b.high, b.low = rising(b.high, most > domainAbove), rising(b.low,
		active > 1 && sum < packBelow*float64(active-1))
	switch {
	case b.high >= 2 && spare != nil:
		moveDomain(hot, spare, 0.5)
		b.high = 0
	case b.high >= 2 && most-least > unevenAbove:
		moveDomain(hot, cold, (most-least)/(2*most))
		b.high = 0
	case b.low >= packAfter && !sameDomain(cold, hot):
		for _, p := range cold {
			p.active.Store(false)
		}
		moveDomain(cold, hot, 1)
		b.low = 0
	}
}

// rising returns how often in a row something was found.
func rising(n int, found bool) int {
	if found {
		return n + 1
	}
	return 0
}

func sameDomain(a, b []*Processor) bool { return &a[0] == &b[0] }

// moveDomain has the members of a domain move a part of their work to another,
// which is active from then on.
func moveDomain(from, to []*Processor, part float64) {
	for _, p := range to {
		p.active.Store(true)
	}
	for i, p := range from {
		n := moveAll
		if part < 1 {
			n = int(part * float64(p.homes()))
		}
		p.requestMove(to[i%len(to)], n)
	}
}

// pack has the least busy Processor give all away to the next least busy.
func (g *Group) pack(b *balancer) {
	p := g.leastBusy(b, g.minActive)
	p.active.Store(false)
	p.requestMove(g.leastBusy(b, 0), moveAll)
}

// packAgain has inactive Processors give away what has come to them since, and
// what was running when they gave the rest. It does not ring: a Processor that
// sleeps may go on sleeping.
func (g *Group) packAgain(b *balancer) {
	for i, p := range g.members {
		has := p.ep.Registered() > 0 || p.ex.Stats.Live.Load() > 0
		if has && !p.active.Load() && b.busy[i] > 0 {
			p.moveRequest.CompareAndSwap(nil, &moveRequest{g.leastBusy(b, 0), moveAll})
		}
	}
}

// spread has every active Processor that is busier than busyAbove give half of
// its work to an inactive one.
func (g *Group) spread(b *balancer) {
	t := &b.trial
	t.before, t.work, t.samples = b.work/float64(max(b.high, 1)), 0, 0
	spare := slices.DeleteFunc(slices.Clone(g.members), (*Processor).IsActive)
	before := slices.Collect(g.actives())
	for _, p := range before {
		if len(spare) > 0 && b.busy[p.cfg.Index] > busyAbove && p.movable() > 1 {
			t.added = append(t.added, spare[0])
			spare[0].active.Store(true) // first: p moves work to active ones only
			p.requestMove(spare[0], p.movable()/2)
			spare = spare[1:]
		}
	}
	b.high, b.work = 0, 0
}

// judge ends a trial that has lasted long enough, and undoes the spread if it
// has failed.
func (g *Group) judge(b *balancer) {
	t := &b.trial
	over, failed := t.sample(b.rate, b.at)
	if failed {
		for _, p := range t.added {
			p.active.Store(false)
		}
		for _, p := range t.added {
			p.requestMove(g.leastBusy(b, 0), moveAll)
		}
	}
	if over {
		t.added = nil
	}
}

// sample adds one interval's rate, and reports whether the trial is over, and
// whether it has failed.
func (t *trial) sample(rate float64, now time.Time) (over, failed bool) {
	if t.samples++; t.samples > trialSettles {
		t.work += rate
	}
	if t.samples < trialSettles+trialSamples {
		return false, false
	}
	switch gain := t.work / trialSamples / t.before; {
	case gain >= trialGain:
		t.pause = 0
	case gain > trialGone:
		t.pause = min(max(2*t.pause, trialPauseMin), trialPauseMax)
		t.after = now.Add(t.pause)
		return true, true
	}
	return true, false
}

// leastBusy returns the least busy active member from an index on, the first of
// equals. Precondition: there is one.
func (g *Group) leastBusy(b *balancer, from int) (least *Processor) {
	for _, p := range g.members[from:] {
		if p.active.Load() && (least == nil || b.busy[p.cfg.Index] < b.busy[least.cfg.Index]) {
			least = p
		}
	}
	return least
}

// movable is how much work p could share: the number of its connections, or of
// its ready coroutines if that is higher. Any thread.
func (p *Processor) movable() int {
	return max(p.ep.Registered(), int(p.Stats.Queued.Load()))
}

// requestMove asks p to move n connections to another Processor, and as many of
// its ready coroutines. Any thread.
func (p *Processor) requestMove(to *Processor, n int) {
	p.moveRequest.Store(&moveRequest{to, n})
	p.ex.RequestPreempt()
	p.ep.Ring()
}
