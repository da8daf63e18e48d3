package diagnose

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
)

// TestWokenMeanwhile: there is no deadlock where the last goroutine has woken a
// coroutine and ended while the others were looked at.
func TestWokenMeanwhile(t *testing.T) {
	g, _ := startGroup(t, false)
	c := channel.Make[int](0)
	startOn(g, func() {
		for _, more := c.Recv(); more; _, more = c.Recv() {
		}
	})
	// One that runs is in no deadlock of these: it is not blocked.
	alone := func() bool { return true }
	found := func(alone func() bool) *deadlock {
		if d := findDeadlock(alone); d != nil && !d.outside {
			return d
		}
		return nil
	}
	is := func() bool { return found(alone) != nil }
	testenv.Until(t, "a deadlock", is)
	waking := func() bool {
		c.Send(1)
		return true
	}
	for range testenv.Rounds(10_000) {
		if d := found(waking); d != nil {
			t.Fatalf("%v after the coroutine was woken", d.err())
		}
		testenv.Until(t, "a deadlock", is)
	}
	c.Close()
}

// TestOtherScheduler: there is no deadlock where another group, which sleeps,
// could wake a coroutine.
func TestOtherScheduler(t *testing.T) {
	g, _ := startGroup(t, false)
	other, sleeper := startGroup(t, false)
	c := channel.Make[int](0)
	startOn(g, func() { c.Recv() })
	found := func() bool { return findDeadlock(func() bool { return true }) != nil }
	testenv.Until(t, "a deadlock", found)
	var timer processor.Func
	h := testenv.Must(other.Go(nil, nil, &coroutine.Spawn{Fn: func() {
		timer.Init(processor.Current(), time.Hour, func() { c.Send(1) }, 0)
	}}))
	testenv.OK(t, h.Join())
	testenv.Until(t, "the other to sleep", sleeper.Idle)
	if found() {
		t.Error("a deadlock, though a timer of the other is set")
	}
	timer.Stop()
	sleeper.Wake() // or the heap has it until something else does
	testenv.Until(t, "a deadlock again", found)
	c.Close()
}

// TestLookAfterCollection: a watchdog that pauses for long looks for a deadlock
// when the garbage collector has run.
func TestLookAfterCollection(t *testing.T) {
	g, _ := startGroup(t, false)
	now := clock.Now()
	d := &watchdog{group: g, quit: make(chan struct{}), movedAt: now, lookAt: now + 2*lookFor}
	testenv.Until(t, "all to sleep", d.group.BeginPause)
	over := make(chan bool, 1)
	go func() { over <- d.pause(time.NewTimer(time.Hour)) }()
	testenv.Until(t, "the end of the pause", func() bool {
		runtime.GC()
		return len(over) > 0
	})
	if goesOn := <-over; !goesOn || d.movedAt != now {
		t.Errorf("it goes on: %v; something has moved: %v", goesOn, d.movedAt != now)
	}
}

// TestMayMoveLater: a deadlock is looked for again only where what stands still
// waits for others.
func TestMayMoveLater(t *testing.T) {
	g, p := startGroup(t, false)
	may := func() bool { return mayMoveLater(g) }
	if may() {
		t.Error("without coroutines")
	}
	c := channel.Make[int](0)
	startOn(g, func() { c.Recv() })
	testenv.Until(t, "one that waits for others", may)
	for what, wait := range map[string]func(){
		"a timer":   func() { processor.Sleep(time.Hour) },
		"a context": func() { channel.Make[int](0).RecvContext(t.Context()) },
	} {
		h := testenv.Must(g.Go(nil, nil, &coroutine.Spawn{Fn: wait}))
		testenv.Until(t, what, func() bool {
			i, _ := coroutine.Find(h.ID())
			return i.State == coroutine.Waiting && p.Idle()
		})
		testenv.True(t, !may(), "in vain: %s ends a wait", what)
		h.Stop()
		testenv.Until(t, "its end", may)
	}
	c.Close()
}

// TestAlike: coroutines that differ in their numbers only share a line.
func TestAlike(t *testing.T) {
	var all []coroutine.Info
	for i := range 25 {
		all = append(all, coroutine.Info{ID: uint64(i + 1), State: coroutine.Waiting,
			WaitsFor: "a lock", Site: uintptr(i % 2)})
	}
	all = append(all, coroutine.Info{ID: 26, Name: "x", State: coroutine.Outside})
	e := (&deadlock{all: all}).err()
	want := []string{"1 and 12 more, waiting for a lock", "2 and 11 more, waiting for a lock",
		`26 "x", blocked outside netco`}
	for i := range e.Coroutines {
		e.Coroutines[i], _, _ = strings.Cut(e.Coroutines[i], ", made at")
	}
	if !slices.Equal(e.Coroutines, want) || strings.Contains(e.Error(), "; and") {
		t.Errorf("%q", e.Error())
	}
}

// startGroup starts one Processor without a watchdog. It ends with the test,
// when its coroutines have.
func startGroup(t *testing.T, lockThread bool) (*processor.Group, *processor.Processor) {
	t.Helper()
	g := processor.NewGroup(nil)
	p := testenv.Must(processor.New(processor.Config{Group: g, CPU: -1, LockThread: lockThread,
		Idle: 64, BufferSize: 4096, Logger: zap.NewNop()}))
	testenv.OK(t, p.Start())
	t.Cleanup(func() {
		for g.Active() {
			<-g.Quiet()
		}
		g.Advance(processor.Stopped)
		<-p.Ended()
	})
	return g, p
}

// startOn starts a coroutine of the group.
func startOn(g *processor.Group, fn func()) {
	testenv.Must(g.Go(nil, nil, &coroutine.Spawn{Fn: fn}))
}
