package processor

import (
	"cmp"
	"math"
	"slices"
)

// Elastic Processors: work is packed on as few Processors as it needs. A thread
// that wakes for one event costs more than the event; a busy one finds many
// events in each poll. So at partial load a few busy Processors take less CPU
// and answer sooner than many that are mostly asleep.
//
// Active Processors get new work. Every balanceEvery the monitor measures the
// group (interval), policy.decide says what to do, and the monitor has it done
// (balance.go). decide and runMeter.note depend on their arguments alone: the
// tests drive them, and a simulation of up to 128 Processors
// (docs/SCALING.md).
//
// Units are spread, evened out and packed: a Processor, or while Processors
// share their fds (share.go) a domain of them.
//
//	finding                               action
//	a Processor is busier than busyAbove  spread: each that is so busy moves
//	spreadAfter times in a row and runs   half of its connections and of its
//	wait for waitAboveNs there, or a      ready coroutines to an inactive one,
//	domain than domainAbove, and not all  which becomes active
//	are active
//	a spread of Processors did not raise  undo it, and wait before the next
//	the work done per second, nor was it
//	kept for shorter waits
//	a Processor is as busy twice in a     even out the difference
//	row, or a domain, and another is
//	less busy by unevenAbove
//	the active ones together, packAfter   pack: the least busy gives all away
//	times in a row, would keep one fewer  and becomes inactive
//	busy for packBelow or domainBelow
//	an inactive Processor was busy        it gives all away in its next turn
//	a Processor's runs take longAboveNs   the members of a domain share, from
//	and waited for waitAboveNs, on        its next turn on
//	average
//	packAfter times in a row runs take    sharing ends
//	less than longBelowNs, or would
//	wait for less than waitBelowNs on
//	one Processor
//
// A spread of Processors is a trial, because only its outcome shows whether
// there is a core for another thread. Where the peers, or other programs, are
// on this machine, a second thread may take from them what the first one needs.
// An open loop's work cannot rise: a spread is kept as well if runs hardly wait
// any more, no less work is done, and the Processors together are not much
// busier with it, as they are where they wait for a core. In a closed loop
// waits fall too, since fewer coroutines are in each queue, but not by so much,
// and requests wait elsewhere instead.
//
// Where a run takes longAboveNs, an event waits for the handler before it, and
// one wake serves no more than one event: packing saves little and costs much.
// With 100 µs in the handler and 8,000 requests a second, one Processor has six
// times the p90 of two.
//
// Domains are spread sooner than Processors: with long runs the next thread's
// wakes cost a hundredth of the work, and every domain has a queue of its own.
const (
	busyAbove   = 0.9
	spreadAfter = 4
	unevenAbove = 0.25
	packBelow   = 0.6
	packAfter   = 15

	domainAbove = 0.5
	domainBelow = 0.3

	longAboveNs = 30_000
	longBelowNs = 20_000
	waitAboveNs = 15_000
	waitBelowNs = 7_500

	offerRunNs  = 15_000
	offerWaitNs = 100_000

	trialSettles  = 2      // intervals until the connections have moved
	trialSamples  = 5      // intervals after these
	trialWaitNs   = 50_000 // of a run's wait must be saved
	trialSaves    = 0.75   // and such a part of it
	trialKeeps    = 0.97
	trialBusy     = 1.2
	trialGone     = 0.3 // with less work than this share there is no verdict: the load has gone
	trialPauseMin = 200 // intervals
	trialPauseMax = 3200

	// runsNoted is over how many runs their length is averaged. With it, one
	// long run in twenty makes for a steady mean.
	runsNoted = 256

	// timedNs is how much CPU time must have been measured: the first runs of
	// connections are long, and now and then a turn has long runs.
	timedNs = 10_000_000

	// timedEvery is of how many turns one is measured from then on: two reads
	// of the CPU time are system calls, and took a tenth of a request's time.
	timedEvery = 7

	// batchNs bounds how long the events that a sharing Processor takes at once
	// may take to serve: others could serve them meanwhile.
	batchNs = 40_000
)

// trialGain is by what factor a spread has to raise the work done. A variable
// for tests.
var trialGain = 1.2

// interval has the measurements of a group in some time. The members are in the
// order of their indices.
type interval struct {
	members   []measured
	minActive int
	sharing   bool
	seconds   float64 // how long it was
	runs      uint64  // resumes in it
	stale     bool    // it was too long to say how busy the members are now
}

// measured has the measurements of one member.
type measured struct {
	busy   float64 // as a share of the interval
	waitNs float64 // how long a run was ready before, on average
	active bool
	shares int  // how many pieces of work could move, see Processor.movable
	cpuNs  int  // CPU time of a run, by its runMeter; 0: not known
	holds  bool // fds or coroutines
}

// decision says what a group is to do, in this order.
type decision struct {
	endSharing bool

	activate, deactivate []int // members
	moves                []move
}

// move makes a member give a part of its work to another, all of it if the part
// is 1.
type move struct {
	from, to int
	part     float64
	sleeping bool // a member that sleeps may go on sleeping
}

// policy is the state that decide keeps from one interval for the next.
type policy struct {
	runNs  float64 // mean length of the runs of the last interval that had any
	seldom int     // how often in a row sharing was not worth it
	high   tally   // the last intervals, in which a unit was too busy
	low    int     // how often in a row one fewer would have been enough
	trial  trial
}

// trial is a spread whose outcome is not known yet.
type trial struct {
	added  []int // the members it activated; nil if there is no trial
	before tally
	since  tally // since the connections have moved
	age    int   // intervals since it began
	wait   int   // intervals until the next trial may begin
	pause  int   // the number that wait began with
}

// tally has the sums over n intervals.
type tally struct {
	n      int
	rate   float64 // resumes per second
	waitNs float64 // of the busiest unit's runs
	busy   float64 // of all units
}

func (t *tally) add(rate, waitNs, busy float64) {
	t.n++
	t.rate += rate
	t.waitNs += waitNs
	t.busy += busy
}

// decide returns the decision after an interval, and the policy for the next
// one.
func (po policy) decide(m interval) (policy, decision) {
	var d decision
	d.endSharing = po.endsSharing(m)
	if m.stale {
		po.high, po.low = tally{}, 0
		return po, d
	}
	size, above, below := 1, busyAbove, packBelow
	after, evenAfter := spreadAfter, 2
	if m.sharing && !d.endSharing {
		size, above, below = domainSize, domainAbove, domainBelow
		after, evenAfter = 1, 1
		po.trial.added = nil
	}
	u := m.units(size)
	if u.active == 0 {
		return po, d
	}
	rate, waitNs := float64(m.runs)/m.seconds, m.members[u.hot].waitNs
	if u.most > above && (size > 1 || waitNs >= waitAboveNs) {
		po.high.add(rate, waitNs, u.sum)
	} else {
		po.high = tally{}
	}
	po.low = rising(po.low, u.packs >= 0 && u.sum < below*float64(u.active-1))
	po.trial.wait = max(po.trial.wait-1, 0)
	switch {
	case po.trial.added != nil:
		over, failed := po.trial.sample(rate, waitNs, u.sum)
		if failed {
			po.undo(m, &d)
		}
		if over {
			po.trial.added = nil
		}
	case po.high.n >= after && u.spare >= 0 && (size > 1 ||
		po.trial.wait == 0 && m.members[u.hot].shares > 1):
		po.spread(m, size, above, &d)
	case po.high.n >= evenAfter && u.most-u.least > unevenAbove:
		m.give(u.hot, u.cold, size, (u.most-u.least)/(2*u.most), &d)
		po.high = tally{}
	case po.low >= packAfter:
		for i := range m.unit(u.packs, size) {
			d.deactivate = append(d.deactivate, u.packs+i)
		}
		m.give(u.packs, m.leastBusy(size, u.packs), size, 1, &d)
		po.low = 0
	}
	if size == 1 {
		m.packAgain(&d)
	}
	return po, d
}

// endsSharing reports whether sharing is to end: it has not been worth it
// packAfter times in a row.
func (po *policy) endsSharing(m interval) bool {
	busy, cpu, known := 0.0, 0.0, 0.0 // busy: how many Processors' time the group uses
	for _, p := range m.members {
		busy += p.busy
		if p.cpuNs > 0 && p.active {
			cpu += float64(p.cpuNs)
			known++
		}
	}
	if m.runs > 0 {
		po.runNs = busy * m.seconds * 1e9 / float64(m.runs)
		if known > 0 {
			po.runNs = min(po.runNs, cpu/known)
		}
	}
	po.seldom = rising(po.seldom, m.sharing && !m.stale &&
		(po.runNs < longBelowNs || alone(busy, po.runNs) < waitBelowNs))
	if po.seldom < packAfter {
		return false
	}
	po.seldom = 0
	return true
}

// alone returns how long an event would wait, on average, if one Processor
// served all of a load that keeps it busy for a part of the time with runs of
// runNs: an M/D/1 queue, by Pollaczek and Khinchin.
func alone(busy, runNs float64) float64 {
	if busy >= 1 {
		return math.Inf(1)
	}
	return busy * runNs / (2 * (1 - busy))
}

// spread makes every unit that is busier than above give half of its work to an
// inactive one.
func (po *policy) spread(m interval, size int, above float64, d *decision) {
	spare := 0
	for i := 0; i < len(m.members); i += size {
		if p := m.members[i]; !p.active || m.busy(i, size) <= above || size == 1 && p.shares < 2 {
			continue
		}
		for spare < len(m.members) && m.members[spare].active {
			spare += size
		}
		if spare >= len(m.members) {
			break
		}
		for j := range m.unit(spare, size) {
			d.activate = append(d.activate, spare+j)
		}
		m.give(i, spare, size, 0.5, d)
		spare += size
	}
	if t := &po.trial; size == 1 {
		t.added, t.before, t.since, t.age = d.activate, po.high, tally{}, 0
	}
	po.high = tally{}
}

// undo takes a spread back that has failed.
func (po *policy) undo(m interval, d *decision) {
	d.deactivate = po.trial.added
	for _, i := range po.trial.added {
		d.moves = append(d.moves, move{i, m.leastBusy(1, po.trial.added...), 1, false})
	}
}

// sample adds what a tally has of an interval, and reports whether the trial is
// over, and whether it has failed.
func (t *trial) sample(rate, waitNs, busy float64) (over, failed bool) {
	if t.age++; t.age > trialSettles {
		t.since.add(rate, waitNs, busy)
	}
	if t.age < trialSettles+trialSamples {
		return false, false
	}
	n := float64(t.before.n)
	scale := n / float64(t.since.n)
	waited := t.before.waitNs
	saves := waited-t.since.waitNs*scale >= max(trialWaitNs*n, trialSaves*waited) &&
		t.since.busy*scale <= trialBusy*t.before.busy
	switch gain := t.since.rate * scale / t.before.rate; {
	case gain >= trialGain, gain >= trialKeeps && saves:
		t.pause = 0
	case gain > trialGone:
		t.pause = min(max(2*t.pause, trialPauseMin), trialPauseMax)
		t.wait = t.pause
		return true, true
	}
	return true, false
}

// units has the units that decide compares. A unit is given by its first
// member, -1 for none.
type units struct {
	hot, cold   int     // the busiest active one, and the least busy, the last of equals
	spare       int     // the first inactive one
	packs       int     // the least busy one that may become inactive, the last of equals
	most, least float64 // how busy hot and cold are
	sum         float64 // of all active ones
	active      int
}

// units compares the units of a size.
func (iv interval) units(size int) units {
	u := units{hot: -1, cold: -1, spare: -1, packs: -1}
	for i := 0; i < len(iv.members); i += size {
		if !iv.members[i].active {
			if u.spare < 0 {
				u.spare = i
			}
			continue
		}
		busy := iv.busy(i, size)
		u.active++
		u.sum += busy
		if u.hot < 0 || busy > u.most {
			u.hot, u.most = i, busy
		}
		if u.cold < 0 || busy <= u.least {
			u.cold, u.least = i, busy
		}
		if i >= iv.minActive && (u.packs < 0 || busy <= iv.busy(u.packs, size)) {
			u.packs = i
		}
	}
	return u
}

// unit returns the members of the unit that begins with one.
func (iv interval) unit(from, size int) []measured {
	return iv.members[from:min(from+size, len(iv.members))]
}

// busy returns how busy the members of a unit are on average.
func (iv interval) busy(from, size int) (sum float64) {
	unit := iv.unit(from, size)
	for _, p := range unit {
		sum += p.busy
	}
	return sum / float64(len(unit))
}

// leastBusy returns the least busy active unit that is not in except, the first
// of equals. Precondition: there is one.
func (iv interval) leastBusy(size int, except ...int) int {
	least := -1
	for i := 0; i < len(iv.members); i += size {
		if iv.members[i].active && !slices.Contains(except, i) &&
			(least < 0 || iv.busy(i, size) < iv.busy(least, size)) {
			least = i
		}
	}
	return least
}

// give makes the members of a unit move a part of their work to the members of
// another.
func (iv interval) give(from, to, size int, part float64, d *decision) {
	n := len(iv.unit(to, size))
	for i := range iv.unit(from, size) {
		d.moves = append(d.moves, move{from: from + i, to: to + i%n, part: part})
	}
}

// packAgain makes inactive Processors give away work that has come to them
// since, and coroutines that were running when they gave the rest.
func (iv interval) packAgain(d *decision) {
	for i, p := range iv.members {
		if !p.active && p.holds && p.busy > 0 && !slices.Contains(d.activate, i) {
			d.moves = append(d.moves, move{i, iv.leastBusy(1, d.deactivate...), 1, true})
		}
	}
}

// rising returns how often in a row a condition was found.
func rising(n int, found bool) int {
	if found {
		return n + 1
	}
	return 0
}

// runMeter measures how long coroutines run and wait on average. All fields:
// owner.
//
// By the clock, runs are long also beside other programs that compute, since
// turns include the time of those. So where runs seem to be long, CPU time is
// read before and after a turn's runs, and decides.
type runMeter struct {
	runNs  float64 // from a resume to the next wait, by the clock
	waitNs float64 // from an event or a wake to the resume
	cpuNs  float64 // CPU time of a run; 0: not known
	ran    int     // runs in cpuNs, since exact
	exact  bool    // CPU time is to be read
	turns  uint    // in which it was wanted
	shared bool    // the group was sharing at the last turn
}

// note adds a turn with so many runs, which waited for waitNs in all, in a
// group that is sharing, or may share. It reports whether the group is to begin
// sharing, and how many events a Processor is to take at once; 0: no change.
func (r *runMeter) note(turnNs, waitNs int64, runs int, sharing, may bool) (begin bool, batch int) {
	weight := min(float64(runs)/runsNoted, 1)
	r.runNs += (float64(turnNs)/float64(runs) - r.runNs) * weight
	r.waitNs += (float64(waitNs)/float64(runs) - r.waitNs) * weight
	if r.shared && !sharing {
		*r = runMeter{}
		return false, wholeBatch
	}
	r.shared = sharing
	if wanted := sharing || may && r.runNs >= longBelowNs; !wanted {
		r.exact, r.cpuNs, r.ran = false, 0, 0
	} else if r.turns++; r.takes(0) {
		r.exact = r.turns%timedEvery == 0
	} else {
		r.exact = true
	}
	if sharing {
		return false, max(int(batchNs/cmp.Or(r.cpuNs, r.runNs)), 1)
	}
	return may && r.runNs >= longAboveNs && r.waitNs >= waitAboveNs && r.takes(longAboveNs), 0
}

// takes reports whether runs are known to take so much CPU time or more.
func (r *runMeter) takes(ns float64) bool {
	return r.cpuNs >= ns && r.cpuNs*float64(r.ran) >= timedNs
}

// offers reports whether ready coroutines are to be offered to another
// Processor: queued of them are ready now, and before were before the last
// poll. Coroutines that events have made ready stay together, as packing wants,
// unless the group is sharing; the others were woken by coroutines, or the last
// turn did not get to them.
func (r *runMeter) offers(queued, before int, sharing bool) bool {
	return sharing && queued > 1 ||
		before > 1 && r.takes(offerRunNs) && r.cpuNs*float64(before) >= offerWaitNs
}

// used adds the CPU time of so many runs.
func (r *runMeter) used(cpuNs int64, runs int) {
	r.ran += runs
	weight := float64(runs) / float64(min(r.ran, runsNoted))
	r.cpuNs += (float64(cpuNs)/float64(runs) - r.cpuNs) * weight
}

// wholeBatch is as many events as Poll can return.
const wholeBatch = math.MaxInt
