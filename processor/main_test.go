package processor

import (
	"iter"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) {
	// Coroutines of these tests share variables where one thread runs them.
	// What the detector sees otherwise is tested in package scheduler.
	goruntime.TurnsOrder = true
	testenv.Main(m)
}

// scaled is how often a hammer strikes: n times at full length.
func scaled(n int) int { return testenv.Rounds(n) }

// strikes counts up to n; after ten seconds it stops at least.
func strikes(n, least int) iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for i := 0; i < n && (i < least || time.Since(began) < 10*time.Second) && yield(i); i++ {
		}
	}
}

// within fails the whole run with all stacks when a test that could hang has
// not ended in time.
func within(t testing.TB, d time.Duration) {
	timer := time.AfterFunc(d, func() {
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		panic(t.Name() + ": not over after " + d.String())
	})
	t.Cleanup(func() { timer.Stop() })
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
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
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
	if err := p.PinnedFrom(Current(), fn).Join(); err != nil {
		t.Error(err)
	}
}

// eventually waits for what another thread is about to bring about.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for tries := 0; !cond(); tries++ {
		if tries < 50 {
			runtime.Gosched()
			continue
		}
		if time.Now().After(end) {
			t.Fatal("not within 20 s: " + what)
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil) // time.Sleep takes a millisecond
	}
}
