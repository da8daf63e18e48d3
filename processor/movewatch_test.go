package processor

import (
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

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
		if v == Try && Current().group.Phase() >= Draining {
			v = Shutdown
		}
		if v != Try || n == 0 {
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
	testenv.Until(t, "it is armed", func() bool { return a.waits() && p.Watches() > 0 })
	return a
}

// soon is a deadline, in ns, that has not passed when a move is asked for,
// also on a crowded machine.
const soon = 400e6

// endsOfWatches are for TestWatchMoves.
var endsOfWatches = []struct {
	name     string
	deadline int64 // from now
	do       func(a *armer, g *Group)
	want     Verdict
	goesOn   bool // it is woken, and armed again
}{
	{"data", 0, func(a *armer, _ *Group) { a.send(7) }, Try, true},
	{"data under a deadline", 1e12, func(a *armer, _ *Group) { a.send(7) }, Try, true},
	{"Unblock", 0, func(a *armer, _ *Group) { a.pd.Unblock(Read) }, Try, true},
	{"Unblock under a deadline", 1e12, func(a *armer, _ *Group) {
		a.pd.Unblock(Read)
	}, Try, true},
	{"its deadline", soon, func(*armer, *Group) {}, Timeout, false},
	{"another deadline", 1e12, func(a *armer, _ *Group) {
		a.pd.SetDeadline(Read, clock.Now()+2e6)
	}, Timeout, false},
	{"a deadline", 0, func(a *armer, _ *Group) {
		a.pd.SetDeadline(Read, clock.Now()+2e6)
	}, Timeout, false},
	{"the end", 0, func(a *armer, _ *Group) { unix.Shutdown(a.peer, unix.SHUT_WR) }, Try, false},
	{"Evict", 0, func(a *armer, _ *Group) { a.pd.Evict() }, Closing, false},
	{"draining", 0, func(_ *armer, g *Group) { g.Advance(Draining) }, Shutdown, false},
}

// TestWatchMoves: an idle connection moves without a coroutine, and whatever
// wakes it does so before, during and after the move.
func TestWatchMoves(t *testing.T) {
	for _, c := range endsOfWatches {
		for _, when := range []string{"before", "while", "after"} {
			t.Run(c.name+" "+when, func(t *testing.T) {
				g := roaming(t, 2)
				from, to := g.members[0], g.members[1]
				d := c.deadline
				if d != 0 {
					d += clock.Now()
				}
				a := armed(t, from, d)
				calls := a.calls.Load()
				release := moveWhile(t, when, from, to, func() bool {
					return a.pd.Home() == to && (a.waits() || c.deadline == soon) &&
						to.Stats.MovedWatches.Load() == 1
				})
				testenv.True(t, when != "while" || from.Watches() == 0 && a.pd.Watched(),
					"it is not in transit")
				c.do(a, g)
				release()
				if c.goesOn {
					testenv.Until(t, "it was woken", func() bool { return a.calls.Load() > calls })
					testenv.Until(t, "it is armed", a.waits)
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

// TestIdleWatchesStayIdle: a move starts no coroutine where nothing has come.
func TestIdleWatchesStayIdle(t *testing.T) {
	g := roaming(t, 2)
	from, to := g.members[0], g.members[1]
	const n = 300
	var list []*armer
	for i := range n {
		list = append(list, armed(t, from, int64(i%2)*(clock.Now()+1e12)))
	}
	for round := range 6 {
		from.Give(to, n)
		testenv.Until(t, "all have moved", func() bool {
			return to.Watches() == n && from.Watches() == 0 && from.Registered() == 0
		})
		from, to = to, from
		if round%2 == 1 {
			from.Give(to, n/3)
			testenv.Until(t, "a third has moved", func() bool {
				return to.Watches() == n/3 && from.Watches() == n-n/3
			})
			to.Give(from, n)
			testenv.Until(t, "all are back", func() bool { return from.Watches() == n })
		}
	}
	on(t, from, func() {
		if timers := from.pending(); timers != n/2 {
			t.Errorf("%d timers, want %d", timers, n/2)
		}
	})
	for _, a := range list {
		testenv.Equal(t, a.calls.Load(), 1, "calls")
		a.pd.Evict()
		<-a.ended
		a.close()
	}
	quiet(t, g)
}

// TestMovedWatchesUnderLimit: coroutines of Watches that end on another
// Processor than they began on make room on the former.
func TestMovedWatchesUnderLimit(t *testing.T) {
	needMoves(t)
	g := NewGroup(nil)
	g.SetMaxCoroutines(4)
	for i := range 2 {
		if _, err := New(Config{Group: g, Index: i, CPU: -1, Idle: 64, BufferSize: 4096,
			Logger: zap.NewNop()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range g.members {
		testenv.OK(t, p.Start())
	}
	t.Cleanup(func() { end(g) })
	stop := mover(g)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for range max(testenv.Rounds(200), 10) {
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
		testenv.Equal(t, p.woken.alive.Load(), 0, "Processor", i, "counts N coroutines of Watches")
	}
}

type readerFunc func()

func (f readerFunc) Readable() { f() }
