package processor

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/counter"
)

// Stats are a Processor's own counters: the owner writes them, at the cost of
// an ordinary add, and any thread reads them.
type Stats struct {
	Turns       counter.Counter
	TurnStart   counter.Counter // CLOCK_MONOTONIC, ns
	Sleeps      counter.Counter // times blocked in epoll
	SpinNs      counter.Counter // time spent polling instead of sleeping
	RemoteWakes counter.Counter // coroutines woken by other threads
	Stolen      counter.Counter // coroutines stolen from other Processors
	Moved       counter.Counter // started coroutines that have moved here
	TimersFired counter.Counter
	Queued      counter.Counter   // ready coroutines when the last turn began
	Timers      counter.Counter   // in the heap when the last turn began
	TurnNs      counter.Histogram // length of the turns that ran something
	WaitNs      counter.Histogram // how long coroutines were ready before they ran, see noteWaits
	LateNs      counter.Histogram // how late timers fired
}

// Executor returns the executor that runs the coroutines. Most of its methods
// are the owner's.
func (p *Processor) Executor() *coroutine.Executor { return &p.ex }

// Coroutines returns the executor's counters.
func (p *Processor) Coroutines() *coroutine.Stats { return &p.ex.Stats }

// Events returns the epoller's counters.
func (p *Processor) Events() *epoller.Stats { return &p.ep.Stats }

// Registered returns how many fds are registered.
func (p *Processor) Registered() int { return p.ep.Registered() }

// PollDescs calls f for the fds that are registered, until it returns false. It
// may miss fds that come or go meanwhile. Any thread.
func (p *Processor) PollDescs(f func(*PollDesc) bool) {
	more := true
	p.ep.Each(func(pd *PollDesc) {
		if more && pd.home.Load() == p { // a shared fd has a registration with each member
			more = f(pd)
		}
	})
}

// InboxDepth returns how many wakes by other threads are in the inbox.
func (p *Processor) InboxDepth() int {
	done := p.Stats.RemoteWakes.Load() // first: posted, read later, is at least as high
	return int(p.posted.Load() - done)
}

// Posted returns how many wakes by other threads have ever come.
func (p *Processor) Posted() uint64 { return p.posted.Load() }

// Watches returns how many Watches are armed, or woken and waiting for a
// coroutine. Most of them are idle connections.
func (p *Processor) Watches() int { return int(p.watches.Load()) + int(p.shared.watches.Load()) }

// Live returns how many coroutines have started here and not ended. A coroutine
// that any member of the domain may take is counted where it began to wait; if
// another member takes it meanwhile, both may count it.
func (p *Processor) Live() uint64 {
	return p.ex.Stats.Live.Load() + uint64(max(p.shared.coroutines.Load(), 0))
}

// Submitted returns how many coroutines are queued for this Processor and not
// in its run queue yet.
func (p *Processor) Submitted() int { return int(p.sub.waiting.Load()) }

// times records how a Processor has spent its time. Any thread reads it.
type times struct {
	// slept is, while awake, twice the time asleep so far, in ns; while asleep,
	// 1 + twice the time at which the sleep would have begun if all sleep so
	// far had been part of it. It is one word, so that readers need no order
	// with other words.
	slept   counter.Counter
	started counter.Counter // CLOCK_MONOTONIC, ns; 0 before the start
	ended   counter.Counter // CLOCK_MONOTONIC, ns; 0 before the end
	tid     atomic.Int32    // of its own thread; 0 without one

	// The highest results so far: a reader's clock may be ahead of the owner's.
	idleSeen, busySeen atomic.Int64
}

// sleeping reports whether the owner has not come back from its last sleep. A
// ring or an event may have ended the sleep. Any thread.
func (t *times) sleeping() bool { return t.slept.Load()&1 != 0 }

// asleep notes that a sleep begins.
func (t *times) asleep(now int64) {
	t.slept.Set(uint64(now-int64(t.slept.Own()/2))<<1 | 1)
}

// awake notes that a sleep has ended, before the owner reads pausing.
func (t *times) awake(now int64) {
	t.slept.Publish(uint64(now-int64(t.slept.Own()/2)) << 1)
}

// IdleNs returns how long the Processor has been asleep so far, including the
// present sleep. It never goes down. Any thread.
func (p *Processor) IdleNs() int64 {
	now := clock.Now()
	word := p.time.slept.Load()
	t := int64(word / 2)
	if word&1 != 0 {
		t = now - t
	}
	return monotonic(&p.time.idleSeen, t)
}

// BusyNs returns how long the Processor has been neither asleep nor spinning
// since its start. It never goes down. Any thread.
func (p *Processor) BusyNs() int64 {
	started := p.StartedNs()
	if started == 0 {
		return 0
	}
	end := int64(p.time.ended.Load())
	if end == 0 {
		end = clock.Now()
	}
	return monotonic(&p.time.busySeen, end-started-p.IdleNs()-int64(p.Stats.SpinNs.Load()))
}

// monotonic returns t, or the highest result of an earlier call with seen.
func monotonic(seen *atomic.Int64, t int64) int64 {
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

// StartedNs returns when the Processor's loop began, in ns of CLOCK_MONOTONIC,
// or 0 if the loop has not begun.
func (p *Processor) StartedNs() int64 { return int64(p.time.started.Load()) }

// Tid returns the id of the Processor's own thread. It is 0 before the start,
// after the end, and for a Processor that is not locked to a thread.
func (p *Processor) Tid() int { return int(p.time.tid.Load()) }

// Thread returns the id of the Processor's own thread, or else of the thread
// that runs its current coroutine, or 0 if neither is known. Any thread; the
// answer may be out of date at once.
func (p *Processor) Thread() int {
	if tid := p.Tid(); tid != 0 {
		return tid
	}
	return p.ex.Thread()
}

// CPUNs returns the CPU time that the Processor's own thread has used; false
// without such a thread.
func (p *Processor) CPUNs() (int64, bool) {
	return ThreadCPUNs(p.Tid())
}

// ThreadCPUNs returns the CPU time that a thread of this process has used;
// false if tid is 0 or the thread has ended.
func ThreadCPUNs(tid int) (int64, bool) {
	if tid == 0 {
		return 0, false
	}
	// Parts of the clock id of a thread, see the kernel's posix-timers_types.h.
	const perThread, sched = 4, 2
	var ts unix.Timespec
	if unix.ClockGettime(int32(^tid<<3|perThread|sched), &ts) != nil {
		return 0, false
	}
	return ts.Nano(), true
}
