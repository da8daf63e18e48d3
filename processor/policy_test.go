package processor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// text is what a decision has moved, as "0>1:0.5".
func (d decision) text() (moves []string) {
	for _, m := range d.moves {
		part := fmt.Sprintf("%.2g", m.part)
		if m.part == 1 {
			part = "all"
		}
		moves = append(moves, fmt.Sprintf("%d>%d:%s", m.from, m.to, part))
	}
	return moves
}

// apply has the members of an interval be as active as decided.
func (d decision) apply(m interval) {
	for _, move := range d.moves {
		m.members[move.to].active = true
		m.members[move.from].active = move.part < 1
	}
}

// marks are the active ones of members, as "+" among "-".
func (iv interval) marks() string {
	var s strings.Builder
	for _, p := range iv.members {
		if p.active {
			s.WriteByte('+')
		} else {
			s.WriteByte('-')
		}
	}
	return s.String()
}

// The state of each member before a decision.
type (
	busy  = []float64
	works = []int // pieces of work
)

// members is an interval of so many milliseconds with active members as marks.
func members(active string, busy busy, works works) interval {
	m := interval{minActive: 1, seconds: 0.02}
	for i, mark := range active {
		p := measured{active: mark == '+', busy: busy[i], shares: 8, waitNs: waitAboveNs}
		if works != nil {
			p.shares = works[i]
		}
		m.members = append(m.members, p)
	}
	return m
}

// decisions are for TestDecide: in the first line what was measured and what
// was before, in the second what is decided and what is then.
var decisions = []struct {
	name      string
	min       int
	active    string // as marks
	busy      busy
	works     works
	high, low int // how often in a row it was so before

	moves             []string // as text
	becomes           string   // as marks
	lastHigh, lastLow int
}{
	{"busy once", 1, "+-", busy{1, 0}, works{8, 0}, 0, 0,
		nil, "+-", 1, 0},
	{"busy for long", 1, "+-", busy{1, 0}, works{8, 0}, spreadAfter - 1, 0,
		[]string{"0>1:0.5"}, "++", 0, 0},
	{"busy, not enough", 1, "+-", busy{0.9, 0}, works{8, 0}, 1, 0,
		nil, "+-", 0, 0},
	{"busy with one fd", 1, "+-", busy{1, 0}, works{1, 0}, spreadAfter - 1, 0,
		nil, "+-", spreadAfter, 0},
	{"the busiest of three", 1, "++-", busy{0.4, 1, 0}, works{8, 6, 0}, spreadAfter - 1, 0,
		[]string{"1>2:0.5"}, "+++", 0, 0},
	{"two of four", 1, "++--", busy{0.95, 1, 0, 0}, works{8, 6, 0, 0}, spreadAfter - 1, 0,
		[]string{"0>2:0.5", "1>3:0.5"}, "++++", 0, 0},
	{"three of four", 1, "++-+", busy{0.95, 1, 0, 1}, works{8, 6, 0, 5}, spreadAfter - 1, 0,
		[]string{"0>2:0.5"}, "++++", 0, 0},
	{"all active, uneven", 1, "++", busy{1, 0.5}, works{8, 2}, 1, 0,
		[]string{"0>1:0.25"}, "++", 0, 0},
	{"all active, nearly even", 1, "++", busy{1, 0.8}, works{8, 2}, 1, 0,
		nil, "++", 2, 0},
	{"idle, not for long", 1, "++", busy{0.2, 0.1}, works{2, 2}, 0, 3,
		nil, "++", 0, 4},
	{"idle for long", 1, "++", busy{0.2, 0.1}, works{2, 2}, 0, packAfter - 1,
		[]string{"1>0:all"}, "+-", 0, packAfter},
	{"idle, the first is the least busy", 1, "++", busy{0.1, 0.2}, works{2, 2}, 0, packAfter - 1,
		[]string{"1>0:all"}, "+-", 0, packAfter},
	{"idle, of three", 1, "+++", busy{0.3, 0.05, 0.2}, works{2, 2, 2}, 0, packAfter - 1,
		[]string{"1>2:all"}, "+-+", 0, packAfter},
	{"all idle alike", 1, "+++", busy{0, 0, 0}, works{2, 2, 2}, 0, packAfter - 1,
		[]string{"2>0:all"}, "++-", 0, packAfter},
	{"one fewer would be too busy", 1, "++", busy{0.4, 0.3}, works{2, 2}, 0, packAfter - 1,
		nil, "++", 0, 0},
	{"no fewer than the least", 2, "++-", busy{0, 0, 0}, works{2, 2, 0}, 0, packAfter,
		nil, "++-", 0, 0},
	{"one that is not active was busy", 1, "+-", busy{0.3, 0.01}, works{2, 2}, 0, 0,
		[]string{"1>0:all"}, "+-", 0, 0},
	{"to the least busy", 1, "++-", busy{0.8, 0.7, 0.01}, works{2, 2, 2}, 0, 0,
		[]string{"2>1:all"}, "++-", 0, 0},
	{"it was asleep", 1, "+-", busy{0.3, 0}, works{2, 2}, 0, 0,
		nil, "+-", 0, 0},
	{"it has nothing", 1, "+-", busy{0.3, 0.01}, works{2, 0}, 0, 0,
		nil, "+-", 0, 0},
	{"none is active", 0, "--", busy{0.3, 0.01}, works{2, 2}, 1, 1,
		nil, "--", 1, 1},
}

// TestDecide: each rule of the policy, beside what it must not do.
func TestDecide(t *testing.T) {
	for _, c := range decisions {
		t.Run(c.name, func(t *testing.T) {
			m := members(c.active, c.busy, c.works)
			m.minActive = c.min
			s, d := policy{high: tally{n: c.high}, low: c.low}.decide(m)
			d.apply(m)
			if got := d.text(); !slices.Equal(got, c.moves) || m.marks() != c.becomes {
				t.Errorf("%s are active, moved %q, want %s, %q", m.marks(), got, c.becomes, c.moves)
			}
			testenv.True(t, s.high.n == c.lastHigh && s.low == c.lastLow,
				"high %d and low %d, want %d and %d", s.high.n, s.low, c.lastHigh, c.lastLow)
		})
	}
}

// TestDecideNothing: an interval that was too long, or in which the group was
// sharing, decides nothing, and ends what was so in a row.
func TestDecideNothing(t *testing.T) {
	for _, m := range []interval{{stale: true}, {sharing: true}} {
		m.seconds, m.minActive = 0.02, 1
		m.members = members("++-", busy{1, 0, 0}, nil).members
		s, d := policy{high: tally{n: spreadAfter}, low: packAfter, runNs: longAboveNs,
			trial: trial{added: []int{1}}}.decide(m)
		testenv.True(t, s.high.n == 0 && s.low == 0 && len(d.moves) == 0 &&
			(s.trial.added == nil) == m.sharing, "high %d, low %d, moves %q", s.high.n, s.low,
			d.text())
	}
}

// TestEndsSharing: sharing ends when it was not worth it for a while.
func TestEndsSharing(t *testing.T) {
	for _, c := range []struct {
		name        string
		busy, runNs float64
		times       int
		ends        bool
	}{
		{"worth it", 0.4, 40_000, 3 * packAfter, false},
		{"more than one can serve", 1.5, 40_000, 3 * packAfter, false},
		{"hardly a wait", 0.2, 40_000, packAfter - 1, false},
		{"hardly a wait for long", 0.2, 40_000, packAfter, true},
		{"short runs", 1.5, longBelowNs / 2, packAfter - 1, false},
		{"short runs for long", 1.5, longBelowNs / 2, packAfter, true},
	} {
		var s policy
		var d decision
		for range c.times {
			m := members("++", busy{c.busy / 2, c.busy / 2}, nil)
			m.sharing, m.runs = true, uint64(c.busy*m.seconds*1e9/c.runNs)
			s, d = s.decide(m)
		}
		testenv.Equal(t, d.endSharing, c.ends, c.name, "ends")
	}
}

// TestRunMeter: a group that may begins to share when runs are long and wait
// long on average; then each takes few events at once, and all of them when it
// is over.
func TestRunMeter(t *testing.T) {
	var r runMeter
	cpuOf := func(runNs int64) int64 { return runNs }
	turns := func(n int, runNs, waitNs int64, sharing, may bool) (begin bool, batch int) {
		for range n {
			if r.readsCPU {
				r.used(4*cpuOf(runNs), 4)
			}
			begin, batch = r.note(4*runNs, 4*waitNs, 4, sharing, may)
		}
		return begin, batch
	}
	for i, c := range []struct {
		turns        int
		runNs        int64
		waitNs       int64
		sharing, may bool
		begin        bool
		batch        int
	}{
		{1000, longAboveNs - 100, waitAboveNs + 100, false, true, false, 0},
		{1000, longAboveNs + 100, waitAboveNs + 100, false, false, false, 0},
		{1000, longAboveNs + 100, waitAboveNs - 100, false, true, false, 0},
		{1000, longAboveNs + 100, waitAboveNs + 100, false, false, false, 0},
		{timedNs/longAboveNs/4 + 2, longAboveNs + 100, waitAboveNs + 100, false, true, true, 0},
		{1000, longAboveNs + 100, waitAboveNs + 100, true, true, false, 1},
		{1000, 2 * batchNs, waitAboveNs + 100, true, true, false, 1},
		{4000, 4_900, waitAboveNs + 100, true, true, false, 8},
		{1, 100 * longAboveNs, waitAboveNs + 100, false, true, false, wholeBatch},
		{1, longAboveNs, waitAboveNs + 100, false, true, false, 0}, // measured anew
	} {
		begin, batch := turns(c.turns, c.runNs, c.waitNs, c.sharing, c.may)
		testenv.True(t, begin == c.begin && batch == c.batch, "step %d: begins %t, takes %d", i,
			begin, batch)
	}
	r, cpuOf = runMeter{}, func(int64) int64 { return longAboveNs / 2 }
	begin, _ := turns(1000, 10*longAboveNs, 10*waitAboveNs, false, true)
	testenv.True(t, !begin, "it begins for others' time")
}

// TestTimedTurns: once the CPU time of runs is known few turns measure it.
func TestTimedTurns(t *testing.T) {
	var r runMeter
	timed := 0
	for range 1000 {
		r.note(timedNs/8, 0, 1, false, true)
		if r.readsCPU {
			timed++
			r.used(timedNs/8, 1)
		}
	}
	if want := 8 + 1000/timedEvery; timed < want-2 || timed > want+2 {
		t.Errorf("%d turns of 1000 are measured, want %d", timed, want)
	}
}

// TestOffers: when ready coroutines are offered to another Processor.
func TestOffers(t *testing.T) {
	r := runMeter{cpuNs: offerRunNs, ran: 64}
	testenv.True(t, !r.offers(9, 99, false), "offers after one turn")
	r.ran = timedNs/offerRunNs + 1
	for _, c := range []struct {
		queued, before int
		sharing, want  bool
	}{
		{9, 1, false, false},
		{9, offerWaitNs / offerRunNs, false, false},
		{9, offerWaitNs/offerRunNs + 1, false, true},
		{2, 0, true, true},
		{1, 1, true, false},
	} {
		testenv.Equal(t, r.offers(c.queued, c.before, c.sharing), c.want, c)
	}
}

// TestTrial: a spread stays if it brings enough work, or as much without the
// waits and without Processors that are much busier. Else it is taken back,
// with ever longer pauses.
func TestTrial(t *testing.T) {
	var tr trial
	for i, c := range []struct {
		rate, wait, busy float64 // 100, 100 and 1 before
		failed           bool
		pause            int
	}{
		{90, 10, 1, true, trialPauseMin},
		{115, 30, 2, true, 2 * trialPauseMin},
		{10, 0, 0.1, false, 2 * trialPauseMin}, // the load has gone: no verdict
		{100, 20, trialBusy - 0.1, false, 0},
		{100, 20, trialBusy + 0.1, true, trialPauseMin},
		{100, 70, 1, true, 2 * trialPauseMin}, // a closed loop's
		{125, 100, 2, false, 0},
	} {
		tr.before, tr.since, tr.age, tr.wait = tally{}, tally{}, 0, 0
		for range spreadAfter {
			tr.before.add(100, 100, 1)
		}
		for n := range trialSettles + trialSamples - 1 {
			rate := c.rate
			if n < trialSettles {
				rate = 1000 // what is done meanwhile does not count
			}
			over, _ := tr.sample(rate, c.wait, c.busy)
			testenv.True(t, !over, "over too early")
		}
		over, failed := tr.sample(c.rate, c.wait, c.busy)
		wait := 0
		if c.failed {
			wait = c.pause
		}
		testenv.True(t, over && failed == c.failed && tr.pause == c.pause && tr.wait == wait,
			"trial %d with %v: over %t, failed %t, pause %d, wait %d", i, c, over, failed, tr.pause,
			tr.wait)
	}
	for range 10 {
		tr.age = trialSettles + trialSamples
		tr.sample(50, 0, 5)
	}
	testenv.True(t, tr.pause <= trialPauseMax, "pauses for %d", tr.pause)
}

// TestDecideAroundTrial: while a spread is on trial nothing else moves; one
// that has failed is taken back, and the next one is not at once.
func TestDecideAroundTrial(t *testing.T) {
	m := members("+-", busy{1, 0}, nil)
	m.runs = 100
	var s policy
	var d decision
	step := func() {
		s, d = s.decide(m)
		d.apply(m)
	}
	for range spreadAfter {
		step()
	}
	for look := range trialSettles + trialSamples {
		if asked := d.text(); (look == 0) != slices.Equal(asked, []string{"0>1:0.5"}) ||
			m.marks() != "++" {
			t.Fatalf("interval %d: moved %q, active are %s", look, asked, m.marks())
		}
		m.members[1].busy = 0.5 // uneven
		step()
	}
	if asked := d.text(); !slices.Contains(asked, "1>0:all") || m.marks() != "+-" {
		t.Errorf("after the trial: moved %q, active are %s", asked, m.marks())
	}
	m.members[1].busy = 0
	for i := range trialPauseMin - 1 {
		if step(); m.marks() != "+-" {
			t.Fatalf("another trial %d intervals later", i)
		}
	}
	step()
	testenv.True(t, m.marks() == "++", "no other trial after the pause")
}
