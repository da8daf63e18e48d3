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

// The causes of a Stall and of a Handoff. The first seven are of coroutines
// that block outside netco, without which a Processor goes on by default: they
// are stalls where Processors are not handed on (README.md, "What blocks a
// Processor").
const (
	CauseChannel     = "channel"     // Go's channel or select
	CauseMutex       = "mutex"       // sync.Mutex or RWMutex
	CauseWait        = "wait"        // sync.WaitGroup or Cond
	CauseSleep       = "sleep"       // time.Sleep
	CauseSyscall     = "syscall"     // a system call that blocks
	CauseIO          = "io"          // Go's own poller: a connection or pipe of package net or os
	CauseCgo         = "cgo"         // a call of C
	CauseComputation = "computation" // one coroutine's, or many coroutines' that ran in one turn
	CausePageFault   = "page fault"  // memory that is swapped out, or of a mapped file

	// CauseNotScheduled: ready to run, but others had the CPUs, or the control
	// group's share of them was used up.
	CauseNotScheduled = "not scheduled"
	CauseUnknown      = "unknown"
)

// stallsKept is how many stalls Stalls returns at most.
const stallsKept = 64

// watchdog checks the Processors of one Scheduler, on a goroutine of its own,
// and reports stalls. mu is between it and those who ask it.
type watchdog struct {
	o         *Observer
	group     *processor.Group
	threshold int64 // ns

	// Its own goroutine's.
	subjects  []*subject
	movedAt   int64  // CLOCK_MONOTONIC, ns: when any was last seen to have done something
	lookAt    int64  // when to look for a deadlock; 0 for not before one moves
	reported  string // the last deadlock
	all       bool   // the last look has found one of all coroutines
	circlesAt int64  // when it has looked for deadlocks of some last
	budget    budget

	circles atomic.Pointer[[]Circle] // it writes; what lookForCircles has found

	quit  chan struct{}
	ended chan struct{}

	mu        sync.Mutex
	stopped   bool     // nothing more is to be reported
	reporting bool     // it is in the logger, or in the user's function
	recent    []*stall // oldest first
}

// stall is a Stall on record. Under the watchdog's mu.
type stall struct {
	Stall
	began  int64 // CLOCK_MONOTONIC, ns
	again  int64 // when to look for its cause again, if that is unclear
	logged bool  // a line was written
}

// Watch starts the watchdog of a group that runs, if there is to be one. Once.
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

// stop ends the watchdog. It waits for its goroutine to end, unless that is in
// the logger or in the user's function, which may take for ever, and may be the
// caller.
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

// report calls f, which is not the watchdog's own, unless it has been stopped.
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

// begun puts a stall on record and reports it.
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
			zap.Int("unreported", suppressed), zap.String("instead", cures[s.Cause]))
		if d.o.reporting() {
			reportStall(s)
		}
	})
}

// over completes a stall's record and reports its end, at a time of
// CLOCK_MONOTONIC.
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

// budget limits what stalls cost: a line and a stack for 10 at once, and from
// then on for one in 6 seconds.
type budget struct {
	used   int   // not given back yet
	since  int64 // CLOCK_MONOTONIC, ns: since when the next one is on its way back
	missed int   // stalls that found nothing left
}

const (
	budgetAtOnce  = 10
	budgetEveryNs = int64(6 * time.Second)
)

// spend reports whether there is something left at that time, and then how many
// went without since the last time.
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
