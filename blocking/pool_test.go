package blocking_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/ilist"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestLinksOffset: package ilist depends on it.
func TestLinksOffset(t *testing.T) {
	testenv.Equal(t, blocking.LinksOffset, ilist.Offset, "the offset of a call's links")
}

func TestLimits(t *testing.T) {
	for _, n := range []int{0, -1} {
		if err := new(blocking.Pool).SetLimit(n); err == nil ||
			!strings.HasPrefix(err.Error(), "blocking: limit ") {
			t.Errorf("SetLimit(%d): %v", n, err)
		}
	}
	p := pool(t, 3)
	if err := p.SetLimit(0); err == nil || p.Exact().Limit != 3 {
		t.Errorf("SetLimit(0): %v, then %+v", err, p.Exact())
	}
	testenv.Equal(t, new(blocking.Pool).Exact(), (blocking.Stats{Limit: blocking.DefaultLimit}),
		"the zero Pool")
}

// queue parks n coroutines, alternately on two Processors, in calls that note
// their turn.
func queue(t *testing.T, p *blocking.Pool, n int, turns *[]int) (tasks []*testrun.Task) {
	for i := range n {
		k := testrun.Coroutines[i%2].Go(func() {
			testenv.NoError(t, p.Do(bg, func() { *turns = append(*turns, i) }))
		})
		k.UntilParked(t, coroutine.ReasonBlocking)
		tasks = append(tasks, k)
	}
	return tasks
}

// TestFIFO: calls get the worker in the order in which they came.
func TestFIFO(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	g, k := occupy(t, p)
	var turns []int // of one worker
	tasks := queue(t, p, 8, &turns)
	exact(t, p, blocking.Stats{Workers: 1, Queued: 8})
	close(g.opened)
	k.Wait(t)
	testrun.WaitAll(t, tasks...)
	if !slices.Equal(turns, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("turns %v", turns)
	}
}

// TestReuse: a call goes to the worker that was used last; no other is started.
func TestReuse(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 8)
	p.OnlyTick()
	var gates []*gate
	var tasks []*testrun.Task
	for range 3 {
		g, k := occupy(t, p)
		gates, tasks = append(gates, g), append(tasks, k)
	}
	for i, g := range gates { // one after the other
		close(g.opened)
		tasks[i].Wait(t)
	}
	exact(t, p, blocking.Stats{Workers: 3, Idle: 3, Done: 3})
	used := map[string]bool{}
	use := func() { p.Do(bg, func() { used[goroutine()] = true }) }
	for i := range 50 {
		testrun.Coroutines[i%2].Do(t, use)
	}
	testenv.Equal(t, len(used), 1, "workers were used", used)
	exact(t, p, blocking.Stats{Workers: 3, Idle: 3, Done: 53})
	// The two others have not been touched since the first tick; the third has.
	p.Tick()
	testrun.First.Do(t, use)
	exact(t, p, blocking.Stats{Workers: 3, Idle: 3, Done: 54}, "after one tick")
	p.Tick()
	exact(t, p, blocking.Stats{Workers: 1, Idle: 1, Done: 54}, "after two ticks")
	testenv.Equal(t, p.Ticking(), true, "ticking")
	testrun.First.Do(t, use)
	testenv.Equal(t, len(used), 1, "the worker that was in use has ended", used)
	p.Tick()
	p.Tick()
	exact(t, p, blocking.Stats{Done: 55}, "in the end")
	testenv.Equal(t, p.Ticking(), false, "ticking in the end")
}

// TestOneAfterTheOther: when a call returns, the pool has done with it: the
// next finds its worker idle.
func TestOneAfterTheOther(t *testing.T) {
	testrun.Start(t, 1)
	p := pool(t, 8)
	testrun.First.Do(t, func() {
		for range 1500 {
			p.Do(bg, func() {})
			if s := p.Exact(); s.Running != 0 || s.Workers != 1 {
				t.Errorf("after a call: %+v", s)
				return
			}
		}
	})
}

// TestSetLimit: a higher limit starts waiting calls, a lower one lets running
// ones end and then holds.
func TestSetLimit(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	const n = 4
	var gates []*gate
	var tasks []*testrun.Task
	for i := range n {
		g := newGate()
		k := testrun.Coroutines[i%2].Go(func() { testenv.NoError(t, p.Do(bg, g.pass)) })
		k.UntilParked(t, coroutine.ReasonBlocking)
		gates, tasks = append(gates, g), append(tasks, k)
	}
	testenv.Await(t, gates[0].entered, "the first")
	exact(t, p, blocking.Stats{Workers: 1, Queued: 3})
	testenv.OK(t, p.SetLimit(3))
	testenv.Await(t, gates[1].entered, "the second")
	testenv.Await(t, gates[2].entered, "the third")
	exact(t, p, blocking.Stats{Workers: 3, Queued: 1})
	testenv.OK(t, p.SetLimit(1))
	for i := range 2 {
		close(gates[i].opened)
		tasks[i].Wait(t)
		exact(t, p, blocking.Stats{Workers: 2 - i, Queued: 1, Done: uint64(i + 1)})
	}
	close(gates[2].opened)
	testenv.Await(t, gates[3].entered, "the fourth")
	close(gates[3].opened)
	tasks[2].Wait(t)
	tasks[3].Wait(t)

	// Idle ones beyond a lower limit end at once.
	p.SetLimit(3)
	for i := range gates[:3] {
		gates[i], tasks[i] = occupy(t, p)
	}
	for i, g := range gates[:3] {
		close(g.opened)
		tasks[i].Wait(t)
	}
	p.SetLimit(2)
	exact(t, p, blocking.Stats{Workers: 2, Idle: 2, Done: 7})
}

// TestSnapshot: when nothing moves it says what Stats says; and it is not kept
// by the holder of the pool's lock.
func TestSnapshot(t *testing.T) {
	testrun.Start(t, 2)
	same := func(what string, p *blocking.Pool) {
		t.Helper()
		var a, b blocking.Stats
		defer func() {
			if t.Failed() {
				t.Logf("%s: %+v, want %+v", what, a, b)
			}
		}()
		// A change is shown a moment later: a worker may run already that its
		// caller has not shown yet.
		testenv.Until(t, what, func() bool {
			a, b = p.Stats(), p.Exact()
			return a == b
		})
	}
	same("zero", new(blocking.Pool))
	p := pool(t, 1)
	same("new", p)
	g, k := occupy(t, p)
	same("one runs", p)
	var turns []int
	waiting := queue(t, p, 3, &turns)
	same("three wait", p)
	testenv.Equal(t, p.Stats(), blocking.Stats{Limit: 1, Workers: 1, Running: 1, Queued: 3})
	release := blocking.Lock(p)
	if s := p.Stats(); s.Queued != 3 {
		t.Errorf("while the pool is locked: %+v", s)
	}
	release()
	close(g.opened)
	k.Wait(t)
	testrun.WaitAll(t, waiting...)
	testenv.Until(t, "the worker to be idle", func() bool { return p.Exact().Idle == 1 })
	same("idle", p)
	testenv.OK(t, p.SetLimit(5))
	same("another limit", p)
	p.CloseIdle()
	same("no workers", p)
	testenv.Equal(t, testing.AllocsPerRun(100, func() { p.Stats() }), 0, "allocations")
}

// TestSnapshotWhileItWorks: the figures are possible ones, and counts only
// rise.
func TestSnapshotWhileItWorks(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 3)
	var looking sync.WaitGroup
	stop := make(chan struct{})
	looking.Go(func() {
		var last uint64
		for {
			select {
			case <-stop:
				return
			default:
			}
			s := p.Stats()
			if s.Done < last || s.Running < 0 || s.Idle < 0 || s.Idle+s.Running != s.Workers ||
				s.Workers > 3 || s.Limit != 3 || s.Queued > 20 || s.Queued < 0 {
				t.Errorf("after %d: %+v", last, s)
				return
			}
			last = s.Done
			runtime.Gosched()
		}
	})
	var tasks []*testrun.Task
	for i := range 20 {
		tasks = append(tasks, testrun.Coroutines[i%2].Go(func() {
			for range 200 {
				if err := p.Do(bg, func() {}); err != nil {
					t.Error(err)
				}
			}
		}))
	}
	testrun.WaitAll(t, tasks...)
	close(stop)
	looking.Wait()
	if s := p.Stats(); s.Done != 20*200 {
		t.Errorf("%+v", s)
	}
}
