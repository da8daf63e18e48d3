package blocking_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

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
	if s := p.Stats(); s.Running != 1 || s.Queued != 3 || s.Limit != 1 {
		t.Errorf("%+v", s)
	}
	release := blocking.Lock(p)
	if s := p.Stats(); s.Queued != 3 {
		t.Errorf("while the pool is locked: %+v", s)
	}
	release()
	close(g.opened)
	k.Wait(t)
	for _, k := range waiting {
		k.Wait(t)
	}
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
	for _, k := range tasks {
		k.Wait(t)
	}
	close(stop)
	looking.Wait()
	if s := p.Stats(); s.Done != 20*200 {
		t.Errorf("%+v", s)
	}
}
