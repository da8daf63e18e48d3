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

// exact checks all figures of p but its limit.
func exact(t testing.TB, p *blocking.Pool, want blocking.Stats, when ...any) {
	t.Helper()
	got := p.Stats()
	want.Limit = got.Limit
	testenv.Equal(t, got, want, when...)
}

// rest waits until the pool has nothing to do.
func rest(t testing.TB, p *blocking.Pool) {
	t.Helper()
	testenv.Until(t, "the pool to have nothing to do", func() bool {
		s := p.Stats()
		return s.Running == 0 && s.Queued == 0
	})
}

// callOn is Call on a pool.
func callOn[T any](ctx context.Context, p *blocking.Pool, fn func() (T, error)) (v T, err error) {
	var got T
	var own error
	if err := p.Do(ctx, func() { got, own = fn() }); err != nil {
		return v, err
	}
	return got, own
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

// occupy starts a coroutine whose function runs until the gate that it returns
// is opened.
func occupy(t testing.TB, p *blocking.Pool) (*gate, *testrun.Task) {
	t.Helper()
	g := newGate()
	k := testrun.First.Go(func() { testenv.Fails(t, p.Do(bg, g.pass), nil, "Do") })
	testenv.Await(t, g.entered, "the function")
	return g, k
}
