package processor

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

// elastic makes n Processors that may share, of which one is active. The test
// discards or starts them.
func elastic(t testing.TB, n int) *Group {
	t.Helper()
	g := NewGroup(nil)
	addLike(t, g, n, Config{Idle: 64})
	g.SetMinActive(1)
	return g
}

// sharing makes n running Processors that share fds. Without a monitor nothing
// ends that. They end with the test.
func sharing(t testing.TB, n int) *Group {
	t.Helper()
	needMoves(t)
	g := elastic(t, n)
	start(t, g)
	t.Cleanup(func() { end(g) })
	g.Share()
	return g
}

// endsOfSharedWaits are for TestSharedWait.
var endsOfSharedWaits = []struct {
	name     string
	deadline int64 // from now; 0: none
	do       func(l *line, h coroutine.Handle, g *Group)
	want     Verdict
}{
	{"data", 0, func(l *line, _ coroutine.Handle, _ *Group) { l.send(7) }, Try},
	{"data under a deadline", 1e12, func(l *line, _ coroutine.Handle, _ *Group) {
		l.send(7)
	}, Try},
	{"deadline", 1e6, func(*line, coroutine.Handle, *Group) {}, Timeout},
	{"SetDeadline", 1e12, func(l *line, _ coroutine.Handle, _ *Group) {
		l.pd.SetDeadline(Read, 1)
	}, Timeout},
	{"Unblock", 0, func(l *line, _ coroutine.Handle, _ *Group) {
		l.pd.Unblock(Read)
		l.send(7)
	}, Try},
	{"Evict", 0, func(l *line, _ coroutine.Handle, _ *Group) { l.pd.Evict() }, Closing},
	{"Stop", 0, func(_ *line, h coroutine.Handle, _ *Group) { h.Stop() }, Shutdown},
	{"Stack", 0, func(l *line, h coroutine.Handle, _ *Group) {
		info, _ := h.Info()
		if stack, err := info.Stack(context.Background()); err != nil ||
			!strings.Contains(stack, "[read]") {
			panic(fmt.Sprint(stack, err))
		}
		l.send(7)
	}, Try},
	{"end of the group", 0, func(_ *line, _ coroutine.Handle, g *Group) { g.Advance(Stopping) },
		Shutdown},
}

// TestSharedWait: a wait for a shared fd ends as others do, and leaves nothing.
func TestSharedWait(t *testing.T) {
	for _, c := range endsOfSharedWaits {
		t.Run(c.name, func(t *testing.T) {
			g := sharing(t, 2)
			p, l := g.members[0], newLine(t)
			if c.deadline != 0 {
				l.pd.SetDeadline(Read, clock.Now()+c.deadline)
			}
			got := make(chan Verdict, 1)
			h := p.Open(func() {
				b, v := l.read()
				testenv.True(t, v != Try || b == 7, "read %d", b)
				l.close()
				got <- v
			})
			if c.deadline == 0 || c.deadline > 1e9 {
				testenv.Until(t, "it waits shared", func() bool {
					return l.waits() && p.shared.coroutines.Load() == 1
				})
				if n := p.Live(); n != 1 || p.ex.Stats.Live.Load() != 0 || !g.Active() {
					t.Errorf("%d live here, the group is active: %t", n, g.Active())
				}
			}
			c.do(l, h, g)
			testenv.Equal(t, <-got, c.want)
			h.Join()
			quiet(t, g)
			testenv.True(t, !p.shared.any(), "waits are shared at the end")
		})
	}
}

// TestSharedEvent: what waits for an fd runs on another Processor while its own
// computes, as a coroutine, also that of a listener, and as a Watch; and again
// when its own is free.
func TestSharedEvent(t *testing.T) {
	needMoves(t) // before it opens anything
	testSharedEvent(t, newLine(t))
	l := newLine(t)
	l.pd.SetListener()
	testSharedEvent(t, l)
}

func testSharedEvent(t *testing.T, l *line) {
	g := sharing(t, 2)
	p, q := g.members[0], g.members[1]
	ran := make(chan *Processor)
	h := p.Open(func() {
		for {
			if _, v := l.read(); v != Try {
				l.close()
				return
			}
			ran <- Current()
		}
	})
	a := armedShared(t, p)
	for _, busy := range []*Processor{p, q, p} {
		testenv.Until(t, "they wait", func() bool { return l.waits() && a.waits() })
		release := hog(busy)
		l.send(1)
		at := <-ran
		testenv.True(t, at != busy, "it runs on Processor %d, which is busy", at.Index())
		before := a.read.Load()
		a.send(1)
		testenv.Until(t, "the Watch is served", func() bool { return a.read.Load() > before })
		release()
	}
	l.pd.Evict()
	h.Join()
	a.pd.Evict()
	<-a.ended
	a.close()
	quiet(t, g)
}

// armedShared starts an armer on p and waits until any of the domain may take
// it.
func armedShared(t testing.TB, p *Processor) *armer {
	a := newArmer(t)
	before := p.Watches()
	a.x.Begin(nil, p)
	testenv.Until(t, "it is armed", func() bool { return a.waits() && p.Watches() > before })
	return a
}

// TestSharedWriter: a domain has no events for writers until a coroutine waits
// to write, before the fd is shared or after; and the reader goes on waiting.
func TestSharedWriter(t *testing.T) {
	for _, first := range []Mode{Read, Write} {
		g := sharing(t, 3)
		p, l := g.members[0], newLine(t)
		got, wrote := make(chan byte, 1), make(chan Verdict, 1)
		start := func(m Mode) {
			if m == Read {
				p.Open(func() {
					b, _ := l.read()
					got <- b
				})
				testenv.Until(t, "it waits to read", l.waits)
				return
			}
			p.Open(func() {
				_, v := l.fill()
				wrote <- v
			})
			testenv.Until(t, "it waits to write", l.pd.write.hasWaiter)
		}
		start(first)
		if s := l.pd.shared.Load(); (s != nil) != (first == Read) || s != nil && s.writes {
			t.Errorf("with one waiter the registrations are %+v", s)
		}
		start(1 - first)
		testenv.Until(t, "there are events for the writer", func() bool {
			s := l.pd.shared.Load()
			return s != nil && s.writes
		})
		l.drain()
		testenv.Equal(t, <-wrote, Try)
		l.send(7)
		testenv.Equal(t, <-got, 7)
		for _, q := range g.members {
			testenv.Equal(t, q.ep.Registered(), 1)
		}
		l.close()
		quiet(t, g)
	}
}

// fill writes until it has waited, and returns how much and how the wait ended.
func (l *line) fill() (n int, v Verdict) {
	for chunk := make([]byte, 4096); ; {
		l.pd.Clear(Write)
		k, err := unix.Write(l.fd, chunk)
		if err != nil {
			v, _ = l.pd.Wait(l.fd, Write, coroutine.ReasonWrite, 0)
			return n, v
		}
		n += k
	}
}

// drain reads what there is at the peer and returns how much.
func (l *line) drain() (n int) {
	unix.SetNonblock(l.peer, true)
	for chunk := make([]byte, 4096); ; {
		k, err := unix.Read(l.peer, chunk)
		if err != nil || k == 0 {
			return n
		}
		n += k
	}
}

// TestSharedWriterHammer: a reader and a writer of one fd, while sharing begins
// and ends, miss no event.
func TestSharedWriterHammer(t *testing.T) {
	g := sharing(t, 3)
	p, l := g.members[0], newLine(t)
	rounds := testenv.Rounds(5_000)
	var read, written, drained atomic.Int64
	reader := p.Open(func() {
		for range rounds {
			l.read()
			read.Add(1)
			runtime.Gosched()
		}
	})
	writer := g.members[1].Open(func() {
		for range rounds {
			n, _ := l.fill()
			written.Add(int64(n))
		}
	})
	var over atomic.Bool
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for i := 0; !over.Load(); i++ {
			if i%2 == 0 {
				g.Share()
			} else {
				g.EndSharing()
			}
			if l.waits() {
				l.send(7)
			}
			drained.Add(int64(l.drain()))
			runtime.Gosched()
		}
	}()
	reader.Join()
	writer.Join()
	over.Store(true)
	<-ended
	testenv.Equal(t, drained.Load()+int64(l.drain()), written.Load())
	l.close()
	quiet(t, g)
}

// TestSharingEnds: an fd is one Processor's again at the next wait after
// sharing, which draining ends for good, and its reader learns of the peer's
// end.
func TestSharingEnds(t *testing.T) {
	g := sharing(t, 3)
	p, l := g.members[0], newLine(t)
	got := make(chan Verdict, 1)
	p.Open(func() {
		for {
			if _, v := l.read(); v != Try {
				l.close()
				got <- v
				return
			}
		}
	})
	drain := func() { g.Advance(Draining) }
	for i, ends := range []func(){g.Share, g.EndSharing, g.Share, drain, g.Share} {
		testenv.Until(t, "it waits", l.waits)
		g.Share()
		ends()
		l.send(1)
		on := i == 0 || i == 2
		testenv.Until(t, "the fd is where it belongs", func() bool {
			n := 0
			for _, q := range g.members {
				n += q.ep.Registered()
			}
			return (n == 3 && on || n == 1 && !on) && l.waits() && l.pd.Shared() == on
		})
	}
	unix.Shutdown(l.peer, unix.SHUT_WR)
	testenv.Equal(t, <-got, Closing, "after the peer's end")
	quiet(t, g)
}

// TestSharingBegins: runs that are long and wait for one another begin it.
func TestSharingBegins(t *testing.T) {
	for _, c := range []struct {
		name          string
		runNs, waitNs int64
		on            bool
	}{
		{"short", longAboveNs - 1000, 10 * waitAboveNs, false},
		{"without a wait", 10 * longAboveNs, waitAboveNs - 1000, false},
		{"long", longAboveNs + 1000, waitAboveNs + 1000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := elastic(t, 2)
			defer g.Discard()
			g.balanced.Store(true)
			p := g.members[0]
			for range 20 {
				if p.runs.readsCPU {
					p.runs.used(64*c.runNs, 64)
				}
				p.noteRuns(64*c.runNs, 64*c.waitNs, 64)
			}
			testenv.True(t, g.Sharing() == c.on && g.members[1].IsActive() == c.on,
				"shares: %t, the other is active: %t", g.Sharing(), g.members[1].IsActive())
			g.EndSharing() // as the monitor does
			p.noteRuns(c.runNs, c.waitNs, 1)
			testenv.True(t, !g.Sharing(), "shares again at once")
		})
	}
}

// TestOffer: coroutines that compute, more than a turn can run, are soon on two
// Processors, without a monitor that spreads them.
func TestOffer(t *testing.T) {
	needMoves(t)
	g := elastic(t, 2)
	g.balanced.Store(true)
	start(t, g)
	defer end(g)
	first, second := g.members[0], g.members[1]
	var over atomic.Bool
	defer over.Store(true)
	for range 32 {
		first.Open(func() {
			for !over.Load() {
				for until := clock.Now() + longBelowNs + 4_000; clock.Now() < until; {
				}
				coroutine.Yield()
			}
		})
	}
	testenv.Until(t, "some run on the second", func() bool {
		return second.IsActive() && second.Stats.Turns.Load() > 0 && second.Live() > 1
	})
}

// TestWaits: how long runs were ready, from the turns' lengths.
func TestWaits(t *testing.T) {
	g := newGroup(t, 1)
	defer g.Discard()
	p := g.members[0]
	p.history.nextSlice(clock.Now())
	p.waits.queued = 1
	p.noteWaits(4_000, 1) // after a sleep: waits for nothing
	p.waits.queued = 4
	p.noteWaits(4_000, 4) // 2 µs for the turn before, then 0 to 3 µs
	p.waits = waits{4_000, 2, 2}
	p.noteWaits(40_000, 80) // they wake one another: one is ready before each
	h := p.Stats.WaitNs.Snapshot()
	testenv.True(t, h.Count == 85 && h.SumNs == 4*2_000+4*1_500+80*250, "%d waits of %d ns in all",
		h.Count, h.SumNs)
	if s := p.History(); len(s) != 0 && (s[0].Runs != 85 || s[0].WaitNs != 34_000) {
		t.Errorf("the slice has %d runs that waited %d ns", s[0].Runs, s[0].WaitNs)
	}
}

// TestPollOthers: before a Processor sleeps it takes, from its own domain, only
// the events that have woken a member before it whose thread does not run yet;
// and from another domain the events that found all its members awake.
func TestPollOthers(t *testing.T) {
	needMoves(t)
	g := elastic(t, domainSize+1)
	defer g.Discard()
	first, second, last := g.members[0], g.members[1], g.members[domainSize-1]
	outside := g.members[domainSize]
	l := newLine(t)
	defer l.close()
	l.send(1)
	for _, c := range []struct {
		name   string
		p      *Processor
		asleep *Processor
		want   bool
	}{
		{"an event of one before it", second, first, true},
		{"one before it is awake", second, nil, false},
		{"one behind it sleeps", first, second, false},
		{"of another domain", outside, nil, true},
		{"of another domain, of which one sleeps", outside, last, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.asleep != nil {
				c.asleep.ep.Asleep()
				defer c.asleep.ep.Awake()
			}
			testenv.OK(t, l.pd.share(l.fd, first.domain)) // each epoll reports what can be read
			defer func() {
				l.pd.mu.Lock()
				l.pd.unregisterLocked(l.fd)
				l.pd.mu.Unlock()
				l.pd.Clear(Read)
			}()
			if c.p.pollOthers() != c.want || l.pd.Edge(Read) != c.want || c.p.polled == c.want {
				t.Errorf("found: %t, marked: %t, want %t", !c.p.polled, l.pd.Edge(Read), c.want)
			}
		})
	}
}

// TestCallOthers: a Processor whose poll leaves events calls one of another
// domain, unless a member of its own sleeps.
func TestCallOthers(t *testing.T) {
	needMoves(t)
	g := elastic(t, domainSize+1)
	defer g.Discard()
	p, last, outside := g.members[0], g.members[domainSize-1], g.members[domainSize]
	called := func() bool {
		outside.ep.Asleep()
		n := p.ep.Poll()
		p.dispatch(n)
		p.callOthers(n)
		return !outside.ep.Sleeping()
	}
	p.ep.SetBatch(1)
	for range 3 { // each has an event
		l := newLine(t)
		defer l.close()
		l.send(1)
		testenv.OK(t, l.pd.share(l.fd, p.domain))
	}
	last.ep.Asleep()
	if called() {
		t.Error("it is called though a member sleeps")
	}
	last.ep.Awake()
	if !called() {
		t.Error("it is not called")
	}
	for range 2 {
		if called() {
			t.Error("it is called for nothing")
		}
	}
}

// TestDomainsHelp: what waits for an fd of a domain whose members all compute
// runs in another one, and waits there for the same registrations.
func TestDomainsHelp(t *testing.T) {
	g := sharing(t, domainSize+1)
	l := newLine(t)
	of := l.fd % 2
	p, outside := g.domains[of][0], g.domains[1-of][0]
	ran := make(chan *Processor, 1)
	h := p.Open(func() {
		for {
			if _, v := l.read(); v != Try {
				l.close()
				return
			}
			ran <- Current()
		}
	})
	for range 2 {
		testenv.Until(t, "it waits", l.waits)
		var releases []func()
		for _, q := range p.domain {
			releases = append(releases, hog(q))
		}
		l.send(1)
		testenv.Until(t, "it runs", func() bool { // a Processor may have polled just before
			outside.Wake()
			select {
			case at := <-ran:
				if at.domain[0] != outside {
					t.Errorf("it runs on Processor %d, which is busy", at.Index())
				}
				return true
			default:
				return false
			}
		})
		for _, release := range releases {
			release()
		}
		if regs := l.pd.shared.Load(); regs == nil || regs.domain[0] != p {
			t.Error("the fd has moved")
		}
	}
	l.pd.Evict()
	h.Join()
	quiet(t, g)
}

// TestKeepApart: a Processor leaves the CPU of a member of its domain that is
// awake, once in apartNs.
func TestKeepApart(t *testing.T) {
	if cores() < 2 {
		t.Skip("one CPU")
	}
	g := elastic(t, 2)
	defer g.Discard()
	p, q := g.members[0], g.members[1]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leaves := func(now int64) bool {
		before := sysx.CPU()
		q.apart.cpu.Store(int32(before))
		p.keepApart(now)
		return int(p.apart.cpu.Load()) != before
	}
	often := func(first, step int64) bool { // as the kernel may move the thread, too
		n := 0
		for i := range int64(100) {
			if leaves(first + i*step) {
				n++
			}
		}
		return n > 50
	}
	testenv.True(t, often(1, apartNs), "it stays where another is awake")
	testenv.True(t, !often(2+99*apartNs, 1), "it leaves again at once")
	q.time.asleep(1)
	testenv.True(t, !often(p.apart.next, apartNs), "it leaves a CPU where nobody is awake")
}

// TestHomeEvents: a Processor that shares takes few events at a time, but many
// once some are of fds that are not shared yet.
func TestHomeEvents(t *testing.T) {
	needMoves(t)
	g := elastic(t, 2)
	defer g.Discard()
	p := g.members[0]
	lines := make([]*line, 8)
	for i := range lines {
		lines[i] = newLine(t)
		defer lines[i].close()
		reg, err := p.ep.Register(lines[i].fd, &lines[i].pd)
		testenv.OK(t, err)
		lines[i].pd.reg = reg
		lines[i].pd.home.Store(p)
	}
	g.Share()
	for _, want := range []int{1, 7} { // each has an event, as it is writable
		p.noteRuns(2560*batchNs, 0, 256)
		n := p.ep.Poll()
		testenv.Equal(t, n, want, "events at once")
		p.dispatch(n)
	}
	p.noteRuns(2560*batchNs, 0, 256)
	lines[0].send(1)
	lines[1].send(1)
	testenv.Equal(t, p.ep.Poll(), 2, "events at once after some of fds that are not shared")
	p.noteRuns(2560*batchNs, 0, 256) // none has been dispatched
	lines[0].send(1)
	lines[1].send(1)
	testenv.Equal(t, p.ep.Poll(), 1, "events at once after none of these")
	g.EndSharing()
}
