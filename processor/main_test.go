package processor

import (
	"iter"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// strikes counts up to n; after ten seconds it stops at least.
func strikes(n, least int) iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for i := 0; i < n && (i < least || time.Since(began) < 10*time.Second) && yield(i); i++ {
		}
	}
}

// newGroup makes n Processors that have not been started; the test discards or
// starts them.
func newGroup(t testing.TB, n int) *Group {
	t.Helper()
	g := NewGroup(nil)
	addMembers(t, g, n)
	return g
}

// addMembers adds n Processors that are locked to their threads.
func addMembers(t testing.TB, g *Group, n int) {
	t.Helper()
	addLike(t, g, n, Config{LockThread: true, Idle: 8192})
}

// addLike adds n Processors of that configuration.
func addLike(t testing.TB, g *Group, n int, like Config) {
	t.Helper()
	for i := range n {
		like.Group, like.Index, like.CPU = g, i, -1
		like.BufferSize, like.Logger = 4096, zap.NewNop()
		if _, err := New(like); err != nil {
			t.Fatal(err)
		}
	}
}

// started makes n running Processors, which end with the test; their coroutines
// must have ended by then.
func started(t testing.TB, n int) *Group {
	t.Helper()
	g := newGroup(t, n)
	start(t, g)
	t.Cleanup(func() { end(g) })
	return g
}

func start(t testing.TB, g *Group) {
	t.Helper()
	for _, p := range g.members {
		testenv.OK(t, p.Start())
	}
}

func end(g *Group) {
	g.Advance(Stopped)
	for _, p := range g.members {
		<-p.Ended()
	}
}

// on runs fn as a coroutine pinned to p and waits for its end.
func on(t testing.TB, p *Processor, fn func()) {
	t.Helper()
	testenv.NoError(t, p.PinnedFrom(Current(), fn).Join())
}

// Pinned starts fn on p, for good, whatever the limit; for a caller outside. It
// returns the zero Handle if p has ended.
func (p *Processor) Pinned(fn func()) coroutine.Handle { return p.PinnedFrom(nil, fn) }

// PinnedFrom is Pinned for a caller on Processor here.
func (p *Processor) PinnedFrom(here *Processor, fn func()) coroutine.Handle {
	h, _ := p.group.Go(here, p, internalSpawn(fn))
	return h
}

// PinnedHere is Pinned for a caller on p.
func (p *Processor) PinnedHere(fn func()) coroutine.Handle { return p.PinnedFrom(p, fn) }

// Open is Pinned for a coroutine that may be stolen.
func (p *Processor) Open(fn func()) coroutine.Handle {
	h, _ := p.group.Go(nil, p, spawnOf(fn, false, true))
	return h
}

// spawnOf returns a Spawn with the fields that a literal cannot set.
func spawnOf(fn func(), pinned, unlimited bool) *coroutine.Spawn {
	s := &coroutine.Spawn{Fn: fn}
	s.Pinned, s.Unlimited = pinned, unlimited
	return s
}
