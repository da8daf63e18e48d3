package introspect

import (
	"fmt"
	"math"
	"time"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
)

// figuresOf reads a Processor's counters, each at a slightly different moment.
func figuresOf(s *scheduler.Scheduler, p *processor.Processor) processorJSON {
	io := p.IO().Snapshot()
	f := processorJSON{
		Index: p.Index(), Tid: p.Tid(), State: "busy", Active: p.IsActive(),
		Live: p.Live(), Spawned: p.Coroutines().Spawned.Load(),
		Queued: p.Stats.Queued.Load(), Inbox: max(p.InboxDepth(), 0), Submitted: p.Submitted(),
		FDs: p.Registered(), Timers: p.Stats.Timers.Load(),
		Moved: p.Stats.Moved.Load(),
		Turns: p.Stats.Turns.Load(), Sleeps: p.Stats.Sleeps.Load(),
		BytesIn: io.BytesIn, BytesOut: io.BytesOut,
		IdleNs: p.IdleNs(), SpinNs: int64(p.Stats.SpinNs.Load()), CPUNs: -1,
		Stalls: s.StallCount(p.Index()),
	}
	if co := p.Executor().Current(); co != nil {
		f.Current = co.ID()
	}
	if ns, ok := p.CPUNs(); ok {
		f.CPUNs = ns
	}
	now := clock.Now()
	started := p.StartedNs()
	if started != 0 {
		f.SinceNs = now - started
		f.BusyNs = max(f.SinceNs-f.IdleNs-f.SpinNs, 0)
	}
	switch {
	case started == 0:
		f.State = "not started"
	case p.Idle():
		f.State, f.Current = "asleep", 0
	default:
		f.TurnNs = max(now-int64(p.Stats.TurnStart.Load()), 0)
	}
	remember(&f, p.History(), now)
	return f
}

// remember fills in the figures of a Processor's history.
func remember(f *processorJSON, history []processor.Slice, now int64) {
	const recently = int64(30 * time.Second) // for Load
	var lengths [len(processor.Slice{}.Lengths)]uint64
	var busy, runs, waited uint64
	for _, s := range history {
		f.History = append(f.History, sliceJSON{
			AgoNs: now - s.Start, Turns: s.Turns, BusyNs: s.BusyNs,
			P50Ns: quantile(s.Lengths[:], s.MaxNs, 0.5),
			P99Ns: quantile(s.Lengths[:], s.MaxNs, 0.99), MaxNs: int64(s.MaxNs),
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

// quantile returns an upper bound of the q-quantile of the lengths of turns, in
// ns. lengths is the histogram of a processor.Slice.
func quantile(lengths []uint64, longest uint64, q float64) int64 {
	var all, n uint64
	for _, k := range lengths {
		all += k
	}
	rank := max(uint64(math.Ceil(q*float64(all))), 1)
	for i, k := range lengths[:len(lengths)-1] {
		if n += k; n >= rank {
			return int64(min(uint64(1)<<(10+i), longest))
		}
	}
	return int64(longest) // 0 if there were none
}

// The units of a Processor's chart, whose axes are in pages/overview.html.
const (
	plotLeft, plotRight = 46.0, 512.0
	plotTop, plotBottom = 10.0, 128.0 // turns of 10 s, of 1 µs
	loadTop, loadBottom = 144.0, 168.0
	chartSpan           = int64(240e9) // ns, to the left edge
	sliceSpan           = int64(5e9)
)

// Chart returns the paths of a Processor's last minutes: the lengths of its
// turns on a logarithmic scale, as steps, and the share of the time in which it
// was busy. A slice in which nothing ran is a gap.
func (p processorJSON) Chart() (c struct{ Max, P99, P50, Load string }) {
	last := math.Inf(-1)
	timeX := func(ago int64) float64 {
		ago = min(max(ago, 0), chartSpan)
		return plotRight - (plotRight-plotLeft)*float64(ago)/float64(chartSpan)
	}
	for _, s := range p.History {
		from, to := timeX(s.AgoNs), timeX(s.AgoNs-sliceSpan)
		// A turn counts in the slice in which it ended: a share may be above 1.
		busy := min(float64(s.BusyNs)/float64(sliceSpan), 1) * (loadBottom - loadTop)
		c.Load += fmt.Sprintf("M%.1f %gV%.1fH%.1fV%[2]g", from, loadBottom, loadBottom-busy, to)
		if s.Turns == 0 || s.AgoNs-sliceSpan >= chartSpan {
			continue
		}
		move := "L"
		if from-last > 0.5 {
			move = "M"
		}
		step := func(path *string, ns int64) {
			share := (math.Log10(float64(max(ns, 1))) - 3) / 7 // of the decades from 1 µs
			y := plotBottom - (plotBottom-plotTop)*min(max(share, 0), 1)
			*path += fmt.Sprintf("%s%.1f %.1fH%.1f", move, from, y, to)
		}
		step(&c.Max, s.MaxNs)
		step(&c.P99, s.P99Ns)
		step(&c.P50, s.P50Ns)
		last = to
	}
	return c
}
