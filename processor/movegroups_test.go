package processor

import (
	"cmp"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// bindTo registers l's fd with p: a coroutine there waits for a byte.
func bindTo(t *testing.T, l *line, p *Processor) {
	t.Helper()
	h := p.Pinned(func() { l.read() })
	testenv.Until(t, "it waits", l.waits)
	l.send(0)
	h.Join()
	if l.pd.Home() != p {
		t.Fatal("the fd is not where it was waited for")
	}
}

// marked has p give all away, and returns when it has marked l's fd to go, too.
func marked(t *testing.T, l *line, p, to *Processor) {
	t.Helper()
	p.GiveAll(to)
	testenv.Until(t, "the fd is marked", func() bool { return l.pd.to.Load() == to })
}

// TestReaderStaysInGroup: a coroutine that reads a connection of another group
// stays where it is when that group packs its work. Its own counts it, limits
// it, and ends without it no more than the other ends it.
func TestReaderStaysInGroup(t *testing.T) {
	theirs, own := roaming(t, 2), NewGroup(nil)
	own.SetMaxCoroutines(1)
	startRoaming(t, own, 2)
	l := newLine(t)
	bindTo(t, l, theirs.members[0])
	at := make(chan *Group, 2)
	var over atomic.Bool
	h := testenv.Must(own.Go(nil, own.members[0], &coroutine.Spawn{Fn: func() {
		for range 2 {
			l.read()
			at <- Current().group
		}
		for !over.Load() {
			Sleep(time.Millisecond)
		}
	}}))
	testenv.Until(t, "it waits", l.waits)
	marked(t, l, theirs.members[0], theirs.members[1])
	for range 2 {
		l.send(1)
		testenv.Equal(t, <-at, own, "it runs in the other group")
	}
	testenv.True(t, own.Alive() == 1 && theirs.Alive() == 0, "%d are its own, %d the other's",
		own.Alive(), theirs.Alive())
	_, err := own.Go(nil, nil, &coroutine.Spawn{Fn: func() {}})
	testenv.Equal(t, err, ErrTooManyCoroutines, "beside it")
	theirs.Advance(Stopping)
	end(theirs)
	own.Advance(Draining)
	testenv.True(t, own.Active() && own.Alive() == 1, "its group would end without it")
	over.Store(true)
	testenv.NoError(t, h.Join())
	l.close()
	quiet(t, own)
}

// TestWatchStaysInGroup is TestReaderStaysInGroup for a Watch.
func TestWatchStaysInGroup(t *testing.T) {
	theirs, own := roaming(t, 2), roaming(t, 1)
	a := newArmer(t)
	bindTo(t, a.line, theirs.members[0])
	marked(t, a.line, theirs.members[0], theirs.members[1])
	a.x.Begin(nil, own.members[0])
	for range 2 {
		testenv.Until(t, "it is armed", func() bool { return a.waits() && a.pd.to.Load() == nil })
		testenv.Equal(t, a.pd.Home().group, own, "it waits in the other group")
		calls := a.calls.Load()
		a.send(7)
		testenv.Until(t, "it was woken", func() bool { return a.calls.Load() > calls })
	}
	a.pd.Evict()
	<-a.ended
	a.close()
	quiet(t, theirs)
	quiet(t, own)
}

// TestNoMoveToAnotherGroup: what would move a coroutine to another group is a
// bug, and is called one.
func TestNoMoveToAnotherGroup(t *testing.T) {
	theirs, own := newGroup(t, 1), newGroup(t, 1)
	defer theirs.Discard()
	defer own.Discard()
	defer func() {
		testenv.True(t, recover() != nil, "it would take what another group has started")
	}()
	theirs.members[0].Reserve(own.members[0])
}

// mover moves connections at random until it is stopped.
func mover(g *Group) (stop func()) {
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !over.Load() {
			from, to := g.members[rand.IntN(len(g.members))], g.members[rand.IntN(len(g.members))]
			if from != to {
				from.Give(to, 1+rand.IntN(8))
			}
			unix.Nanosleep(&unix.Timespec{Nsec: 50_000}, nil)
		}
	})
	return func() {
		over.Store(true)
		wg.Wait()
	}
}

// pauseNow is what lies between two bytes.
func pauseNow() {
	if rand.IntN(4) == 0 {
		unix.Nanosleep(&unix.Timespec{Nsec: rand.Int64N(200_000)}, nil)
	}
}

// packer has each group pack and spread its connections at random until it is
// stopped.
func packer(groups []*Group) (stop func()) {
	var stops []func()
	var over atomic.Bool
	var wg sync.WaitGroup
	for _, g := range groups {
		stops = append(stops, mover(g))
		wg.Go(func() {
			for !over.Load() {
				n := rand.IntN(len(g.members))
				g.members[n].Give(g.members[(n+1)%len(g.members)], moveAll)
				pauseNow()
			}
		})
	}
	return func() {
		over.Store(true)
		wg.Wait()
		for _, stop := range stops {
			stop()
		}
	}
}

// stint reads bytes of a connection from next on, in a coroutine of g, which
// stays one.
func stint(t *testing.T, l *line, g *Group, next, n int) {
	any := func() *Processor { return g.members[rand.IntN(len(g.members))] }
	any().Open(func() {
		coroutine.Current().MoveTo(&any().ex) // if it moves it fetches the fd, within its group
		for i := range n {
			if b, v := l.read(); v != Try || b != byte(next+i) {
				t.Errorf("byte %d is %d, the read ended with %d", next+i, b, v)
			}
			if rand.IntN(8) == 0 {
				Sleep(time.Duration(rand.IntN(50_000)))
			}
			testenv.Equal(t, Current().group, g, "a coroutine has changed its group")
		}
	}).Join()
}

// TestGroupsHammer: coroutines of two groups take turns at connections, while
// both groups pack and spread theirs. Each byte comes once, and what a group
// has started ends in it.
func TestGroupsHammer(t *testing.T) {
	groups := []*Group{roaming(t, 3), roaming(t, 2)}
	stop := packer(groups)
	end := time.Now().Add(time.Duration(testenv.Rounds(4_000)) * time.Millisecond)
	var wg sync.WaitGroup
	var stints atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			for first := true; first || time.Now().Before(end); first = false {
				if i%4 == 0 { // a Watch of the one, where a coroutine of the other has read
					useWatchOf(t, groups[i/4%2], groups[1-i/4%2].members[0])
					continue
				}
				l := newLine(t)
				var home *Group
				for next := 0; next < 64; {
					n := 1 + rand.IntN(8)
					go func() { // most reads wait
						for b := range n {
							pauseNow()
							l.send(byte(next + b))
						}
					}()
					stint(t, l, groups[rand.IntN(2)], next, n)
					if p := l.pd.Home(); p != nil {
						home = cmp.Or(home, p.group)
						testenv.True(t, p.group == home, "an fd has changed its group")
					}
					next += n
					stints.Add(1)
				}
				l.close()
			}
		})
	}
	wg.Wait()
	stop()
	for _, g := range groups {
		for _, p := range g.members {
			p.moveRequest.Store(nil)
		}
		quiet(t, g)
	}
	t.Logf("%d stints", stints.Load())
}

// useWatchOf sends bytes to a Watch of g, whose fd is with another group's
// Processor at first.
func useWatchOf(t *testing.T, g *Group, first *Processor) {
	a := newArmer(t)
	a.send(0)
	first.Pinned(func() {
		a.line.read()
		a.pd.bind(a.fd)
	}).Join()
	a.x.Begin(nil, g.members[rand.IntN(len(g.members))])
	n := 1 + rand.IntN(50)
	for b := range n {
		a.send(byte(b))
		pauseNow()
		testenv.True(t, !a.pd.Watched() || a.pd.Home().group == g, "a Watch waits in another group")
	}
	testenv.Until(t, "all is read", func() bool {
		return a.read.Load() == int64(n) || t.Failed()
	})
	a.pd.Evict()
	<-a.ended
	a.close()
}
