package metrics

import (
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// view holds the figures of one Processor that a scrape reads together, because
// they belong together.
type view struct {
	s  *scheduler.Scheduler
	p  *processor.Processor // nil for ordinary goroutines; then only io is set
	co *coroutine.Stats
	ep *epoller.Stats
	io processor.IOSnapshot

	states [4]uint64 // coroutines: see states
	over   bool      // the Processor has ended: no coroutine lives, waits or is queued there

	buffers [2]uint64 // bytes in use and kept

	resumes, handoffs      uint64
	busyNs, idleNs, spinNs int64
	cpuNs                  int64 // -1: the Processor has no thread of its own
	turnAgeNs              int64 // 0: no coroutine runs
}

// The names of the states of coroutines, in the order of view.states.
var states = []string{"ready", "running", "waiting", "outside"}

func newView(s *scheduler.Scheduler, p *processor.Processor) *view {
	v := &view{s: s, p: p, co: p.Coroutines(), ep: p.Events(), io: p.IO().Snapshot(), cpuNs: -1}
	v.busyNs, v.idleNs, v.spinNs = p.BusyNs(), p.IdleNs(), int64(p.Stats.SpinNs.Load())
	select {
	case <-p.Ended():
		v.over = true
	default:
		v.count()
	}
	v.buffers[0], v.buffers[1] = p.BufferBytes()
	v.resumes, v.handoffs = v.co.Resumes.Load(), v.co.Handoffs.Load()
	if ns, ok := p.CPUNs(); ok {
		v.cpuNs = ns
	}
	return v
}

// count derives the coroutines' states from four figures. The length of the run
// queue is as of the beginning of the turn, and coroutines of that queue may
// wait or have ended since. count makes the states add up to the live
// coroutines.
func (v *view) count() {
	live := v.p.Live()
	if v.p.Executor().Current() != nil && live > 0 {
		v.states[1] = 1
		live--
		v.turnAgeNs = max(clock.Now()-int64(v.p.Stats.TurnStart.Load()), 0)
	}
	v.states[3] = min(v.co.Outside.Load(), live)
	live -= v.states[3]
	v.states[0] = min(v.p.Stats.Queued.Load(), live)
	v.states[2] = live - v.states[0]
}

// unlessOver returns n as a float64, with 0 for an n that is briefly negative.
// It returns 0 for a Processor that has ended, where n may be of the last turn.
func (v *view) unlessOver(n int64) float64 {
	if v.over {
		return 0
	}
	return float64(max(n, 0))
}

// ordinary returns a view with the system calls of ordinary goroutines.
func ordinary() *view { return &view{io: processor.GoroutineIO()} }
