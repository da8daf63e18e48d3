package processor

import (
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// scaled is how often a hammer strikes: n times at full length.
func scaled(n int) int { return testenv.Rounds(n) }

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

func addMembers(t testing.TB, g *Group, n int) {
	t.Helper()
	for i := range n {
		_, err := New(Config{Group: g, Index: i, CPU: -1, LockThread: true, Idle: 8192, BufferSize: 4096, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// started makes n running Processors, which end with the test; their coroutines
// must have ended by then.
func started(t testing.TB, n int) *Group {
	t.Helper()
	g := newGroup(t, n)
	for _, p := range g.members {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { end(g) })
	return g
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
	if err := p.PinnedFrom(Here(), fn).Join(); err != nil {
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
