package diagnose

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
)

// ms is a time of the tests below, in milliseconds after some moment.
const ms = int64(time.Millisecond)

// seen is what a check finds.
type seen struct {
	at     int64 // ms
	turn   uint64
	start  int64 // ms
	asleep bool
	late   bool // the watchdog is

	stalls int           // so far, after the check
	over   time.Duration // of the last stall, if it is over after the check
	next   int64         // ms, when the next check is wanted; 0: not checked
}

// TestWatchdogRules: what is a stall, when it ends, and when to check again,
// with a threshold of 80 ms.
func TestWatchdogRules(t *testing.T) {
	for _, c := range watchdogRules {
		t.Run(c.name, func(t *testing.T) {
			d, w := fakeWatchdog(t)
			for i, l := range c.checks {
				l.hold(t, i, d, w)
			}
		})
	}
}

// watchdogRules are what a watchdog sees of one Processor, check by check.
var watchdogRules = []struct {
	name   string
	checks []seen
}{
	{"a long turn", []seen{
		{at: 1010, turn: 5, start: 1000, next: 1070},
		{at: 1070, turn: 5, start: 1000, next: 1080},
		{at: 1080, turn: 5, start: 1000, stalls: 1},
		{at: 1100, turn: 5, start: 1000, stalls: 1},
		{at: 1200, turn: 6, start: 1150, stalls: 1, over: 150 * time.Millisecond},
		{at: 1210, turn: 7, start: 1205, stalls: 1, over: 150 * time.Millisecond},
	}},
	{"exactly the threshold, at the last moment", []seen{
		{at: 1000, turn: 5, start: 1000},
		{at: 1079, turn: 5, start: 1000, next: 1089},
		{at: 1089, turn: 5, start: 1000, stalls: 1},
	}},
	{"short turns", []seen{
		{at: 1000, turn: 5, start: 999, next: 1069},
		{at: 1069, turn: 90, start: 1068, next: 1138},
		{at: 1138, turn: 200, start: 1138, next: 1208},
	}},
	{"turned between the two checks", []seen{
		{at: 1070, turn: 5, start: 1000, next: 1080},
		{at: 1080, turn: 6, start: 1075, next: 1145},
		{at: 1145, turn: 6, start: 1075, next: 1155},
		{at: 1154, turn: 6, start: 1075, next: 1155},
		{at: 1155, turn: 6, start: 1075, stalls: 1},
	}},
	{"asleep for long", []seen{
		{at: 1000, turn: 5, asleep: true, next: 1070},
		{at: 9000, turn: 5, asleep: true},
		{at: 9100, turn: 5, start: 9099, next: 9169},
		{at: 9169, turn: 6, start: 9100},
	}},
	{"slept unseen, within a turn", []seen{
		{at: 1000, turn: 5, start: 1000},
		{at: 1080, turn: 5, start: 1079, next: 1149},
	}},
	{"slept unseen, when it was suspect", []seen{
		{at: 1075, turn: 5, start: 1000, next: 1085},
		{at: 1085, turn: 5, start: 1084, next: 1154},
		{at: 1160, turn: 5, start: 1084, next: 1170},
		{at: 1170, turn: 5, start: 1084, stalls: 1},
	}},
	{"asleep between the two checks", []seen{
		{at: 1075, turn: 5, start: 1000, next: 1085},
		{at: 1085, turn: 5, asleep: true},
		{at: 1095, turn: 5, start: 1000},
		{at: 1105, turn: 6, start: 1100},
	}},
	{"it ends by sleep", []seen{
		{at: 1070, turn: 5, start: 1000},
		{at: 1080, turn: 5, start: 1000, stalls: 1},
		{at: 1180, turn: 6, asleep: true, stalls: 1, over: 180 * time.Millisecond},
	}},
	{"it ends many turns before it is seen to", []seen{
		{at: 1070, turn: 5, start: 1000},
		{at: 1080, turn: 5, start: 1000, stalls: 1},
		{at: 1180, turn: 77, start: 1179, stalls: 1, over: 180 * time.Millisecond},
	}},
	{"two in a row", []seen{
		{at: 1070, turn: 5, start: 1000},
		{at: 1080, turn: 5, start: 1000, stalls: 1},
		{at: 1170, turn: 6, start: 1100, stalls: 1, over: 100 * time.Millisecond},
		{at: 1180, turn: 6, start: 1100, stalls: 2},
	}},
	{"a long one is checked less and less often", []seen{
		{at: 1070, turn: 5, start: 1000},
		{at: 1080, turn: 5, start: 1000, stalls: 1, next: 1090},
		{at: 1160, turn: 5, start: 1000, stalls: 1, next: 1180},
		{at: 9000, turn: 5, start: 1000, stalls: 1, next: 9070},
	}},
	{"the process was stopped", []seen{
		{at: 1010, turn: 5, start: 1000},
		{at: 3000, turn: 5, start: 1000, late: true, next: 3070},
		{at: 3070, turn: 6, start: 3001, next: 3071},
	}},
	{"the process was stopped, and stalls", []seen{
		{at: 1075, turn: 5, start: 1000},
		{at: 3000, turn: 5, start: 1000, late: true, next: 3070},
		{at: 3070, turn: 5, start: 1000, next: 3080},
		{at: 3080, turn: 5, start: 1000, stalls: 1},
		{at: 3200, turn: 6, start: 3100, stalls: 1, over: 100 * time.Millisecond},
	}},
	{"not begun", []seen{{at: 1000, turn: 0, start: 0}, {at: 9000, turn: 0, start: 0},
		{at: 9900, turn: 0, start: 0}}},
}

// hold lets the watchdog make check i, and compares what it finds.
func (s seen) hold(t *testing.T, i int, d *watchdog, w *subject) {
	t.Helper()
	w.now = func() processor.Turn {
		if s.asleep {
			return processor.Turn{Number: s.turn, Asleep: true}
		}
		return processor.Turn{Number: s.turn, Start: s.start * ms}
	}
	if s.late {
		d.rebaseline(s.at * ms)
	}
	next, _ := d.check(s.at * ms)
	if got := int(w.stalls.Load()); got != s.stalls {
		t.Fatalf("check %d: %d stalls, want %d", i, got, s.stalls)
	}
	if s.next != 0 && next != s.next*ms {
		t.Errorf("check %d: next at %v ms, want %d", i, float64(next)/float64(ms), s.next)
	}
	if next <= s.at*ms {
		t.Errorf("check %d: next at once", i)
	}
	if s.stalls == 0 {
		return
	}
	if last := d.recent[len(d.recent)-1]; last.Over != (s.over != 0) || last.Over &&
		last.Length != s.over {
		t.Errorf("check %d: over %v after %v, want %v", i, last.Over, last.Length, s.over)
	}
}

// fakeWatchdog makes a watchdog that checks one Processor, when the test says
// so, and sees what the test wants.
func fakeWatchdog(t *testing.T) (*watchdog, *subject) {
	t.Helper()
	_, p := startGroup(t, false)
	w := &subject{p: p, over: p.Ended()}
	d := &watchdog{o: New(Config{Logger: zap.NewNop()}), threshold: 80 * ms,
		subjects: []*subject{w}}
	d.budget.used, d.budget.since = budgetAtOnce, 1<<62 // no stacks
	return d, w
}

// TestStallEndsUnseen: the end of a stall is recorded, though the Processor
// sleeps for good before the watchdog looks again.
func TestStallEndsUnseen(t *testing.T) {
	t.Parallel()
	d, w := fakeWatchdog(t)
	d.group, d.quit, d.ended = w.p.Group(), make(chan struct{}), make(chan struct{})
	begin := clock.Now()
	var asleep atomic.Bool
	w.now = func() processor.Turn {
		return processor.Turn{Number: 5, Start: begin, Asleep: asleep.Load()}
	}
	go d.run()
	defer d.stop()
	testenv.Until(t, "a stall is on record", func() bool { return w.stalls.Load() > 0 })
	for clock.Now() < begin+2*pauseAfter {
		time.Sleep(time.Duration(d.threshold))
	}
	asleep.Store(true)
	testenv.Until(t, "the stall is over", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.recent[0].Over
	})
}

// TestBudget: 10 at once, then one in 6 seconds; the one that gets it is given
// how many did not.
func TestBudget(t *testing.T) {
	var b budget
	spend := func(at time.Duration, want bool, wantMissed int) {
		t.Helper()
		if ok, missed := b.spend(int64(time.Hour + at)); ok != want || missed != wantMissed {
			t.Errorf("at %v: %v, %d missed; want %v, %d", at, ok, missed, want, wantMissed)
		}
	}
	for range 10 {
		spend(0, true, 0)
	}
	spend(time.Second, false, 0)
	spend(6*time.Second-1, false, 0)
	spend(6*time.Second, true, 2)
	spend(11*time.Second, false, 0)
	spend(18*time.Second, true, 1)
	spend(18*time.Second, true, 0)
	spend(18*time.Second, false, 0)
	for range 10 {
		spend(time.Hour, true, min(b.missed, 1))
	}
	spend(time.Hour, false, 0)
}

// TestReconsider: a stall that was put down to a busy machine, and goes on, is
// looked at again, less and less often, until its coroutine is seen computing.
func TestReconsider(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	g, p := startGroup(t, true)
	var runs, stop atomic.Bool
	h := testenv.Must(g.Go(nil, nil, &coroutine.Spawn{Fn: func() {
		for runs.Store(true); !stop.Load(); {
		}
	}}))
	testenv.Until(t, "it to run", runs.Load)
	w := &subject{
		p:      p,
		now:    p.Turn,
		over:   p.Ended(),
		suspID: h.ID(),
		tid:    p.Thread(),
	}
	st := &stall{
		began:  clock.Now() - int64(time.Second),
		logged: true,
		Stall:  Stall{Coroutine: h.ID(), Cause: CauseNotScheduled},
	}
	turn := p.Turn()
	w.stall, w.turn, w.start = st, turn.Number, turn.Start
	d := &watchdog{o: New(Config{Logger: zap.New(core), Logs: true}), threshold: int64(time.Hour),
		subjects: []*subject{w}}
	now := clock.Now()
	w.cpu, w.seen = cpuOf(w.tid), now-int64(time.Hour)
	d.checkOne(w, now)
	if st.Cause != CauseNotScheduled || st.again <= now {
		t.Errorf("without CPU time: %q, again in %v", st.Cause, time.Duration(st.again-now))
	}
	again := st.again
	w.cpu = 0
	w.seen = now
	if d.checkOne(w, now); st.again != again {
		t.Error("looked at again at once")
	}
	d.threshold = 1
	if d.checkOne(w, again); st.Cause != CauseComputation ||
		!strings.Contains(st.Stack, "TestReconsider") {
		t.Errorf("with CPU time: %q, %s", st.Cause, st.Stack)
	}
	testenv.Equal(t, logs.FilterMessage("processor stalled").Len(), 1, "lines")
	stop.Store(true)
}

// TestReconsiderAnother: a stall that was put down to the coroutine that ran
// first in its turn, or to many, is put down to the one that has the thread,
// once a run of that was seen at two checks. It used to be lost.
func TestReconsiderAnother(t *testing.T) {
	for name, before := range map[string]Stall{
		"not scheduled": {Cause: CauseNotScheduled},
		"page fault":    {Cause: CausePageFault},
		"many":          {Cause: CauseComputation, Detail: manyCoroutines},
		"another":       {Cause: CauseComputation, Detail: "runnable"},
	} {
		t.Run(name, func(t *testing.T) { reconsiderAnother(t, before) })
	}
}

func reconsiderAnother(t *testing.T, before Stall) {
	g, p := startGroup(t, true)
	var runs, stop atomic.Bool
	t.Cleanup(func() { stop.Store(true) })
	first := testenv.Must(g.Go(nil, nil, &coroutine.Spawn{Fn: func() {}}))
	testenv.OK(t, first.Join())
	testenv.Must(g.Go(nil, nil, &coroutine.Spawn{Name: "victim", Fn: func() {
		for runs.Store(true); !stop.Load(); {
		}
	}}))
	testenv.Until(t, "the victim", runs.Load)
	turn := func() processor.Turn {
		now := p.Turn()
		return processor.Turn{Number: 7, Start: 1, Coroutine: now.Coroutine}
	}
	before.Coroutine = first.ID()
	st := &stall{began: clock.Now() - int64(time.Second), logged: true, Stall: before}
	w := &subject{p: p, now: turn, over: p.Ended(), turn: 7, start: 1, stall: st,
		suspID: first.ID(), cpu: -1}
	d := &watchdog{o: New(Config{Logger: zap.NewNop(), Quiet: true}), threshold: 1,
		subjects: []*subject{w}}
	check := func(want string) {
		t.Helper()
		if d.checkOne(w, max(st.again, clock.Now())); st.Name != want {
			t.Errorf("%q is blamed, want %q: %+v", st.Name, want, st.Stall)
		}
	}
	check("") // seen once
	w.suspRun++
	check("") // in another run
	check("victim")
	if st.Cause != CauseComputation || strings.HasPrefix(st.Detail, manyCoroutines) ||
		!strings.Contains(st.Stack, "reconsiderAnother") {
		t.Errorf("%+v", st.Stall)
	}
}
