package testrun_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestAllocs: what waits on a coroutine allocates nothing, whether it gets what
// it waits for or its time ends, and what need not wait allocates nothing
// anywhere. Channels have a test of their own.
func TestAllocs(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("race builds allocate")
	}
	check := func(what string, f func()) {
		testenv.Equal(t, testenv.Allocs(200, f), 0, what, "allocations")
	}
	testrun.Start(t, 1)
	atOnce(check)
	testrun.First.Do(t, func() { atOnce(check) })
	testrun.First.Do(t, func() { contended(t, check) })
}

// atOnce checks what does not wait.
func atOnce(check func(string, func())) {
	var m sync.Mutex
	var rw sync.RWMutex
	var wg sync.WaitGroup
	var done sync.Future[int]
	var once sync.Once
	s, c, ctx := sync.NewSemaphore(3), sync.NewCond(new(sync.Mutex)), context.Background()
	done.Set(1)
	once.Do(func() {})
	again := func() { panic("called twice") }
	check("Mutex", func() {
		m.Lock()
		m.TryLock()
		m.Unlock()
		had(m.LockTimeout(time.Second), m.Unlock)()
		had(m.LockContext(ctx), m.Unlock)()
	})
	check("RWMutex", func() {
		rw.Lock()
		rw.TryRLock()
		rw.Unlock()
		rw.RLock()
		rw.TryLock()
		rw.RUnlock()
		had(rw.LockTimeout(time.Second), rw.Unlock)()
		l := rw.RLocker()
		l.Lock()
		had(nil, l.Unlock)()
	})
	check("Semaphore", func() {
		s.Acquire(2)
		s.TryAcquire(2)
		s.AcquireTimeout(2, 0)
		s.AcquireTimeout(1, time.Second)
		s.Release(3)
		s.AcquireContext(ctx, 1)
		s.Release(1)
	})
	check("WaitGroup", func() {
		wg.Add(2)
		wg.Add(-2)
		wg.Wait()
		wg.WaitTimeout(time.Second)
		wg.WaitContext(ctx)
	})
	check("Future", func() {
		done.Get()
		done.GetTimeout(time.Second)
		done.GetContext(ctx)
		done.Set(2)
	})
	check("Once", func() { once.Do(again) })
	check("Cond", func() { c.Signal(); c.Broadcast() })
}

// contention is waits of a coroutine that another coroutine of its Processor
// ends, by what it does again and again, or, in the last, its time.
type contention struct {
	name  string
	other func()   // yields at most once
	waits []func() // each parks
	back  func()
}

func contentions() []contention {
	var m sync.Mutex
	var rw sync.RWMutex
	var wg, never sync.WaitGroup
	s, c := sync.NewSemaphore(1), sync.NewCond(new(sync.Mutex))
	futures, next := make([]sync.Future[int], 2000), 0
	self := coroutine.Current()
	never.Add(1)
	c.L.Lock()
	none := func() {}
	return []contention{
		{"Mutex", func() { m.Lock(); netco.Yield(); m.Unlock() },
			[]func(){m.Lock, func() { m.LockTimeout(time.Hour) }}, m.Unlock},
		{"RWMutex", func() { rw.Lock(); netco.Yield(); rw.Unlock() },
			[]func(){rw.Lock, func() { rw.LockTimeout(time.Hour) }}, rw.Unlock},
		{"RWMutex, reading", func() { rw.Lock(); netco.Yield(); rw.Unlock() },
			[]func(){rw.RLock, func() { rw.RLockTimeout(time.Hour) }}, rw.RUnlock},
		{"Semaphore", func() { s.Acquire(1); netco.Yield(); s.Release(1) },
			[]func(){func() { s.Acquire(1) }, func() { s.AcquireTimeout(1, time.Hour) }},
			func() { s.Release(1) }},
		{"Cond", c.Signal, []func(){c.Wait, func() { c.WaitTimeout(time.Hour) }}, none},
		{"WaitGroup", func() { wg.Add(1); netco.Yield(); wg.Done() },
			[]func(){wg.Wait, func() { wg.WaitTimeout(time.Hour) }}, none},
		{"Future", func() {
			if self.State() == coroutine.Waiting {
				futures[next].Set(1)
			}
		}, []func(){
			func() { futures[next].Get(); next++ },
			func() { futures[next].GetTimeout(time.Hour); next++ },
		}, none},
		{"time", none, []func(){func() { never.WaitTimeout(50 * time.Microsecond) }}, none},
	}
}

func contended(t *testing.T, check func(string, func())) {
	self := coroutine.Current()
	for _, w := range contentions() {
		stop := false
		other := testenv.Must(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			for !stop {
				w.other()
				netco.Yield()
			}
		}}))
		for i, wait := range w.waits {
			before := self.Ticket()
			check(fmt.Sprint(w.name, ", wait ", i), func() {
				netco.Yield() // the other locks
				wait()
				w.back()
			})
			if n := self.Ticket() - before; n < 150 {
				t.Errorf("%s, wait %d: parked only %d times", w.name, i, n)
			}
		}
		stop = true
		other.Join()
	}
}
