package blocking_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// bg is no limit.
var bg = context.Background()

func TestMain(m *testing.M) {
	if child := children.Chosen(); child != nil { // see crash_test.go
		child()
		return
	}
	testenv.Main(m)
}

// limit is when a test gives up waiting. No test passes by waiting that long.
const limit = testenv.Limit

// pool returns a pool that must have nothing to do at the test's end.
func pool(t testing.TB, limit int) *blocking.Pool {
	t.Helper()
	p := new(blocking.Pool)
	testenv.OK(t, p.SetLimit(limit))
	t.Cleanup(func() { rest(t, p) })
	return p
}

// exact checks all figures of p but its limit, and its books.
func exact(t testing.TB, p *blocking.Pool, want blocking.Stats, when ...any) {
	t.Helper()
	got := p.Exact()
	want.Limit, want.Running = got.Limit, want.Workers-want.Idle
	testenv.Equal(t, got, want, when...)
	testenv.Equal(t, p.Check(), true, "the pool's books are right")
}

// rest waits until the pool has nothing to do and ends its workers.
func rest(t testing.TB, p *blocking.Pool) {
	t.Helper()
	testenv.Until(t, "the pool to have nothing to do", func() bool {
		s := p.Exact()
		return s.Running == 0 && s.Queued == 0
	})
	testenv.Equal(t, p.Check(), true, "the pool's books are right")
	p.CloseIdle()
	if s := p.Exact(); s.Workers != 0 || s.Idle != 0 {
		t.Errorf("after CloseIdle: %+v", s)
	}
}

// goroutine names the calling goroutine.
func goroutine() string {
	var head [64]byte
	id, _, _ := strings.Cut(string(head[:runtime.Stack(head[:], false)]), " [")
	return id
}

// gate is a function that blocks until it is opened.
type gate struct{ entered, opened chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) pass() {
	close(g.entered)
	<-g.opened
}

// occupy starts a coroutine that holds a worker of the pool until the gate that
// it returns is opened.
func occupy(t testing.TB, p *blocking.Pool) (*gate, *testrun.Task) {
	t.Helper()
	g := newGate()
	k := testrun.First.Go(func() { testenv.Fails(t, p.Do(bg, g.pass), nil, "Do") })
	testenv.Await(t, g.entered, "the worker")
	return g, k
}
