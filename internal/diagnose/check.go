package diagnose

import (
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/stacks"
	"github.com/netco-go/netco/processor"
)

// subject is what the watchdog knows of one Processor. All fields except stalls
// belong to the watchdog's goroutine.
//
//	state      means                                            becomes
//	quiet      asleep, or its turn is younger than 7/8 of the   suspected
//	           threshold
//	suspected  at two checks nothing has moved but the clock    quiet, stalled
//	stalled    the threshold is over; the stall is on record    quiet
//
// The Processor becomes quiet when it has turned or sleeps. A stall takes two
// checks, because a turn's number, start and coroutine are three words, which
// the Processor writes and the watchdog reads without any order between them.
type subject struct {
	p    *processor.Processor
	now  func() processor.Turn // p.Turn; a test has its own
	over <-chan struct{}       // closed when p has ended

	turn    uint64 // the number of the turn last checked
	start   int64  // of that turn, as the Processor says
	base    int64  // CLOCK_MONOTONIC, ns: earlier time does not count as the Processor's
	seen    int64  // when that turn was first checked
	tid     int    // the thread that ran it at that time; 0 if unknown
	cpu     int64  // that thread's CPU time then; -1 if unknown
	suspect bool
	suspID  uint64 // the coroutine that had the thread at the last check since seen
	suspRun uint64 // the number of that coroutine's run
	suspAt  int64  // CLOCK_MONOTONIC, ns: the first of the checks that saw this run
	stall   *stall // nil unless stalled

	stalls atomic.Uint64
}

const (
	pauseAfter = int64(time.Second)
	tooLate    = int64(50 * time.Millisecond)

	circleEvery = int64(5 * time.Second) // a search takes 0.3 ms for a thousand coroutines
)

// run is the watchdog's goroutine. It sleeps until the first time at which a
// turn that is under way could become suspect or a stall. When all Processors
// have slept for a second without a turn, it pauses until one wakes. While a
// stall is on record it does not: the stall may be over since the last check.
func (d *watchdog) run() {
	defer stacks.Bystander()()
	defer close(d.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	wanted := clock.Now()
	d.rebaseline(wanted)
	d.moved(wanted)
	for {
		now := clock.Now()
		if now-wanted > max(tooLate, d.threshold/2) {
			d.rebaseline(now)
		}
		next, moved := d.check(now)
		if moved {
			d.moved(now)
		}
		if d.lookAt != 0 && now >= d.lookAt {
			d.lookAt = d.look(now)
		}
		still := now-d.movedAt >= pauseAfter
		if now-d.circlesAt >= circleEvery || still && d.circlesAt < d.movedAt+pauseAfter {
			d.circlesAt = now
			d.lookForCircles()
		}
		if still && !d.stalling() && d.group.BeginPause() {
			if !d.pause(timer) {
				return
			}
			wanted = clock.Now()
			d.rebaseline(wanted)
			continue
		}
		wanted = max(next, now+d.threshold/64)
		timer.Reset(time.Duration(wanted - clock.Now()))
		select {
		case <-timer.C:
		case <-d.quit:
			return
		}
	}
}

// stalling reports whether a stall is on record that is not over.
func (d *watchdog) stalling() bool {
	return slices.ContainsFunc(d.subjects, func(w *subject) bool { return w.stall != nil })
}

// moved records that a Processor has done something by now.
func (d *watchdog) moved(now int64) {
	d.movedAt, d.lookAt, d.all = now, now+stuckAfter, false
	lastMoved.Store(d)
}

// lastMoved is the watchdog whose moved was called last. Only this watchdog
// uses a timer to look for a deadlock: the timer of another watchdog would
// count as a timer that may wake a goroutine.
var lastMoved atomic.Pointer[watchdog]

// pause waits until a Processor wakes or it is time to look for a deadlock: by
// the timer at first, later after a garbage collection. It returns false if the
// watchdog has to end.
func (d *watchdog) pause(timer *time.Timer) bool {
	defer d.group.EndPause()
	var due <-chan time.Time
	var collected <-chan struct{}
	switch {
	case d.lookAt == 0:
	case lastMoved.Load() == d && d.lookAt-d.movedAt <= lookFor:
		timer.Reset(time.Duration(d.lookAt - clock.Now()))
		due = timer.C
	default:
		collected = afterCollection()
	}
	select {
	case <-d.group.Resumed():
		d.moved(clock.Now())
	case <-due:
	case <-collected:
	case <-d.quit:
		return false
	}
	return true
}

// afterCollection returns a channel that receives when the garbage collector
// has run.
func afterCollection() <-chan struct{} {
	c := make(chan struct{}, 1)
	garbage := new([64]byte) // small objects may share their memory
	runtime.AddCleanup(garbage, func(c chan struct{}) { c <- struct{}{} }, c)
	return c
}

// rebaseline restarts every turn's clock after the watchdog itself was late:
// the process or the machine was stopped, or other processes had all CPUs. It
// is also called after a pause, because the process may have been stopped since
// the pause ended.
func (d *watchdog) rebaseline(now int64) {
	for _, w := range d.subjects {
		w.base, w.suspect = now, false
	}
}

// check checks all Processors and returns when to check again, and whether any
// has turned or is awake.
func (d *watchdog) check(now int64) (next int64, moved bool) {
	next = now + d.threshold
	for _, w := range d.subjects {
		at, did := d.checkOne(w, now)
		next, moved = min(next, at), moved || did
	}
	return next, moved
}

func (d *watchdog) checkOne(w *subject, now int64) (next int64, moved bool) {
	suspectNs := d.threshold / 8 * 7
	select {
	case <-w.over:
		if w.stall != nil {
			d.ends(w, now)
		}
		return now + d.threshold, false
	default:
	}
	t := w.now()
	moved = t.Number != w.turn || !t.Asleep && w.stall == nil
	if t.Asleep || t.Number != w.turn || t.Start != w.start {
		if w.stall != nil {
			end := now
			if t.Number == w.turn+1 && !t.Asleep {
				end = min(now, t.Start)
			}
			d.ends(w, end)
		}
		w.turn, w.start, w.suspect = t.Number, t.Start, false
		w.seen, w.tid = now, w.p.Thread()
		w.cpu = cpuOf(w.tid)
	}
	if t.Asleep || t.Number == 0 {
		return now + suspectNs, moved
	}
	began := max(t.Start, w.base)
	age := now - began
	switch {
	case w.stall != nil:
		if w.stall.logged && w.stall.unclear(idOf(t.Coroutine)) && now >= w.stall.again {
			d.reconsider(w, t, now)
		}
		w.sees(t.Coroutine, now)
		return now + min(max(age, d.threshold)/8, suspectNs), moved
	case age < suspectNs:
		return began + suspectNs, moved
	case !w.suspect:
		w.suspect = true
		w.sees(t.Coroutine, now)
		return max(began+d.threshold, now+d.threshold/8), moved
	case age < d.threshold:
		return began + d.threshold, moved
	}
	d.stalled(w, t, began, now)
	return now + d.threshold/8, true
}

// stalled records a stall and reports it.
func (d *watchdog) stalled(w *subject, t processor.Turn, began, now int64) {
	w.stalls.Add(1)
	logged, missed := d.budget.spend(now)
	age := time.Duration(clock.Now() - began)
	w.stall = d.assess(w, t, &stall{began: began, logged: logged, Stall: Stall{
		Processor: w.p.Index(),
		Began:     time.Now().Add(-age), // read after age, so that Began is never too early
		Length:    time.Duration(now - began),
	}})
	w.sees(t.Coroutine, now)
	d.begun(w.stall, missed)
}

// assess fills in the stall's coroutine, with name and place, and its cause.
func (d *watchdog) assess(w *subject, t processor.Turn, st *stall) *stall {
	var co coroutine.Handle
	if t.Coroutine != nil {
		co = t.Coroutine.Handle()
	}
	st.Coroutine, st.Name, st.Site = co.ID(), "", ""
	if info, ok := co.Info(); ok {
		info.Resolve()
		st.Name, st.Site = info.Name, site(info.File, info.Line, info.Func)
	}
	d.diagnose(w, t, st)
	return st
}

// sees records the coroutine that a check finds running.
func (s *subject) sees(co *coroutine.Coroutine, now int64) {
	if id, run := idOf(co), co.Run(); id != s.suspID || run != s.suspRun {
		s.suspID, s.suspRun, s.suspAt = id, run, now
	}
}

// unclear reports whether a stall in which coroutine co has the thread may have
// a different cause than recorded: the recorded cause is the machine, or many
// coroutines, or a coroutine other than co.
func (st *stall) unclear(co uint64) bool {
	switch st.Cause {
	case CauseNotScheduled, CauseUnknown, CausePageFault:
		return true
	}
	return co != st.Coroutine || strings.HasPrefix(st.Detail, manyCoroutines)
}

// reconsider diagnoses a stall again that goes on. On a busy machine a
// coroutine that computes has had little CPU time at first; and a coroutine
// that blocks may get the thread only late in a turn that was slow before.
// Blame a different coroutine only if two checks saw the same run of it.
func (d *watchdog) reconsider(w *subject, t processor.Turn, now int64) {
	st := w.stall
	st.again = now + (now - st.began)
	later := d.assess(w, t, &stall{began: st.began, logged: true, Stall: st.Stall})
	if later.unclear(later.Coroutine) || later.Stack == "" {
		return
	}
	began := st.began
	if later.Coroutine != st.Coroutine || strings.HasPrefix(st.Detail, manyCoroutines) {
		if later.Coroutine != w.suspID || t.Coroutine.Run() != w.suspRun {
			return
		}
		began = w.suspAt
	}
	later.Length = time.Duration(now - began)
	d.mu.Lock()
	st.Stall = later.Stall
	d.mu.Unlock()
	d.publish(later.Stall, 0)
}

// ends reports the end of a stall at the time at.
func (d *watchdog) ends(w *subject, at int64) {
	d.over(w.stall, at)
	w.stall = nil
}

func idOf(co *coroutine.Coroutine) uint64 {
	if co == nil {
		return 0
	}
	return co.ID()
}

// cpuOf returns the CPU time of a thread in ns, or -1.
func cpuOf(tid int) int64 {
	if ns, ok := processor.ThreadCPUNs(tid); ok {
		return ns
	}
	return -1
}
