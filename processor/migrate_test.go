package processor

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/context"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/sysx"
)

// roaming makes n running Processors among which connections move, when a test
// asks for it: there is no monitor. They end with the test.
func roaming(t testing.TB, n int) *Group {
	t.Helper()
	g := startRoaming(t, n)
	t.Cleanup(func() { end(g) })
	return g
}

func startRoaming(t testing.TB, n int) *Group {
	t.Helper()
	g := NewGroup(nil)
	for i := range n {
		_, err := New(Config{Group: g, Index: i, CPU: -1, Idle: 64, BufferSize: 4096, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range g.members {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// needMoves skips a test of coroutines that move; Watches move in any case.
func needMoves(t testing.TB) {
	t.Helper()
	if !context.Direct() {
		t.Skip("with the portable backend coroutines do not move; NETCO_CONTEXT=asm has those that do")
	}
}

// hog keeps p busy until the function it returns is called.
func hog(p *Processor) (release func()) {
	var over atomic.Bool
	busy := make(chan struct{})
	h := p.Pinned(func() {
		close(busy)
		for !over.Load() {
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
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &line{fd: fds[0], peer: fds[1]}
}

// close is for its last user.
func (l *line) close() {
	l.pd.Evict()
	l.pd.Unbind()
	unix.Close(l.fd)
	unix.Close(l.peer)
}

// read reads a byte, or tells why not. A short deadline's end is not told.
func (l *line) read() (byte, Verdict) {
	var b [1]byte
	for {
		l.pd.Clear(Read)
		if n, err := unix.Read(l.fd, b[:]); err != unix.EAGAIN {
			if n == 0 {
				return 0, Closing
			}
			return b[0], Ready
		}
		if v, err := l.pd.Wait(l.fd, Read, coroutine.ReasonRead, 0); v != Ready || err != nil {
			return 0, v
		}
	}
}

func (l *line) send(b byte) { unix.Write(l.peer, []byte{b}) }

// waits reports whether a coroutine, or a Watch, waits to read.
func (l *line) waits() bool {
	w := l.pd.read.w.Load()
	return w != nil && w != readyW && w != inTransit
}

func quiet(t testing.TB, g *Group) {
	t.Helper()
	eventually(t, "nothing lives", func() bool { return !g.Active() })
	for i, p := range g.members {
		if p.Registered() != 0 || p.Watches() != 0 || p.ex.Stats.Live.Load() != 0 || p.sub.waiting.Load() != 0 {
			t.Errorf("Processor %d: %d fds, %d Watches, %d coroutines, %d on their way", i, p.Registered(), p.Watches(),
				p.ex.Stats.Live.Load(), p.sub.waiting.Load())
		}
	}
}

// TestConnectionMoves: a connection goes to another Processor with the
// coroutine that reads from it, and whatever ends a read ends it there.
func TestConnectionMoves(t *testing.T) {
	needMoves(t)
	for _, c := range []struct {
		name string
		do   func(l *line, h coroutine.Handle)
		want Verdict
	}{
		{"data", func(l *line, _ coroutine.Handle) { l.send(7) }, Ready},
		{"the end", func(l *line, _ coroutine.Handle) { unix.Shutdown(l.peer, unix.SHUT_WR) }, Closing},
		{"a deadline set", func(l *line, _ coroutine.Handle) { l.pd.SetDeadline(Read, 1) }, Timeout},
		{"a deadline passes", func(l *line, _ coroutine.Handle) { l.pd.SetDeadline(Read, clock.Now()+2e6) }, Timeout},
		{"Evict", func(l *line, _ coroutine.Handle) { l.pd.Evict() }, Closing},
		{"Stop", func(_ *line, h coroutine.Handle) { h.Stop() }, Shutdown},
	} {
		for _, when := range []string{"before", "while", "after"} {
			t.Run(c.name+" "+when, func(t *testing.T) {
				within(t, time.Minute)
				g := roaming(t, 2)
				from, to := g.members[0], g.members[1]
				l := newLine(t)
				var got Verdict
				var at *Processor
				h := from.Open(func() {
					_, got = l.read()
					at = Here()
				})
				eventually(t, "it waits", l.waits)
				release := func() {}
				switch when {
				case "before":
					release = hog(from)
				case "while":
					release = hog(to)
				}
				from.requestMove(to, 1)
				switch when {
				case "after":
					eventually(t, "it has moved", func() bool { return l.pd.Home() == to && l.waits() })
				case "while":
					eventually(t, "it is on its way", func() bool { return to.sub.waiting.Load() == 1 })
				}
				c.do(l, h)
				release()
				h.Join()
				if got != c.want {
					t.Errorf("verdict %d, want %d", got, c.want)
				}
				if when != "before" {
					if at != to || to.Stats.Moved.Load() != 1 || from.Stats.Moved.Load() != 0 {
						t.Errorf("it has not moved; counted %d and %d", to.Stats.Moved.Load(), from.Stats.Moved.Load())
					}
				}
				if n := from.Registered() + to.Registered(); n != 1 {
					t.Errorf("it is registered %d times", n)
				}
				l.close()
				quiet(t, g)
			})
		}
	}
}

// TestWriterStays: the direction that is written to is waited for where its
// coroutine is, although the fd moves with the reader.
func TestWriterStays(t *testing.T) {
	needMoves(t)
	within(t, time.Minute)
	g := roaming(t, 3)
	for _, writerAt := range []int{0, 1, 2} {
		l := newLine(t)
		var wrote atomic.Int64
		var over atomic.Bool
		reader := g.members[0].Open(func() {
			for {
				if _, v := l.read(); v != Ready {
					return
				}
			}
		})
		eventually(t, "it reads", l.waits)
		writer := g.members[writerAt].Open(func() {
			me := Here()
			chunk := make([]byte, 4096)
			for !over.Load() {
				l.pd.Clear(Write)
				n, err := unix.Write(l.fd, chunk)
				if err == nil {
					wrote.Add(int64(n))
				} else if v, _ := l.pd.Wait(l.fd, Write, coroutine.ReasonWrite, 0); v != Ready {
					return
				}
				if Here() != me {
					t.Error("the writer has moved")
				}
			}
		})
		drained := int64(0)
		into := make([]byte, 64<<10)
		for round := range 20 {
			g.members[round%3].requestMove(g.members[(round+1)%3], 1)
			home := g.members[(round+1)%3]
			eventually(t, "it has moved", func() bool { return l.pd.Home() == home && l.waits() })
			eventually(t, "the writer waits", func() bool { w := l.pd.write.w.Load(); return w != nil && w != readyW })
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
		if drained == 0 || drained > wrote.Load() {
			t.Errorf("%d bytes have arrived of %d", drained, wrote.Load())
		}
		l.close()
		quiet(t, g)
	}
}

// TestOtherFdsFollow: a coroutine that has moved for one fd takes the others
// along as it waits for them; and where it has moved meanwhile, to give one
// away means to send it after its reader.
func TestOtherFdsFollow(t *testing.T) {
	needMoves(t)
	within(t, time.Minute)
	g := roaming(t, 2)
	a, b := g.members[0], g.members[1]
	one, two := newLine(t), newLine(t)
	h := a.Open(func() {
		for {
			if _, v := one.read(); v != Ready {
				return
			}
			if _, v := two.read(); v != Ready {
				return
			}
		}
	})
	eventually(t, "it reads the one", one.waits)
	one.send(1)
	eventually(t, "it reads the other", two.waits)
	a.requestMove(b, 1)
	eventually(t, "it has moved", func() bool { return two.pd.Home() == b && two.waits() })
	if one.pd.Home() != a {
		t.Error("an fd has moved for which nothing waits")
	}
	two.send(2)
	eventually(t, "the one has followed", func() bool { return one.pd.Home() == b && one.waits() })
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
	eventually(t, "it reads", l.waits)
	if l.pd.Home() != a {
		t.Error("it was not at home")
	}
	a.requestMove(b, 1)
	eventually(t, "it has followed", func() bool { return l.pd.Home() == b && l.waits() })
	if b.Stats.Moved.Load() != 1 {
		t.Errorf("counted %d moves of coroutines, want 1", b.Stats.Moved.Load())
	}
	l.send(1)
	h.Join()
	l.close()
	quiet(t, g)
}

// armer arms a Watch anew each time it is woken.
type armer struct {
	*line
	x     Watch
	calls atomic.Int64
	ended chan Verdict
	read  atomic.Int64 // bytes
}

func newArmer(t testing.TB) *armer {
	a := &armer{line: newLine(t), ended: make(chan Verdict, 1)}
	a.x.Init(&a.pd, a)
	return a
}

func (a *armer) Readable() {
	a.calls.Add(1)
	if err := a.x.Bind(a.fd); err != nil {
		panic(err)
	}
	for {
		var b [64]byte
		a.pd.Clear(Read)
		n, err := unix.Read(a.fd, b[:])
		a.read.Add(int64(max(n, 0)))
		if err == nil && n > 0 {
			continue
		}
		v := a.pd.Check(Read)
		if v == Ready && Here().group.Phase() >= Draining {
			v = Shutdown
		}
		if v != Ready || n == 0 {
			a.ended <- v
			return
		}
		armed, err := a.x.Arm(a.fd)
		if err != nil {
			panic(err)
		}
		if armed {
			return
		}
	}
}

// armed starts an armer on p and waits until it is armed.
func armed(t testing.TB, p *Processor, deadline int64) *armer {
	a := newArmer(t)
	a.pd.SetDeadline(Read, deadline)
	a.x.Begin(nil, p)
	eventually(t, "it is armed", func() bool { return a.waits() && p.Watches() > 0 })
	return a
}

// TestWatchMoves: an idle connection moves without a coroutine, and whatever
// wakes it does so before, during and after the move.
func TestWatchMoves(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline int64 // from now
		do       func(a *armer, g *Group)
		want     Verdict
		goesOn   bool // it is woken, and armed again
	}{
		{"data", 0, func(a *armer, _ *Group) { a.send(7) }, Ready, true},
		{"data under a deadline", 1e12, func(a *armer, _ *Group) { a.send(7) }, Ready, true},
		{"Kick", 0, func(a *armer, _ *Group) { a.pd.Unblock(Read) }, Ready, true},
		{"Kick under a deadline", 1e12, func(a *armer, _ *Group) { a.pd.Unblock(Read) }, Ready, true},
		{"its deadline", 30e6, func(*armer, *Group) {}, Timeout, false},
		{"another deadline", 1e12, func(a *armer, _ *Group) { a.pd.SetDeadline(Read, clock.Now()+2e6) }, Timeout, false},
		{"a deadline", 0, func(a *armer, _ *Group) { a.pd.SetDeadline(Read, clock.Now()+2e6) }, Timeout, false},
		{"the end", 0, func(a *armer, _ *Group) { unix.Shutdown(a.peer, unix.SHUT_WR) }, Ready, false},
		{"Evict", 0, func(a *armer, _ *Group) { a.pd.Evict() }, Closing, false},
		{"draining", 0, func(_ *armer, g *Group) { g.Advance(Draining) }, Shutdown, false},
	} {
		for _, when := range []string{"before", "while", "after"} {
			t.Run(c.name+" "+when, func(t *testing.T) {
				within(t, time.Minute)
				g := roaming(t, 2)
				from, to := g.members[0], g.members[1]
				d := c.deadline
				if d != 0 {
					d += clock.Now()
				}
				a := armed(t, from, d)
				calls := a.calls.Load()
				release := func() {}
				switch when {
				case "before":
					release = hog(from)
				case "while":
					release = hog(to)
				}
				from.requestMove(to, 1)
				switch when {
				case "after":
					eventually(t, "it has moved", func() bool { return a.pd.Home() == to && (a.waits() || c.deadline == 30e6) })
				case "while":
					eventually(t, "it is on its way", func() bool { return to.sub.waiting.Load() == 1 })
					if from.Watches() != 0 || !a.pd.Watched() {
						t.Error("it is not on its way")
					}
				}
				if when == "after" {
					eventually(t, "the move is counted", func() bool { return to.Stats.MovedWatches.Load() == 1 })
				}
				c.do(a, g)
				release()
				if c.goesOn {
					eventually(t, "it was woken", func() bool { return a.calls.Load() > calls })
					eventually(t, "it is armed", a.waits)
					a.pd.Evict()
					<-a.ended
				} else if got := <-a.ended; got != c.want {
					t.Errorf("it was ended by %d, want %d", got, c.want)
				}
				a.close()
				quiet(t, g)
			})
		}
	}
}

// TestEverythingFollows: what nothing waits for when all is given away goes
// when it has waited next, or when its Watch is armed.
func TestEverythingFollows(t *testing.T) {
	within(t, time.Minute)
	g := roaming(t, 2)
	from, to := g.members[0], g.members[1]
	l, a := newLine(t), armed(t, from, 0)
	on(t, from, func() { // which makes it the home of the line
		l.pd.SetDeadline(Read, 1)
		l.read()
		l.pd.SetDeadline(Read, 0)
	})
	from.requestMove(to, moveAll)
	eventually(t, "the line is to follow", func() bool { return l.pd.to.Load() == to })
	eventually(t, "the Watch has moved", func() bool { return a.pd.Home() == to && a.waits() })
	if l.pd.Home() != from {
		t.Error("an fd has moved for which nothing waits")
	}
	a.pd.to.Store(from)
	a.send(1)
	eventually(t, "the Watch has followed", func() bool { return a.pd.Home() == from && a.waits() })
	if context.Direct() {
		h := from.Open(func() { l.read() })
		eventually(t, "it waits", l.waits)
		l.send(1)
		h.Join()
		if l.pd.Home() != to || to.Stats.Moved.Load() != 1 {
			t.Errorf("the line has not followed; %d moves", to.Stats.Moved.Load())
		}
	}
	a.pd.Evict()
	<-a.ended
	a.close()
	l.close()
	quiet(t, g)
}

// TestIdleWatchesStayIdle: a move starts no coroutine where nothing has come.
func TestIdleWatchesStayIdle(t *testing.T) {
	within(t, time.Minute)
	g := roaming(t, 2)
	from, to := g.members[0], g.members[1]
	const n = 300
	var list []*armer
	for i := range n {
		list = append(list, armed(t, from, int64(i%2)*(clock.Now()+1e12)))
	}
	for round := range 6 {
		from.requestMove(to, n)
		eventually(t, "all have moved", func() bool { return to.Watches() == n && from.Watches() == 0 && from.Registered() == 0 })
		from, to = to, from
		if round%2 == 1 {
			from.requestMove(to, n/3)
			eventually(t, "a third has moved", func() bool { return to.Watches() == n/3 && from.Watches() == n-n/3 })
			to.requestMove(from, n)
			eventually(t, "all are back", func() bool { return from.Watches() == n })
		}
	}
	on(t, from, func() {
		if timers := from.timers.Len(); timers != n/2 {
			t.Errorf("%d timers, want %d", timers, n/2)
		}
	})
	for _, a := range list {
		if calls := a.calls.Load(); calls != 1 {
			t.Errorf("it was called %d times, want once", calls)
		}
		a.pd.Evict()
		<-a.ended
		a.close()
	}
	quiet(t, g)
}

// TestMoveRefused: where the other Processor's epoll takes no more fds, the
// connection stays, and nothing is lost.
func TestMoveRefused(t *testing.T) {
	within(t, time.Minute)
	g := roaming(t, 2)
	from, to := g.members[0], g.members[1]
	a := armed(t, from, clock.Now()+1e12)
	l := newLine(t)
	read := make(chan byte)
	h := from.Open(func() {
		for {
			b, v := l.read()
			if v != Ready {
				return
			}
			read <- b
		}
	})
	eventually(t, "it waits", l.waits)
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
		from.requestMove(to, 2)
		eventually(t, "it was refused", func() bool { return refusals.Load() > before })
		calls := a.calls.Load()
		a.send(1)
		eventually(t, "the Watch was woken", func() bool { return a.calls.Load() > calls })
		l.send(byte(i))
		if b := <-read; b != byte(i) {
			t.Errorf("read %d, want %d", b, i)
		}
		eventually(t, "both wait", func() bool { return a.waits() && l.waits() })
	}
	if a.pd.Home() != from || l.pd.Home() != from || from.Registered() != 2 || to.Registered() != 0 {
		t.Errorf("%d and %d fds", from.Registered(), to.Registered())
	}
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
	if !p.Reserve() || p.closeSubmissions() || !g.Active() {
		t.Error("it would end although something is coming")
	}
	p.unreserve()
	if !p.closeSubmissions() || p.Reserve() || g.Active() {
		t.Error("it does not end, or could be reserved after its end")
	}
}

// mover moves connections at random until it is stopped.
func mover(g *Group) (stop func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			from, to := g.members[rand.IntN(len(g.members))], g.members[rand.IntN(len(g.members))]
			if from != to {
				from.requestMove(to, 1+rand.IntN(8))
			}
			unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
		}
	})
	return func() {
		over.Store(true)
		wg.Wait()
	}
}

// TestMoveHammer moves connections all the time while they are used: those with
// coroutines, those that are Watches, of which half have deadlines that pass
// now and then, and those that end. Each byte is told once and in order.
func TestMoveHammer(t *testing.T) {
	within(t, 2*time.Minute)
	for _, members := range []int{2, 4} {
		g := roaming(t, members)
		stop := mover(g)
		end := time.Now().Add(time.Duration(scaled(4_000)) * time.Millisecond)
		var wg sync.WaitGroup
		var sent, lives atomic.Int64
		for i := range 24 {
			p := g.members[i%members]
			wg.Go(func() {
				for time.Now().Before(end) {
					lives.Add(1)
					if i%2 == 0 {
						sent.Add(useLine(t, p, i))
					} else {
						sent.Add(useWatch(t, p, i))
					}
				}
			})
		}
		wg.Wait()
		stop()
		for _, p := range g.members {
			p.moveRequest.Store(nil)
		}
		quiet(t, g)
		moved := uint64(0)
		for _, p := range g.members {
			moved += p.Stats.Moved.Load()
		}
		if moved == 0 && context.Direct() {
			t.Error("none has moved")
		}
		t.Logf("%d Processors: %d connections, %d bytes, %d moves of coroutines", members, lives.Load(), sent.Load(), moved)
	}
}

// pauseNow is what lies between two bytes.
func pauseNow() {
	if rand.IntN(4) == 0 {
		unix.Nanosleep(&unix.Timespec{Nsec: rand.Int64N(200_000)}, nil)
	}
}

// useLine sends bytes to a coroutine that reads them.
func useLine(t *testing.T, p *Processor, i int) int64 {
	l := newLine(t)
	n := 1 + rand.IntN(200)
	h := p.Open(func() {
		for next := 0; next < n; {
			if rand.IntN(8) == 0 {
				l.pd.SetDeadline(Read, clock.Now()+rand.Int64N(100_000))
			}
			b, v := l.read()
			switch v {
			case Ready:
				if b != byte(next) {
					t.Errorf("byte %d is %d", next, b)
				}
				next++
			case Timeout:
				l.pd.SetDeadline(Read, 0)
			default:
				t.Errorf("a read ended with %d", v)
				return
			}
			if rand.IntN(16) == 0 {
				Sleep(time.Duration(rand.IntN(50_000)))
			}
		}
	})
	for b := range n {
		l.send(byte(b))
		pauseNow()
	}
	h.Join()
	l.close()
	return int64(n)
}

// useWatch sends bytes to a Watch, whose coroutines read them.
func useWatch(t *testing.T, p *Processor, i int) int64 {
	a := newArmer(t)
	n := 1 + rand.IntN(200)
	if i%4 == 1 {
		a.pd.SetDeadline(Read, clock.Now()+1e12)
	}
	a.x.Begin(nil, p)
	for b := range n {
		a.send(byte(b))
		if pauseNow(); rand.IntN(8) == 0 {
			a.pd.Unblock(Read)
		}
	}
	switch rand.IntN(3) {
	case 0:
		for a.read.Load() < int64(n) {
			runtime.Gosched()
		}
		a.pd.Evict()
	case 1:
		for a.read.Load() < int64(n) {
			runtime.Gosched()
		}
		a.pd.SetDeadline(Read, clock.Now()+rand.Int64N(100_000))
	default:
		unix.Shutdown(a.peer, unix.SHUT_WR)
	}
	<-a.ended
	if got := a.read.Load(); got != int64(n) {
		t.Errorf("%d bytes of %d have been read", got, n)
	}
	a.close()
	return int64(n)
}

// TestEndWhileMoving: the group ends while connections move, by itself or by
// force, with nothing left behind.
func TestEndWhileMoving(t *testing.T) {
	within(t, 2*time.Minute)
	for round := range max(scaled(200), 4) {
		g := startRoaming(t, 3)
		stop := mover(g)
		var lines []*line
		var armers []*armer
		var over sync.WaitGroup
		for i := range 20 {
			l, a := newLine(t), newArmer(t)
			lines, armers = append(lines, l), append(armers, a)
			over.Add(1)
			g.members[i%3].Open(func() {
				defer over.Done()
				for {
					if _, v := l.read(); v != Ready {
						return
					}
				}
			})
			a.x.Begin(nil, g.members[i%3])
		}
		for i := range rand.IntN(200) {
			lines[i%20].send(1)
			armers[i%20].send(1)
		}
		g.Advance(Draining) // Watches end
		for _, a := range armers {
			<-a.ended
		}
		if round%2 == 0 {
			for _, l := range lines {
				unix.Shutdown(l.peer, unix.SHUT_WR)
			}
			over.Wait()
		} else {
			g.Advance(Stopping)
		}
		end(g)
		over.Wait()
		stop()
		if g.Active() {
			t.Errorf("round %d: something lives", round)
		}
		for _, p := range g.members {
			if p.ex.Stats.Live.Load() != 0 || p.ex.Stats.Workers.Load() != 0 || p.sub.coming != 0 || p.watches.Load() != 0 {
				t.Errorf("round %d: %d live, %d workers", round, p.ex.Stats.Live.Load(), p.ex.Stats.Workers.Load())
			}
		}
		for i := range lines {
			lines[i].close()
			armers[i].close()
		}
	}
}

// TestMovedWatchesUnderLimit: coroutines of Watches that end on another
// Processor than they began on make room on the former.
func TestMovedWatchesUnderLimit(t *testing.T) {
	needMoves(t)
	within(t, time.Minute)
	g := NewGroup(nil)
	g.SetMaxCoroutines(4)
	for i := range 2 {
		if _, err := New(Config{Group: g, Index: i, CPU: -1, Idle: 64, BufferSize: 4096, Logger: zap.NewNop()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range g.members {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { end(g) })
	stop := mover(g)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for range max(scaled(200), 10) {
				w := newLine(t)
				done := make(chan struct{})
				x := new(Watch)
				x.Init(&w.pd, readerFunc(func() {
					defer close(done)
					x.Bind(w.fd)
					for range 5 {
						w.read()
					}
				}))
				x.Begin(nil, g.members[i%2])
				for range 5 {
					w.send(1)
					pauseNow()
				}
				<-done
				w.close()
			}
		})
	}
	wg.Wait()
	stop()
	for _, p := range g.members {
		p.moveRequest.Store(nil)
	}
	quiet(t, g)
	for i, p := range g.members {
		if n := p.woken.alive.Load(); n != 0 {
			t.Errorf("Processor %d counts %d coroutines of Watches", i, n)
		}
	}
}

type readerFunc func()

func (f readerFunc) Readable() { f() }
