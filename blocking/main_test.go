package blocking_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/netco-go/netco"
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

// force ends the default Scheduler without any patience, and waits for its
// coroutines, for which Shutdown itself waits some seconds only.
func force(t testing.TB) {
	t.Helper()
	s := testenv.Must(netco.Default())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// Nil if draining was enough.
	if err := netco.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	testenv.Until(t, "the testrun.Coroutines to end", func() bool { return s.Live() == 0 })
}

// pool returns a pool that must have nothing to do at the test's end.
func pool(t testing.TB, limit int) *blocking.Pool {
	t.Helper()
	p := new(blocking.Pool)
	testenv.OK(t, p.SetLimit(limit))
	t.Cleanup(func() { rest(t, p) })
	return p
}

// rest waits until the pool has nothing to do and ends its workers.
func rest(t testing.TB, p *blocking.Pool) {
	t.Helper()
	testenv.Until(t, "the pool to have nothing to do", func() bool {
		s := p.Exact()
		return s.Running == 0 && s.Queued == 0
	})
	if !p.Check() {
		t.Error("the pool's books are wrong")
	}
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
