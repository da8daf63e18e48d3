package blocking_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		children[name]() // see crash_test.go
		return
	}
	testenv.Main(m)
}

// limit is when a test gives up waiting. No test passes by waiting that long.
const limit = time.Minute

// start starts the default Scheduler with n Processors. The test's end shuts it
// down, which must find nothing left over.
func start(t testing.TB, n int) {
	t.Helper()
	if err := netco.Start(netco.Options{Processors: n}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := netco.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// force ends the default Scheduler without any patience, and waits for its
// coroutines, for which Shutdown itself waits some seconds only.
func force(t testing.TB) {
	t.Helper()
	s, err := netco.Default()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// Nil if draining was enough.
	if err := netco.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	until(t, "the coroutines to end", func() bool { return s.Live() == 0 })
}

// pool returns a pool that must have nothing to do at the test's end.
func pool(t testing.TB, limit int) *blocking.Pool {
	t.Helper()
	p, err := blocking.New(limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rest(t, p) })
	return p
}

// rest waits until the pool has nothing to do and ends its workers.
func rest(t testing.TB, p *blocking.Pool) {
	t.Helper()
	until(t, "the pool to have nothing to do", func() bool {
		s := p.Stats()
		return s.Running == 0 && s.Queued == 0
	})
	if !p.Check() {
		t.Error("the pool's books are wrong")
	}
	p.CloseIdle()
	if s := p.Stats(); s.Workers != 0 || s.Idle != 0 {
		t.Errorf("after CloseIdle: %+v", s)
	}
}

// place is where code can run.
type place struct {
	name string
	run  func(func())
}

func on(i int) func(func()) {
	return func(f func()) {
		if _, err := netco.GoOn(i, f); err != nil {
			panic(err)
		}
	}
}

var (
	onFirst  = place{"coroutine", on(0)}
	onSecond = place{"coroutine elsewhere", on(1)}
	ordinary = place{"goroutine", func(f func()) { go f() }}

	// places are all kinds. They need two Processors.
	places     = []place{onFirst, onSecond, ordinary}
	coroutines = places[:2]
)

// task is a function that runs in a place.
type task struct {
	started, done chan struct{}
	co            *coroutine.Coroutine // nil on a goroutine
}

// task runs f there.
func (p place) task(f func()) *task {
	k := &task{started: make(chan struct{}), done: make(chan struct{})}
	p.run(func() {
		defer close(k.done)
		k.co = coroutine.Current()
		close(k.started)
		f()
	})
	return k
}

// wait waits for the task to end.
func (k *task) wait(t testing.TB) {
	t.Helper()
	await(t, k.done, "the task to end")
}

// untilParked waits until the task, a coroutine, is parked in a call of this
// package.
func (k *task) untilParked(t testing.TB) {
	t.Helper()
	await(t, k.started, "the task to start")
	until(t, "the task to park", func() bool {
		return k.co.State() == coroutine.Waiting && k.co.Reason() == coroutine.ReasonBlocking
	})
}

// await waits until c is closed or has something.
func await[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		t.Fatalf("waited for %s in vain\n%s", what, stacks())
	}
	return v
}

// until polls until a condition holds.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(limit)
	for tries := 0; !ok(); tries++ {
		if tries < 50 {
			runtime.Gosched()
			continue
		}
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain\n%s", what, stacks())
		}
		syscall.Nanosleep(&syscall.Timespec{Nsec: 20_000}, nil) // time.Sleep takes a millisecond
	}
}

func stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
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
func occupy(t testing.TB, p *blocking.Pool) (*gate, *task) {
	t.Helper()
	g := newGate()
	k := onFirst.task(func() {
		if err := p.Do(g.pass); err != nil {
			t.Errorf("Do: %v", err)
		}
	})
	await(t, g.entered, "the worker")
	return g, k
}
