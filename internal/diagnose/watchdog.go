package diagnose

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
)

// Stall is scheduler.Stall, which documents the fields. As JSON it is a row of
// a live page.
type Stall struct {
	Processor int           `json:"processor"`
	Began     time.Time     `json:"began"`
	Length    time.Duration `json:"length_ns"`
	Over      bool          `json:"over"`
	Coroutine uint64        `json:"coroutine"`
	Name      string        `json:"name"`
	Site      string        `json:"site"`
	Cause     string        `json:"cause"`
	Detail    string        `json:"detail"`
	Stack     string        `json:"stack"`
}

// The causes of a Stall and of a Handoff. In the first seven a coroutine blocks
// outside netco. By default the Processor goes on without it; such a coroutine
// is a stall where Processors are not handed on (README.md, "What blocks a
// Processor").
const (
	CauseChannel     = "channel"     // Go's channel or select
	CauseMutex       = "mutex"       // sync.Mutex or RWMutex
	CauseWait        = "wait"        // sync.WaitGroup or Cond
	CauseSleep       = "sleep"       // time.Sleep
	CauseSyscall     = "syscall"     // a system call that blocks
	CauseIO          = "io"          // Go's own poller: a connection or pipe of package net or os
	CauseCgo         = "cgo"         // a call of C
	CauseComputation = "computation" // of one coroutine, or of many that ran in one turn
	CausePageFault   = "page fault"  // memory that is swapped out, or of a mapped file

	// CauseNotScheduled: the thread was ready to run, but other threads had the
	// CPUs, or the control group's CPU quota was used up.
	CauseNotScheduled = "not scheduled"
	CauseUnknown      = "unknown"
)

// stallsKept is how many stalls Stalls returns at most.
const stallsKept = 64

// watchdog checks the Processors of one Scheduler, on a goroutine of its own,
// and reports stalls. mu guards the fields that callers of its Observer read.
type watchdog struct {
	o         *Observer
	group     *processor.Group
	threshold int64 // ns

	// Of the watchdog's goroutine.
	subjects  []*subject
	movedAt   int64  // CLOCK_MONOTONIC, ns: when a Processor last did something, as seen
	lookAt    int64  // when to look for a deadlock; 0: not before a Processor moves
	reported  string // the last deadlock
	all       bool   // the last check found a deadlock of all coroutines
	circlesAt int64  // when it last looked for circles
	budget    budget

	circles atomic.Pointer[[]Circle] // written by the watchdog: the result of lookForCircles

	quit  chan struct{}
	ended chan struct{}

	mu        sync.Mutex
	stopped   bool     // report nothing more
	reporting bool     // the watchdog is in the logger, or in the user's function
	recent    []*stall // oldest first
}

// stall is a recorded Stall. Under the watchdog's mu.
type stall struct {
	Stall
	began  int64 // CLOCK_MONOTONIC, ns
	again  int64 // when to diagnose it again, if its cause is unclear
	logged bool  // a line was written
}

// Watch starts the watchdog of a running group, if the options ask for one. It
// is called once.
func (o *Observer) Watch(group *processor.Group) {
	if o.cfg.Watchdog < 0 {
		return
	}
	d := &watchdog{
		o:         o,
		group:     group,
		threshold: int64(o.cfg.Watchdog),
		quit:      make(chan struct{}),
		ended:     make(chan struct{}),
	}
	for _, p := range group.Members() {
		d.subjects = append(d.subjects, &subject{p: p, now: p.Turn, over: p.Ended()})
	}
	o.dog.Store(d)
	go d.run()
}

// stop ends the watchdog. It waits for the watchdog's goroutine to end, unless
// the goroutine is in the logger or in the user's function: that may take for
// ever, or may be the caller of stop.
func (d *watchdog) stop() {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.stopped = true
	reporting := d.reporting
	d.mu.Unlock()
	close(d.quit)
	if !reporting {
		<-d.ended
	}
}

// report calls f, which may call user code, unless the watchdog has been
// stopped.
func (d *watchdog) report(f func()) {
	d.mu.Lock()
	d.reporting = !d.stopped
	stopped := d.stopped
	d.mu.Unlock()
	if stopped {
		return
	}
	f()
	d.mu.Lock()
	d.reporting = false
	d.mu.Unlock()
}

// begun records a stall and reports it.
func (d *watchdog) begun(st *stall, suppressed int) {
	d.mu.Lock()
	if len(d.recent) == stallsKept {
		d.recent = slices.Delete(d.recent, 0, 1)
	}
	d.recent = append(d.recent, st)
	s := st.Stall
	d.mu.Unlock()
	if st.logged {
		d.publish(s, suppressed)
	}
	d.callOnStall(s)
}

func (d *watchdog) callOnStall(s Stall) {
	if d.o.cfg.OnStall != nil {
		d.report(func() { d.o.cfg.OnStall(s) })
	}
}

// publish logs or reports a stall.
func (d *watchdog) publish(s Stall, suppressed int) {
	d.report(func() {
		d.o.cfg.Logger.Warn("processor stalled", zap.Int("processor", s.Processor),
			zap.Duration("length", s.Length), zap.Uint64("coroutine", s.Coroutine),
			zap.String("name", s.Name), zap.String("site", s.Site), zap.String("cause", s.Cause),
			zap.String("detail", s.Detail), zap.String("stack", s.Stack),
			zap.Int("unreported", suppressed),
			zap.String("instead", advice(s.Cause, framesOf(s.Stack))))
		if d.o.reporting() {
			reportStall(s)
		}
	})
}

// over completes a stall's record and reports its end, at the time end
// (CLOCK_MONOTONIC, ns).
func (d *watchdog) over(st *stall, end int64) {
	d.mu.Lock()
	st.Over, st.Length = true, time.Duration(end-st.began)
	s := st.Stall
	d.mu.Unlock()
	if st.logged {
		d.report(func() {
			d.o.cfg.Logger.Info("processor turns again", zap.Int("processor", s.Processor),
				zap.Duration("length", s.Length), zap.Uint64("coroutine", s.Coroutine),
				zap.String("name", s.Name), zap.String("cause", s.Cause))
		})
	}
	d.callOnStall(s)
}

// Stalls is Scheduler.Stalls.
func (o *Observer) Stalls() []Stall {
	d := o.dog.Load()
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Stall, len(d.recent))
	for i, st := range d.recent {
		all[i] = st.Stall
		if !st.Over && !d.stopped {
			all[i].Length = time.Duration(max(clock.Now()-st.began, 0))
		}
	}
	return all
}

// StallCount is Scheduler.StallCount.
func (o *Observer) StallCount(processor int) uint64 {
	d := o.dog.Load()
	if d == nil || processor < 0 || processor >= len(d.subjects) {
		return 0
	}
	return d.subjects[processor].stalls.Load()
}

// budget limits what stalls cost: a line and a stack for 10 stalls at once, and
// after that for one stall in 6 seconds.
type budget struct {
	used   int   // spent and not restored yet
	since  int64 // CLOCK_MONOTONIC, ns: since when the next one is being restored
	missed int   // stalls that exceeded the budget
}

const (
	budgetAtOnce  = 10
	budgetEveryNs = int64(6 * time.Second)
)

// spend reports whether the budget allows a stall at now. If so, missed is the
// number of stalls refused since the last one allowed.
func (b *budget) spend(now int64) (ok bool, missed int) {
	for b.used > 0 && now-b.since >= budgetEveryNs {
		b.used--
		b.since += budgetEveryNs
	}
	if b.used == budgetAtOnce {
		b.missed++
		return false, 0
	}
	if b.used == 0 {
		b.since = now
	}
	b.used++
	missed, b.missed = b.missed, 0
	return true, missed
}
