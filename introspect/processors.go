package introspect

import (
	"math"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// phaseOf returns the name of a Scheduler's phase.
func phaseOf(s *scheduler.Scheduler) string {
	group := engine.Of(s).Group()
	if group == nil {
		return "new"
	}
	switch group.Phase() {
	case processor.Running:
		return "running"
	case processor.Draining:
		return "draining"
	case processor.Stopping:
		return "stopping"
	}
	return "stopped"
}

// figuresOf reads a Processor's counters, each at its own moment.
func figuresOf(p *processor.Processor) processorJSON {
	io := p.IO().Snapshot()
	f := processorJSON{
		Index: p.Index(), Tid: p.Tid(), State: "busy", Active: p.IsActive(),
		Live: p.Live(), Spawned: p.Coroutines().Spawned.Load(),
		Queued: p.Stats.Queued.Load(), Inbox: max(p.InboxDepth(), 0), Submitted: p.Submitted(),
		FDs: p.Registered(), Timers: p.Stats.Timers.Load(),
		Moved: p.Stats.Moved.Load() + p.Stats.MovedWatches.Load(),
		Turns: p.Stats.Turns.Load(), Sleeps: p.Stats.Sleeps.Load(),
		BytesIn: io.BytesIn, BytesOut: io.BytesOut,
		IdleNs: p.IdleNs(), SpinNs: int64(p.Stats.SpinNs.Load()), CPUNs: -1,
	}
	if co := p.Executor().Current(); co != nil {
		f.Current = co.ID()
	}
	if ns, ok := p.CPUNs(); ok {
		f.CPUNs = ns
	}
	now := clock.Now()
	switch started := p.StartedNs(); {
	case started == 0:
		f.State = "not started"
	case p.Idle():
		f.State, f.Current = "asleep", 0
		fallthrough
	default:
		f.SinceNs = now - started
		f.BusyNs = max(f.SinceNs-f.IdleNs-f.SpinNs, 0)
		if f.State == "busy" {
			f.TurnNs = max(now-int64(p.Stats.TurnStart.Load()), 0)
		}
	}
	remember(&f, p.History(), now)
	return f
}

// recently is how far back Load looks.
const recently = int64(30 * time.Second)

// remember fills in the figures of a Processor's history.
func remember(f *processorJSON, history []processor.Slice, now int64) {
	var lengths [len(processor.Slice{}.Lengths)]uint64
	var busy, runs, waited uint64
	for _, s := range history {
		f.History = append(f.History, sliceJSON{
			AgoNs: now - s.Start, Turns: s.Turns, BusyNs: s.BusyNs,
			P50Ns: quantile(s.Lengths[:], s.MaxNs, 0.5), P99Ns: quantile(s.Lengths[:], s.MaxNs,
				0.99), MaxNs: int64(s.MaxNs),
		})
		for i, n := range s.Lengths {
			lengths[i] += n
		}
		f.TurnMax = max(f.TurnMax, int64(s.MaxNs))
		if now-s.Start < recently {
			busy += s.BusyNs
			runs += s.Runs
			waited += s.WaitNs
		}
	}
	f.TurnP50 = quantile(lengths[:], uint64(f.TurnMax), 0.5)
	f.TurnP99 = quantile(lengths[:], uint64(f.TurnMax), 0.99)
	if runs > 0 {
		f.WaitNs = int64(waited / runs)
	}
	if span := min(recently, f.SinceNs); span > 0 {
		busy += uint64(f.TurnNs) // the present turn is in no slice yet
		f.Load = min(float64(busy)/float64(span), 1)
	}
}

// quantile returns an upper bound of the q-quantile of turns that are counted
// by length, as processor.Slice has them.
func quantile(lengths []uint64, longest uint64, q float64) int64 {
	var all, n uint64
	for _, k := range lengths {
		all += k
	}
	if all == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(all)))
	for i, k := range lengths {
		if n += k; n >= rank {
			if i == len(lengths)-1 {
				break
			}
			return int64(min(uint64(1)<<(10+i), longest))
		}
	}
	return int64(longest)
}

// latencies are the figures of a histogram that pages show.
type latencies struct {
	count                          uint64
	mean, p50, p90, p99, p999, max int64
}

func latenciesOf(h counter.HistogramSnapshot) latencies {
	l := latencies{count: h.Count}
	if h.Count > 0 {
		l.mean = int64(h.SumNs / h.Count)
	}
	l.p50, l.p90, l.p99, l.p999, l.max = bound(h, 0.5), bound(h, 0.9), bound(h, 0.99),
		bound(h, 0.999), bound(h, 1)
	return l
}

// bound returns the upper bound, in ns, of the bucket that holds the
// q-quantile.
func bound(h counter.HistogramSnapshot, q float64) int64 {
	if h.Count == 0 {
		return 0
	}
	rank := uint64(math.Ceil(q * float64(h.Count)))
	n := h.Zero
	if n >= rank {
		return int64(math.Ceil(counter.HistogramZero * 1e9))
	}
	for i, k := range h.Buckets {
		if n += k; n >= rank {
			return int64(
				1e9 * math.Exp2(float64(counter.FirstBucket+i)/(1<<counter.HistogramSchema)))
		}
	}
	return int64(h.SumNs)
}
