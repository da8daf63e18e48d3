package sync_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// panics returns what f panics with, or nil.
func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestMutexMisuse(t *testing.T) {
	const want = "sync: Unlock of unlocked Mutex"
	var m sync.Mutex
	for range 2 {
		testenv.Equal(t, panics(m.Unlock), want, "panic with")
		if !m.AsNew() {
			t.Error("it has changed the mutex")
		}
		m.Lock()
		m.Unlock()
	}
}

// lockers are ways to lock; those that are bounded may fail.
var lockers = []struct {
	name string
	lock func(m *sync.Mutex, i int) bool
}{
	{"Lock", func(m *sync.Mutex, _ int) bool { m.Lock(); return true }},
	{"TryLock", func(m *sync.Mutex, _ int) bool { return m.TryLock() }},
	{"LockTimeout", func(m *sync.Mutex, i int) bool {
		return m.LockTimeout(time.Duration(i%50)*time.Microsecond) == nil
	}},
	{"LockContext", func(m *sync.Mutex, i int) bool {
		ctx, cancel := context.WithTimeout(context.Background(),
			time.Duration(i%50)*time.Microsecond)
		defer cancel()
		return m.LockContext(ctx) == nil
	}},
	{"mixed", nil},
}

// TestMutexHammer: there is one holder at a time, no waiter is left behind, and
// a call that returns an error does not hold the mutex.
func TestMutexHammer(t *testing.T) {
	for _, l := range lockers {
		t.Run(l.name, func(t *testing.T) {
			testrun.Start(t, 2)
			var m sync.Mutex
			var inside atomic.Int32
			plain, got := 0, new(atomic.Int64)
			crowd(t, 12, func(who int) {
				for i := range testenv.Rounds(4000) {
					lock := l.lock
					if lock == nil {
						lock = lockers[(who+i)%4].lock
					}
					if !lock(&m, rand.IntN(100)) {
						netco.Yield()
						continue
					}
					got.Add(1)
					if inside.Add(1) != 1 {
						t.Error("two are inside")
					}
					plain++
					if i%8 == 0 {
						netco.Yield()
					}
					if i%64 == 0 {
						netco.Sleep(time.Microsecond)
					}
					inside.Add(-1)
					m.Unlock()
				}
			})
			testenv.Equal(t, int64(plain), got.Load(), "increments by locks")
			if !m.AsNew() {
				t.Error("not as new")
			}
		})
	}
}

// TestMutexUnlockedByAnother: the holder parks while it holds m, and a
// coroutine of another Processor unlocks it.
func TestMutexUnlockedByAnother(t *testing.T) {
	testrun.Start(t, 2)
	var m sync.Mutex
	ready := 0
	for range testenv.Rounds(1000) {
		m.Lock()
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
			netco.Sleep(time.Microsecond)
			ready++
			m.Unlock()
		}})
		testrun.In(t, 1, func() {
			m.Lock()
			ready++
			netco.Yield()
			m.Unlock()
		})
	}
	if ready != 2*testenv.Rounds(1000) || !m.AsNew() {
		t.Error(ready)
	}
}
