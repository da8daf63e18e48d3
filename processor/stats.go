package processor

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
)

// Stats are a Processor's own counters: its thread writes them, any thread reads them. They cost the Processor an
// ordinary add.
type Stats struct {
	Turns        counter.Counter
	TurnStart    counter.Counter // CLOCK_MONOTONIC, ns
	Sleeps       counter.Counter // times blocked in epoll
	SpinNs       counter.Counter // time spent looking for events instead
	RemoteWakes  counter.Counter // coroutines woken by other threads
	Stolen       counter.Counter // coroutines taken from other Processors
	Moved        counter.Counter // coroutines that have moved here after they had started
	MovedWatches counter.Counter // armed Watches that have moved here
	TimersFired  counter.Counter
	Queued       counter.Counter   // ready coroutines when the last turn began
	Timers       counter.Counter   // in the heap when the last turn began
	TurnNs       counter.Histogram // length of the turns that ran something
	LateNs       counter.Histogram // how late timers fired
}

// Executor returns what runs the coroutines. Most of its methods are the owner's.
func (p *Processor) Executor() *coroutine.Executor { return &p.ex }

// Coroutines returns the executor's counters.
func (p *Processor) Coroutines() *coroutine.Stats { return &p.ex.Stats }

// Events returns the epoller's counters.
func (p *Processor) Events() *epoller.Stats { return &p.ep.Stats }

// Registered returns how many fds are registered.
func (p *Processor) Registered() int { return p.ep.Registered() }

// PollDescs calls f for the fds that are registered, from any thread, until it returns false. It may miss those that come or go meanwhile.
func (p *Processor) PollDescs(f func(*PollDesc) bool) {
	more := true
	p.ep.Each(func(pd *PollDesc) { more = more && f(pd) })
}

// InboxDepth returns how many wakes by other threads have been posted and not acted on.
func (p *Processor) InboxDepth() int {
	done := p.Stats.RemoteWakes.Load() // first: it follows the other
	return int(p.posted.Load() - done)
}

// Watches returns how many Watches are armed, or woken and without a coroutine yet: idle connections, most of them.
func (p *Processor) Watches() int { return int(p.watches.Load()) }

// Submitted returns how many coroutines have been given to this Processor that are not in its run queue yet.
func (p *Processor) Submitted() int { return int(p.sub.waiting.Load()) }

// clockwork is what a Processor's time is told from, by any thread.
type clockwork struct {
	// slept is the time asleep so far in ns, twice; or, while asleep, twice the time at which that would have begun if all of
	// it had been one sleep, and one. One word, so that it needs no order with others.
	slept   counter.Counter
	started counter.Counter // CLOCK_MONOTONIC, ns; 0 before
	ended   counter.Counter // the same; 0 before
	tid     atomic.Int32    // of its thread, 0 for none of its own
	turn    turnEnd

	idleSeen, busySeen atomic.Int64 // the most that was told: a reader's clock may be ahead of the owner's
}

func (c *clockwork) asleep(now int64) {
	c.slept.Set(uint64(now-int64(c.slept.Own()/2))<<1 | 1)
}

func (c *clockwork) awake(now int64) {
	c.slept.Set(uint64(now-int64(c.slept.Own()/2)) << 1)
}

// IdleNs returns how long the Processor has been asleep so far, the present sleep included. It never goes down.
func (p *Processor) IdleNs() int64 {
	now := clock.Now()
	word := p.time.slept.Load()
	t := int64(word / 2)
	if word&1 != 0 {
		t = now - t
	}
	return noLess(&p.time.idleSeen, t)
}

// BusyNs returns how long it has been neither asleep nor spinning since its start. It never goes down.
func (p *Processor) BusyNs() int64 {
	started := p.StartedNs()
	if started == 0 {
		return 0
	}
	end := int64(p.time.ended.Load())
	if end == 0 {
		end = clock.Now()
	}
	return noLess(&p.time.busySeen, end-started-p.IdleNs()-int64(p.Stats.SpinNs.Load()))
}

// noLess returns t, or the most that it has returned for seen.
func noLess(seen *atomic.Int64, t int64) int64 {
	for {
		old := seen.Load()
		if t <= old {
			return old
		}
		if seen.CompareAndSwap(old, t) {
			return t
		}
	}
}

// StartedNs returns when its thread began, in ns of CLOCK_MONOTONIC, or 0 if it has not.
func (p *Processor) StartedNs() int64 { return int64(p.time.started.Load()) }

// Tid returns the id of the thread that is its own, or 0 if it has none: before
// its start, after its end, and unless it is locked to one.
func (p *Processor) Tid() int { return int(p.time.tid.Load()) }

// Thread returns the id of the thread that runs its current coroutine or is its
// own, or 0 if neither is known. From any thread; it may be over by then.
func (p *Processor) Thread() int {
	if tid := p.Tid(); tid != 0 {
		return tid
	}
	return p.ex.Thread()
}

// CPUNs returns the CPU time that its thread has used; false if it has none of its own.
func (p *Processor) CPUNs() (int64, bool) {
	return ThreadCPUNs(p.Tid())
}

// ThreadCPUNs returns the CPU time that a thread of this process has used; false
// if tid is 0 or it has ended.
func ThreadCPUNs(tid int) (int64, bool) {
	if tid == 0 {
		return 0, false
	}
	const perThread, sched = 4, 2 // as the kernel makes the clock id of a thread: posix-timers_types.h
	var ts unix.Timespec
	if unix.ClockGettime(int32(^tid<<3|perThread|sched), &ts) != nil {
		return 0, false
	}
	return ts.Nano(), true
}
