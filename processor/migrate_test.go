package processor

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

// roaming makes n running Processors among which connections move, when a test
// asks for it: there is no monitor. They end with the test.
func roaming(t testing.TB, n int) *Group {
	t.Helper()
	g := NewGroup(nil)
	startRoaming(t, g, n)
	return g
}

// startRoaming adds such Processors to g.
func startRoaming(t testing.TB, g *Group, n int) {
	t.Helper()
	addLike(t, g, n, Config{Idle: 64})
	start(t, g)
	t.Cleanup(func() { end(g) })
}

// needMoves skips a test of coroutines that move; Watches move in any case.
func needMoves(t testing.TB) {
	t.Helper()
	if !context.Direct() {
		t.Skip("with the portable backend coroutines do not move; " +
			"NETCO_CONTEXT=asm has those that do")
	}
}

// hog keeps p busy until the function it returns is called, or its group ends.
func hog(p *Processor) (release func()) {
	var over atomic.Bool
	busy := make(chan struct{})
	h := p.Pinned(func() {
		close(busy)
		for !over.Load() && p.group.Phase() < Stopping {
			runtime.Gosched()
		}
	})
	<-busy
	return func() {
		over.Store(true)
		h.Join()
	}
}

// line is a connection of which this side's fd is with a Processor.
type line struct {
	pd       PollDesc
	fd, peer int
}

func newLine(t testing.TB) *line {
	t.Helper()
	fds := testenv.Must(unix.Socketpair(unix.AF_UNIX,
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
	return &line{fd: fds[0], peer: fds[1]}
}

// close is for its last user.
func (l *line) close() {
	l.pd.Evict()
	l.pd.Unbind()
	unix.Close(l.fd)
	unix.Close(l.peer)
}

// read reads a byte, or returns why it could not.
func (l *line) read() (byte, Verdict) {
	var b [1]byte
	for {
		l.pd.Clear(Read)
		if n, err := unix.Read(l.fd, b[:]); err != unix.EAGAIN {
			if n == 0 {
				return 0, Closing
			}
			return b[0], Try
		}
		if v, err := l.pd.Wait(l.fd, Read, coroutine.ReasonRead, 0); v != Try || err != nil {
			return 0, v
		}
	}
}

func (l *line) send(b byte) { unix.Write(l.peer, []byte{b}) }

// waits reports whether a coroutine, or a Watch, waits to read.
func (l *line) waits() bool { return l.pd.read.hasWaiter() }

func quiet(t testing.TB, g *Group) {
	t.Helper()
	testenv.Until(t, "nothing lives", func() bool { return !g.Active() })
	for i, p := range g.members {
		testenv.True(t, p.Registered() == 0 && p.Watches() == 0 && p.Live() == 0 &&
			p.sub.waiting.Load() == 0,
			"Processor %d: %d fds, %d Watches, %d coroutines, %d on their way", i, p.Registered(),
			p.Watches(), p.Live(), p.sub.waiting.Load())
	}
}

// mark has p note that l's fd is to move, as what Give asks for does.
func (l *line) mark(t testing.TB, p, to *Processor, n int) {
	t.Helper()
	p.Give(to, n)
	testenv.Until(t, "it is to move", func() bool { return l.pd.to.Load() == to })
}

// endsOfReads are for TestConnectionMoves.
var endsOfReads = []struct {
	name string
	do   func(l *line, h coroutine.Handle)
	want Verdict
}{
	{"data", func(l *line, _ coroutine.Handle) { l.send(7) }, Try},
	{"the end", func(l *line, _ coroutine.Handle) { unix.Shutdown(l.peer, unix.SHUT_WR) }, Closing},
	{"a deadline set", func(l *line, _ coroutine.Handle) { l.pd.SetDeadline(Read, 1) }, Timeout},
	{"a deadline passes", func(l *line, _ coroutine.Handle) {
		l.pd.SetDeadline(Read, clock.Now()+2e6)
	}, Timeout},
	{"Evict", func(l *line, _ coroutine.Handle) { l.pd.Evict() }, Closing},
	{"Stop", func(_ *line, h coroutine.Handle) { h.Stop() }, Shutdown},
}

// TestConnectionMoves: a connection moves to another Processor with the
// coroutine that reads from it, when something comes, and whatever ends a read
// ends it.
func TestConnectionMoves(t *testing.T) {
	needMoves(t)
	for _, c := range endsOfReads {
		t.Run(c.name, func(t *testing.T) {
			g := roaming(t, 2)
			from, to := g.members[0], g.members[1]
			l := newLine(t)
			var got Verdict
			var at *Processor
			h := from.Open(func() {
				_, got = l.read()
				at = Current()
			})
			testenv.Until(t, "it waits", l.waits)
			l.mark(t, from, to, 1)
			testenv.Equal(t, l.pd.Home(), from, "it has moved though nothing has come")
			c.do(l, h)
			h.Join()
			testenv.Equal(t, got, c.want, "verdict")
			if c.want == Try || c.want == Timeout {
				moves := [2]uint64{from.Stats.Moved.Load(), to.Stats.Moved.Load()}
				testenv.True(t, at == to && l.pd.Home() == to && moves == [2]uint64{0, 1},
					"it has not moved; counted %v", moves)
			}
			testenv.Equal(t, from.Registered()+to.Registered(), 1, "it is registered N times")
			l.close()
			quiet(t, g)
		})
	}
}

// TestWriterStays: the direction that is written to is waited for where its
// coroutine is, although the fd moves with the reader.
func TestWriterStays(t *testing.T) {
	needMoves(t)
	g := roaming(t, 3)
	for _, writerAt := range []int{0, 1, 2} {
		l := newLine(t)
		var wrote atomic.Int64
		var over atomic.Bool
		reader := g.members[0].Open(func() {
			for {
				if _, v := l.read(); v != Try {
					return
				}
			}
		})
		testenv.Until(t, "it reads", l.waits)
		writer := g.members[writerAt].Open(func() {
			me := Current()
			chunk := make([]byte, 4096)
			for !over.Load() {
				l.pd.Clear(Write)
				n, err := unix.Write(l.fd, chunk)
				if err == nil {
					wrote.Add(int64(n))
				} else if v, _ := l.pd.Wait(l.fd, Write, coroutine.ReasonWrite, 0); v != Try {
					return
				}
				testenv.Equal(t, Current(), me, "the writer has moved")
			}
		})
		drained := int64(0)
		into := make([]byte, 64<<10)
		for round := range 20 {
			home := g.members[(round+1)%3]
			l.mark(t, g.members[round%3], home, 1)
			l.send(0)
			testenv.Until(t, "it has moved", func() bool {
				return l.pd.Home() == home && l.waits()
			})
			testenv.Until(t, "the writer waits", l.pd.write.hasWaiter)
			l.pd.to.Store(g.members[round%3]) // an order for the reader
			for before := wrote.Load(); wrote.Load() == before; {
				n, err := unix.Read(l.peer, into)
				if err == nil {
					drained += int64(n)
				} else {
					runtime.Gosched()
				}
			}
		}
		over.Store(true)
		l.pd.Evict()
		reader.Join()
		writer.Join()
		testenv.True(t, drained != 0 && drained <= wrote.Load(), "%d bytes have arrived of %d",
			drained, wrote.Load())
		l.close()
		quiet(t, g)
	}
}

// TestOtherFdsFollow: a coroutine that has moved for one fd takes the others
// along as it waits for them; and where it has moved meanwhile, to give one
// away means to send it after its reader.
func TestOtherFdsFollow(t *testing.T) {
	needMoves(t)
	g := roaming(t, 2)
	a, b := g.members[0], g.members[1]
	one, two := newLine(t), newLine(t)
	h := a.Open(func() {
		for {
			if _, v := one.read(); v != Try {
				return
			}
			if _, v := two.read(); v != Try {
				return
			}
		}
	})
	testenv.Until(t, "it reads the one", one.waits)
	one.send(1)
	testenv.Until(t, "it reads the other", two.waits)
	two.mark(t, a, b, 2)
	one.pd.to.Store(nil) // as if it was the other alone
	two.send(2)
	testenv.Until(t, "the one has followed", func() bool {
		return one.pd.Home() == b && one.waits()
	})
	one.pd.Evict()
	h.Join()
	one.close()
	two.close()

	// One that is read elsewhere than at its home.
	l := newLine(t)
	on(t, a, func() { // which makes a its home
		l.pd.SetDeadline(Read, 1)
		l.read()
		l.pd.SetDeadline(Read, 0)
	})
	h = b.Pinned(func() { l.read() })
	testenv.Until(t, "it reads", l.waits)
	testenv.Equal(t, l.pd.Home(), a, "it was not at home")
	l.mark(t, a, b, 1)
	l.send(1)
	h.Join()
	testenv.Equal(t, l.pd.Home(), b, "it has not followed its reader to")
	testenv.Equal(t, b.Stats.Moved.Load(), 1, "counted N moves of coroutines")
	l.close()
	quiet(t, g)
}

// TestEverythingFollows: what nothing waits for when all is given away goes
// when it has waited next; an idle connection of a Watch when it was woken.
func TestEverythingFollows(t *testing.T) {
	needMoves(t)
	g := roaming(t, 2)
	from, to := g.members[0], g.members[1]
	l, a := newLine(t), armed(t, from, clock.Now()+1e12)
	on(t, from, func() { // which makes it the home of the line
		l.pd.SetDeadline(Read, 1)
		l.read()
		l.pd.SetDeadline(Read, 0)
	})
	l.mark(t, from, to, moveAll)
	testenv.True(t, l.pd.Home() == from && a.pd.Home() == from && a.calls.Load() == 1,
		"something has moved that was idle")
	for _, want := range []*Processor{to, from, to} {
		a.pd.to.Store(want)
		a.send(1)
		testenv.Until(t, "the Watch has followed", func() bool {
			return a.pd.Home() == want && a.waits() && want.Watches() == 1
		})
		on(t, want, func() { testenv.Equal(t, want.pending(), 1, "timers, with its deadline's") })
	}
	h := from.Open(func() { l.read() })
	testenv.Until(t, "it waits", l.waits)
	l.send(1)
	h.Join()
	testenv.Equal(t, l.pd.Home(), to, "the line has not followed to")
	a.pd.Evict()
	<-a.ended
	a.close()
	l.close()
	quiet(t, g)
}

// TestMoveRefused: where the other Processor's epoll takes no more fds, the
// connection stays, and nothing is lost.
func TestMoveRefused(t *testing.T) {
	needMoves(t)
	g := roaming(t, 2)
	from, to := g.members[0], g.members[1]
	a := armed(t, from, clock.Now()+1e12)
	l := newLine(t)
	read := make(chan byte)
	h := from.Open(func() {
		for {
			b, v := l.read()
			if v != Try {
				return
			}
			read <- b
		}
	})
	testenv.Until(t, "it waits", l.waits)
	var refusals atomic.Int64
	remove := sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == sysx.EpollCtl {
			refusals.Add(1)
			return asked, unix.ENOSPC
		}
		return asked, 0
	})
	defer remove()
	for i := range 3 {
		before := refusals.Load()
		from.Give(to, 2)
		testenv.Until(t, "both are to move", func() bool {
			return l.pd.to.Load() == to && a.pd.to.Load() == to
		})
		calls := a.calls.Load()
		a.send(1)
		testenv.Until(t, "the Watch was woken", func() bool { return a.calls.Load() > calls })
		l.send(byte(i))
		testenv.Equal(t, <-read, byte(i), "read")
		testenv.Until(t, "both wait", func() bool { return a.waits() && l.waits() })
		testenv.Equal(t, refusals.Load(), before+2, "refusals")
	}
	testenv.True(t, a.pd.Home() == from && l.pd.Home() == from && from.Registered() == 2 &&
		to.Registered() == 0, "%d and %d fds", from.Registered(), to.Registered())
	a.pd.Evict()
	<-a.ended
	l.pd.Evict()
	h.Join()
	a.close()
	l.close()
	quiet(t, g)
}

// TestReserved: a Processor for which something is on its way does not end.
func TestReserved(t *testing.T) {
	g := newGroup(t, 1)
	defer g.Discard()
	p := g.members[0]
	testenv.True(t, p.Reserve(p) && !p.closeSubmissions() && g.Active(),
		"it would end although something is coming")
	p.sub.coming--
	g.giveToken()
	testenv.True(t, p.closeSubmissions() && !p.Reserve(p) && !g.Active(),
		"it does not end, or could be reserved after its end")
}

// TestAliveInTransit: a coroutine that has left one Processor and has not
// arrived at the other is alive.
func TestAliveInTransit(t *testing.T) {
	needMoves(t)
	g := roaming(t, 2)
	l := newLine(t)
	h := g.members[0].Open(func() { l.read() })
	testenv.Until(t, "it waits", l.waits)
	l.mark(t, g.members[0], g.members[1], 1)
	release := hog(g.members[1])
	l.send(0)
	testenv.Until(t, "it is in transit", func() bool {
		return g.members[1].sub.waiting.Load() == 1
	})
	if n := g.Alive(); n != 2 { // with the one that keeps the other Processor busy
		t.Errorf("%d are alive, want 2", n)
	}
	release()
	h.Join()
	testenv.Until(t, "none is alive", func() bool { return g.Alive() == 0 })
	l.close()
	quiet(t, g)
}
