package processor

import (
	"cmp"
	"math"
	"slices"
)

// Elastic Processors: work is packed on as few Processors as it needs. A thread
// that wakes for one event costs more than the event; a busy thread finds many
// events in each poll. So at partial load a few busy Processors take less CPU
// and answer sooner than many that are mostly asleep.
//
// Active Processors get new work. Every balanceEvery the monitor measures the
// group (interval), policy.decide says what to do, and the monitor does it
// (balance.go). decide and runMeter.note depend on their arguments alone: tests
// and a simulation of up to 128 Processors (docs/SCALING.md) drive them.
//
//	finding                               action
//	a Processor is busier than busyAbove  spread: each that is so busy moves
//	spreadAfter times in a row, and runs  half of its connections and of its
//	wait for waitAboveNs there            ready coroutines to an inactive one,
//	                                      which becomes active
//	a spread did not raise the work done  undo it, and wait before the next
//	per second, nor was it kept for
//	shorter waits
//	a Processor is so busy evenAfter      even out the difference
//	times in a row, and another is less
//	busy by unevenAbove
//	the active ones together, packAfter   pack, until it is not so: the least
//	times in a row, would keep one fewer  busy gives all away and becomes
//	busy for packBelow                    inactive
//	an inactive Processor was busy        it gives all away in its next turn
//	a Processor's runs take longAboveNs   all become active and share, from
//	and waited for waitAboveNs, on        their next turn on (share.go)
//	average
//	packAfter times in a row runs take    sharing ends
//	less than longBelowNs, or would
//	wait for less than waitBelowNs on
//	one Processor
//
// A spread is a trial, because only its outcome shows whether there is a core
// for another thread. If peers or other programs run on this machine, a second
// thread may take CPU time from them that the first thread needs. An open
// loop's work cannot rise: a spread is also kept if runs hardly wait any more,
// no less work is done, and the Processors together are not much busier, as
// they would be if they waited for a core. In a closed loop waits fall too,
// since fewer coroutines are in each queue, but not by so much, and requests
// wait elsewhere instead.
//
// Where a run takes longAboveNs, an event waits for the handler before it, and
// one wake serves no more than one event: packing saves little and costs much.
// With 100 µs in the handler and 8,000 requests a second, one Processor has six
// times the p90 of two. So while a group shares, no Processor is packed away.
const (
	busyAbove   = 0.9
	spreadAfter = 4
	unevenAbove = 0.25
	evenAfter   = 2
	packBelow   = 0.6
	packAfter   = 15

	longAboveNs = 30_000
	longBelowNs = 20_000
	waitAboveNs = 15_000
	waitBelowNs = 7_500

	offerRunNs  = 15_000
	offerWaitNs = 100_000

	trialSettles  = 2    // intervals until the connections have moved
	trialSamples  = 5    // intervals after these
	trialGain     = 1.2  // by what factor the work done has to rise, unless
	trialKeeps    = 0.97 // it falls to no less than this part,
	trialSaves    = 0.75 // the waits fall by this part or more,
	trialBusy     = 1.2  // and the Processors together are no busier than by this factor
	trialGone     = 0.3  // with less work the trial is not judged: the load has gone
	trialPauseMin = 200  // intervals
	trialPauseMax = 3200

	// runsNoted is how many runs the mean length averages: enough for a steady
	// mean if one run in twenty is long.
	runsNoted = 256

	// timedNs is how much CPU time must have been measured: the first runs of
	// connections are long, and now and then a turn has long runs.
	timedNs = 10_000_000

	// After timedNs one turn in timedEvery is measured: two reads of the CPU
	// time are system calls, and took a tenth of a request's time.
	timedEvery = 7

	// batchNs bounds how long the events that a sharing Processor takes at once
	// may take to serve: other Processors could serve them meanwhile.
	batchNs = 40_000
)

// interval has the measurements of a group over one interval. The members are
// in the order of their indices.
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
	waitNs float64 // how long a coroutine was ready before a run, on average
	active bool
	shares int // how many pieces of work could move, see Processor.movable
	cpuNs  int // CPU time of a run, by its runMeter; 0: not known
}

// decision has the actions that a group is to take.
type decision struct {
	endSharing bool
	moves      []move
}

// move makes a member give a part of its work to another, which becomes active.
// If the part is 1 the giver becomes inactive.
type move struct {
	from, to int
	part     float64
}

// policy is the state that decide keeps from one interval for the next.
type policy struct {
	runNs  float64 // mean length of runs in the last interval that had any
	seldom int     // how often in a row sharing was not worth it
	high   tally   // the last intervals, in which a Processor was too busy
	low    int     // how often in a row one Processor fewer would have been enough
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
	n    int
	rate float64 // resumes per second
	wait float64 // of the busiest Processor's runs, in ns
	busy float64 // of all active Processors
}

func (t *tally) add(rate, wait, busy float64) {
	t.n++
	t.rate += rate
	t.wait += wait
	t.busy += busy
}

// decide returns the decision after an interval, and the policy for the next
// one.
func (po policy) decide(m interval) (policy, decision) {
	var d decision
	d.endSharing = po.endsSharing(m)
	if m.sharing {
		po.trial.added = nil
	}
	if m.stale || m.sharing {
		po.high, po.low = tally{}, 0
		return po, d
	}
	l := m.levels()
	if l.active == 0 {
		return po, d
	}
	rate, hot := float64(m.runs)/m.seconds, m.members[l.hot]
	if hot.busy > busyAbove && hot.waitNs >= waitAboveNs {
		po.high.add(rate, hot.waitNs, l.sum)
	} else {
		po.high = tally{}
	}
	po.low = rising(po.low, l.packs >= 0 && l.sum < packBelow*float64(l.active-1))
	po.trial.wait = max(po.trial.wait-1, 0)
	switch uneven := hot.busy - m.members[l.cold].busy; {
	case po.trial.added != nil:
		over, failed := po.trial.sample(rate, hot.waitNs, l.sum)
		if failed {
			for _, i := range po.trial.added {
				d.moves = append(d.moves, move{i, m.leastBusy(po.trial.added...), 1})
			}
		}
		if over {
			po.trial.added = nil
		}
	case po.high.n >= spreadAfter && l.spare >= 0 && po.trial.wait == 0 && hot.shares > 1:
		m.spread(&d)
		po.trial.begin(d, po.high)
		po.high = tally{}
	case po.high.n >= evenAfter && uneven > unevenAbove:
		d.moves = append(d.moves, move{l.hot, l.cold, uneven / (2 * hot.busy)})
		po.high = tally{}
	case po.low >= packAfter:
		d.moves = append(d.moves, move{l.packs, m.leastBusy(l.packs), 1})
	}
	if d.moves == nil {
		m.packAgain(&d)
	}
	return po, d
}

// begin begins the trial of a spread.
func (t *trial) begin(spread decision, before tally) {
	t.before, t.since, t.age = before, tally{}, 0
	for _, m := range spread.moves {
		t.added = append(t.added, m.to)
	}
}

// sample adds an interval's figures, and reports whether the trial is over, and
// whether it has failed.
func (t *trial) sample(rate, wait, busy float64) (over, failed bool) {
	if t.age++; t.age > trialSettles {
		t.since.add(rate, wait, busy)
	}
	if t.age < trialSettles+trialSamples {
		return false, false
	}
	scale := float64(t.before.n) / float64(t.since.n)
	gain := t.since.rate * scale / t.before.rate
	saves := t.since.wait*scale <= (1-trialSaves)*t.before.wait &&
		t.since.busy*scale <= trialBusy*t.before.busy
	switch {
	case gain >= trialGain, gain >= trialKeeps && saves:
		t.pause = 0
		return true, false
	case gain <= trialGone:
		return true, false
	}
	t.pause = min(max(2*t.pause, trialPauseMin), trialPauseMax)
	t.wait = t.pause
	return true, true
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
		(po.runNs < longBelowNs || waitOnOne(busy, po.runNs) < waitBelowNs))
	if po.seldom < packAfter {
		return false
	}
	po.seldom = 0
	return true
}

// waitOnOne returns how long an event would wait, on average, if one Processor
// served the whole load, which keeps it busy for that share of the time with
// runs of runNs: an M/D/1 queue, by Pollaczek and Khinchin.
func waitOnOne(busy, runNs float64) float64 {
	if busy >= 1 {
		return math.Inf(1)
	}
	return busy * runNs / (2 * (1 - busy))
}

// spread makes every Processor that is too busy give half of its work to an
// inactive one.
func (iv interval) spread(d *decision) {
	spare := 0
	for i, p := range iv.members {
		if !p.active || p.busy <= busyAbove || p.shares < 2 {
			continue
		}
		for spare < len(iv.members) && iv.members[spare].active {
			spare++
		}
		if spare == len(iv.members) {
			return
		}
		d.moves = append(d.moves, move{i, spare, 0.5})
		spare++
	}
}

// levels compares the members; -1 is none of them.
type levels struct {
	hot, cold int     // the busiest and the least busy active member, the last of equals
	spare     int     // the first inactive member
	packs     int     // the least busy member that may become inactive, the last of equals
	sum       float64 // how busy the active members are together
	active    int
}

func (iv interval) levels() levels {
	l := levels{hot: -1, cold: -1, spare: -1, packs: -1}
	for i, p := range iv.members {
		if !p.active {
			if l.spare < 0 {
				l.spare = i
			}
			continue
		}
		l.active++
		l.sum += p.busy
		if l.hot < 0 || p.busy > iv.members[l.hot].busy {
			l.hot = i
		}
		if l.cold < 0 || p.busy <= iv.members[l.cold].busy {
			l.cold = i
		}
		if i >= iv.minActive && (l.packs < 0 || p.busy <= iv.members[l.packs].busy) {
			l.packs = i
		}
	}
	return l
}

// leastBusy returns the least busy active member that is not in except, the
// first of equals. Precondition: such a member exists.
func (iv interval) leastBusy(except ...int) int {
	least := -1
	for i, p := range iv.members {
		if p.active && !slices.Contains(except, i) &&
			(least < 0 || p.busy < iv.members[least].busy) {
			least = i
		}
	}
	return least
}

// packAgain makes inactive Processors give away work that has come since they
// gave theirs away, and coroutines that were running then.
func (iv interval) packAgain(d *decision) {
	for i, p := range iv.members {
		if !p.active && p.busy > 0 && p.shares > 0 {
			d.moves = append(d.moves, move{i, iv.leastBusy(), 1})
		}
	}
}

// rising returns how often in a row a condition has held.
func rising(n int, found bool) int {
	if found {
		return n + 1
	}
	return 0
}

// runMeter measures how long coroutines run and wait on average. All fields:
// owner.
//
// By the clock, runs also seem long beside other programs that compute, since
// turns include their time. So where runs seem long, CPU time is read before
// and after a turn's runs, and decides.
type runMeter struct {
	runNs    float64 // from a resume to the next wait, by the clock
	waitNs   float64 // from an event or a wake to the resume
	cpuNs    float64 // CPU time of a run; 0: not known
	ran      int     // runs in cpuNs, since readsCPU was set
	readsCPU bool    // CPU time is to be read
	turns    uint    // turns in which CPU time was wanted
	shared   bool    // the group was sharing at the last turn
}

// note adds a turn whose runs waited for waitNs in all, in a group that is
// sharing, or may share. It reports whether the group is to begin sharing, and
// how many events a Processor is to take at once; 0: no change.
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
		r.readsCPU, r.cpuNs, r.ran = false, 0, 0
	} else if r.turns++; r.takes(0) {
		r.readsCPU = r.turns%timedEvery == 0
	} else {
		r.readsCPU = true
	}
	if sharing {
		return false, max(int(batchNs/cmp.Or(r.cpuNs, r.runNs)), 1)
	}
	return may && r.runNs >= longAboveNs && r.waitNs >= waitAboveNs && r.takes(longAboveNs), 0
}

// takes reports whether runs are known to take at least ns of CPU time.
func (r *runMeter) takes(ns float64) bool {
	return r.cpuNs >= ns && r.cpuNs*float64(r.ran) >= timedNs
}

// offers reports whether ready coroutines are to be offered to another
// Processor: queued are ready now, and before were ready before the last poll.
// Coroutines that events have made ready stay together, as packing wants,
// unless the group is sharing; coroutines woke the others, or the last turn did
// not get to them.
func (r *runMeter) offers(queued, before int, sharing bool) bool {
	return sharing && queued > 1 ||
		before > 1 && r.takes(offerRunNs) && r.cpuNs*float64(before) >= offerWaitNs
}

// used adds the CPU time of a number of runs.
func (r *runMeter) used(cpuNs int64, runs int) {
	r.ran += runs
	weight := float64(runs) / float64(min(r.ran, runsNoted))
	r.cpuNs += (float64(cpuNs)/float64(runs) - r.cpuNs) * weight
}

// wholeBatch is as many events as Poll can return.
const wholeBatch = math.MaxInt
