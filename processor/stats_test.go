package processor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

// compute keeps its thread for d.
func compute(d time.Duration) {
	for until := clock.Now() + int64(d); clock.Now() < until; {
	}
}

// TestTimeIsAccountedFor: sleep counts while it goes on, busy time is what was
// not slept or spun, and neither goes down however often and from wherever it
// is read.
func TestTimeIsAccountedFor(t *testing.T) {
	p := started(t, 1).members[0]
	testenv.Until(t, "sleep", p.Idle)
	before := p.IdleNs()
	testenv.Until(t, "the sleep to count", func() bool {
		return p.IdleNs() > before+int64(5*time.Millisecond)
	})

	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var idle, busy int64
			for !stop.Load() {
				i, b := p.IdleNs(), p.BusyNs()
				testenv.True(t, i >= idle && b >= busy, "idle %d after %d, busy %d after %d", i,
					idle, b, busy)
				idle, busy = i, b
				runtime.Gosched()
			}
		})
	}
	for range testenv.Rounds(100) {
		on(t, p, func() { Sleep(50 * time.Microsecond); compute(20 * time.Microsecond) })
	}
	// A reader that comes between the beginning of a sleep and its publication
	// takes it for work, and the figure stands still for as long.
	testenv.Until(t, "20 ms of work to count", func() bool {
		busy := p.BusyNs()
		on(t, p, func() { compute(20 * time.Millisecond) })
		return p.BusyNs()-busy >= int64(20*time.Millisecond)
	})
	stop.Store(true)
	wg.Wait()
	testenv.Until(t, "what was taken for work to be made up for", func() bool {
		on(t, p, func() { compute(time.Millisecond) })
		sum := p.IdleNs() + p.BusyNs() + int64(p.Stats.SpinNs.Load())
		// the whole is read last: time goes on
		return sum <= clock.Now()-p.StartedNs()+int64(time.Millisecond)
	})
}

func TestCPUTime(t *testing.T) {
	p := newOne(t)
	_, ok := p.CPUNs()
	testenv.True(t, !ok && p.Tid() == 0, "a thread, or CPU time, before Start")
	testenv.OK(t, p.Start())
	before, ok := p.CPUNs()
	if !ok || p.Tid() == 0 || p.Tid() == unix.Getpid() && unix.Gettid() == p.Tid() {
		t.Fatalf("thread %d, %v", p.Tid(), ok)
	}
	testenv.Until(t, "CPU time", func() bool {
		on(t, p, func() { compute(time.Millisecond) })
		now, _ := p.CPUNs()
		return now-before > int64(time.Millisecond)/2
	})
	end(p.group)
	_, ok = p.CPUNs()
	testenv.True(t, !ok && p.Tid() == 0, "a thread that has ended, or its CPU time")
	testenv.Equal(t, p.BusyNs(), p.BusyNs(), "busy after the end")
}

// newOne makes one Processor that has not been started.
func newOne(t *testing.T) *Processor { return newGroup(t, 1).members[0] }

// TestTurnsAreMeasured: a turn that computes is in the histogram and in the
// history at its length; sleep is in neither.
func TestTurnsAreMeasured(t *testing.T) {
	p := started(t, 1).members[0]
	const long = 30 * time.Millisecond
	on(t, p, func() { compute(long) })
	on(t, p, func() { Sleep(2 * long) })
	on(t, p, func() {}) // the turn before it has been noted by now
	var worst uint64
	for _, s := range p.History() {
		worst = max(worst, s.MaxNs)
		var n uint64
		for _, l := range s.Lengths {
			n += l
		}
		testenv.True(t, s.Start%sliceNs == 0 && s.Turns != 0, "slice %+v", s)
	}
	testenv.True(t, worst >= uint64(long), "the longest turn took %v, want at least %v",
		time.Duration(worst), long)
	h := p.Stats.TurnNs.Snapshot()
	testenv.True(t, h.SumNs >= uint64(long) && h.Count >= 2, "%d turns of %v in all", h.Count,
		time.Duration(h.SumNs))
	turns := p.Stats.Turns.Load()
	testenv.True(t, h.Count <= turns, "%d lengths of %d turns", h.Count, turns)
}

func TestLateness(t *testing.T) {
	p := started(t, 1).members[0]
	for n, before := uint64(1), uint64(0); ; n++ {
		on(t, p, func() {
			h := p.PinnedHere(func() { Sleep(time.Millisecond) })
			coroutine.Yield()
			compute(20 * time.Millisecond)
			h.Join()
		})
		s := p.Stats.LateNs.Snapshot()
		late := s.SumNs - before
		if s.Count == n && late >= uint64(10*time.Millisecond) {
			return
		}
		// It is on time if others have had the CPU after Sleep and the turn was
		// over before the computation.
		if before = s.SumNs; s.Count != n || n == 20 {
			t.Fatalf("%d of %d timers, the last late by %v, want some 19 ms", s.Count, n,
				time.Duration(late))
		}
	}
}

// TestGauges: what is in the inbox, the submissions, the run queue and the heap
// while the thread is kept busy.
func TestGauges(t *testing.T) {
	p := started(t, 1).members[0]
	var waiter *coroutine.Waiter
	parked := make(chan struct{})
	sleeper := p.Pinned(func() {
		waiter = coroutine.AcquireWaiter()
		close(parked)
		waiter.ParkUntil(coroutine.ReasonUser, clock.Now()+int64(time.Hour))
		waiter.Release()
	})
	<-parked
	testenv.Until(t, "the sleeper to sleep", func() bool {
		return p.Idle() && p.Stats.Timers.Load() == 1
	})
	hold, held := make(chan struct{}), make(chan struct{})
	busy := p.Pinned(func() { close(held); <-hold })
	<-held
	waiter.Wake()
	testenv.Equal(t, p.InboxDepth(), 1, "wakes in the inbox")
	other := p.Pinned(func() {})
	testenv.Equal(t, p.Submitted(), 1, "submissions")
	testenv.Equal(t, p.Stats.Queued.Load(), 1, "ready when the turn began")
	close(hold)
	for _, h := range []coroutine.Handle{sleeper, busy, other} {
		h.Join()
	}
	testenv.Until(t, "all to be over", func() bool {
		return p.InboxDepth() == 0 && p.Submitted() == 0 && p.Idle() && p.Stats.Timers.Load() == 0
	})
}

// TestEventsCountOnce: an event that ends a sleep is one event.
func TestEventsCountOnce(t *testing.T) {
	p := started(t, 1).members[0]
	fd, peer := socketpair(t)
	pd := new(PollDesc)
	const sent = 50
	var read atomic.Int32
	h := p.Pinned(func() {
		defer pd.Unbind()
		for read.Load() < sent {
			pd.Clear(Read)
			if n, _ := unix.Read(fd, make([]byte, 1)); n == 1 {
				read.Add(1)
			} else if v, err := pd.Wait(fd, Read, coroutine.ReasonRead, 0); v != Try || err != nil {
				t.Errorf("the wait ended with %d, %v", v, err)
				return
			}
		}
	})
	for i := range int32(sent) {
		testenv.Until(t, "it to sleep", func() bool { return read.Load() == i && p.Turn().Asleep })
		send(pd, peer)
	}
	h.Join()
	if n := p.ep.Stats.Events.Load(); n > sent+1 { // one says that it can be written to
		t.Errorf("%d events of %d bytes", n, sent)
	}
}
