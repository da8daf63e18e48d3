package scheduler_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/sync"
)

// circlesOf returns the circles among a Scheduler's coroutines.
func circlesOf(s *scheduler.Scheduler) []diagnose.Circle {
	return diagnose.Circles(engine.Of(s).Group())
}

// startForced starts a Scheduler that is shut down by force at the end of the
// test.
func startForced(t *testing.T) *scheduler.Scheduler {
	s := start(t, scheduler.Options{Processors: 2, Quiet: true})
	t.Cleanup(func() { s.Shutdown(testenv.Over()) })
	return s
}

// TestCircles: coroutines that wait for each other's locks are found, each
// circle once, without coroutines that wait beside it.
func TestCircles(t *testing.T) {
	s := startForced(t)
	var locks [3]sync.Mutex
	var held sync.WaitGroup
	held.Add(len(locks))
	for i := range locks {
		testenv.Must(s.GoWith(scheduler.Spawn{Name: "round", Fn: func() {
			locks[i].Lock()
			held.Done()
			held.Wait()
			locks[(i+1)%len(locks)].Lock()
		}}))
	}
	want := regexp.MustCompile(`^(\d+) "round" waits for (\d+) "round", (\d+) "round" waits for ` +
		`(\d+) "round", (\d+) "round" waits for (\d+) "round"$`)
	var found []diagnose.Circle
	testenv.Until(t, "a circle", func() bool { found = circlesOf(s); return len(found) > 0 })
	ids := want.FindStringSubmatch(found[0].String())
	if len(found) != 1 || ids == nil || ids[2] != ids[3] || ids[4] != ids[5] || ids[6] != ids[1] {
		t.Fatalf("%v", found)
	}
	testenv.Must(s.Go(locks[0].Lock)) // waits beside the circle
	var m sync.RWMutex
	itself := testenv.Must(s.Go(func() { m.Lock(); m.RLock() }))
	testenv.Until(t, "another circle", func() bool { found = circlesOf(s); return len(found) == 2 })
	if one := found[1]; len(one) != 1 || one[0].ID != itself.ID() {
		t.Errorf("%v", found)
	}
	itself.Stop()
	testenv.Until(t, "its end", func() bool { return len(circlesOf(s)) == 1 })
}

// TestBoundedWaits: a wait that ends by itself is in no circle.
func TestBoundedWaits(t *testing.T) {
	s := startForced(t)
	var m sync.Mutex
	for _, lock := range []func(){
		func() { m.LockTimeout(testenv.Limit) },
		func() { m.LockContext(t.Context()) },
	} {
		h := testenv.Must(s.Go(func() {
			m.Lock()
			defer m.Unlock()
			lock()
		}))
		testenv.Until(t, "the wait", func() bool {
			i, ok := coroutine.Find(h.ID())
			return ok && i.Reason == coroutine.ReasonLock
		})
		if found := circlesOf(s); len(found) > 0 {
			t.Errorf("%v", found)
		}
		h.Stop()
		testenv.OK(t, h.Join())
	}
}

// TestNoCircleHammer: no circle is ever found among coroutines that take two
// locks in the same order, and hold them while they park.
func TestNoCircleHammer(t *testing.T) {
	s := startForced(t)
	var first sync.Mutex
	var second sync.RWMutex
	var done atomic.Bool
	var wg stdsync.WaitGroup
	for range 8 {
		h := testenv.Must(s.Go(func() {
			for !done.Load() {
				first.Lock()
				coroutine.Yield()
				second.Lock()
				coroutine.Yield()
				first.Unlock()
				coroutine.Yield()
				second.Unlock()
			}
		}))
		wg.Go(func() { h.Join() })
	}
	for range testenv.Rounds(20_000) {
		if found := circlesOf(s); len(found) > 0 {
			t.Errorf("%v", found)
		}
	}
	done.Store(true)
	wg.Wait()
}

// TestHandoffLogged: a logger gets a line about the first handoff of each
// place.
func TestHandoffLogged(t *testing.T) {
	if err := coroutine.CanLeave(); err != nil {
		t.Skip("no handoffs: ", err)
	}
	core, logs := observer.New(zap.WarnLevel)
	s := start(t, scheduler.Options{Processors: 1, Logger: zap.New(core)})
	block := make(chan int)
	wait := func() { <-block }
	for i := range 3 {
		testenv.Must(s.Go(wait))
		testenv.Until(t, "a handoff", func() bool {
			return slices.ContainsFunc(s.Handoffs(), func(h scheduler.Handoff) bool {
				return h.Cause == diagnose.CauseChannel && h.Count == uint64(i+1)
			})
		})
	}
	lines := func() []observer.LoggedEntry {
		return logs.FilterMessage("processor handed on").
			FilterField(zap.String("cause", diagnose.CauseChannel)).All()
	}
	testenv.Until(t, "a line", func() bool { return len(lines()) > 0 }) // it comes after the count
	close(block)
	shutdown(t, s)
	if len(lines()) != 1 || !strings.HasPrefix(fmt.Sprint(lines()[0].ContextMap()["instead"]),
		"netco's channels: channel.Make") {
		t.Errorf("%v", lines())
	}
}
