package sync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/goruntime"
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
		if got := panics(m.Unlock); got != want {
			t.Errorf("panic with %v, want %s", got, want)
		}
		if !m.AsNew() {
			t.Error("it has changed the mutex")
		}
		m.Lock()
		m.Unlock()
	}
}

func TestMutexWithoutWait(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var m sync.Mutex
	for _, c := range []struct {
		name string
		lock func() error
		held error // what it returns when m is held
	}{
		{"TryLock", func() error {
			if !m.TryLock() {
				return os.ErrExist
			}
			return nil
		}, os.ErrExist},
		{"LockTimeout(0)", func() error { return m.LockTimeout(0) }, os.ErrDeadlineExceeded},
		{"LockTimeout(-1)", func() error { return m.LockTimeout(-1) }, os.ErrDeadlineExceeded},
		{"LockTimeout(1ns)", func() error { return m.LockTimeout(1) }, os.ErrDeadlineExceeded},
		{"LockTimeout(1ms)", func() error {
			return m.LockTimeout(time.Millisecond)
		}, os.ErrDeadlineExceeded},
		{"LockContext(over)", func() error { return m.LockContext(ctx) }, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.lock(); err != nil {
				t.Fatalf("of a free mutex: %v", err)
			}
			if err := c.lock(); !errors.Is(err, c.held) {
				t.Errorf("of a held mutex: %v, want %v", err, c.held)
			}
			m.Unlock()
			if !m.AsNew() {
				t.Error("not as new")
			}
		})
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
			if int64(plain) != got.Load() {
				t.Errorf("%d increments, %d locks", plain, got.Load())
			}
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

// TestMutexShutdown: a forced shutdown takes waiters out, runs their deferred
// calls, and leaves the mutex to the others.
func TestMutexShutdown(t *testing.T) {
	testrun.Start(t, 2)
	var m sync.Mutex
	var unwound, refused atomic.Int32
	m.Lock()
	for i := range 20 {
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			defer unwound.Add(1)
			if i%4 < 2 {
				m.Lock()
				t.Error("Lock returned")
			}
			if err := m.LockTimeout(time.Hour); errors.Is(err, netco.ErrShutdown) {
				refused.Add(1)
			} else {
				t.Errorf("LockTimeout: %v", err)
			}
		}})
	}
	sync.Await(&m, 20)
	testrun.ShutdownByForce(t)
	if unwound.Load() != 20 || refused.Load() != 10 {
		t.Errorf("%d unwound, %d refused", unwound.Load(), refused.Load())
	}
	m.Unlock()
	if !m.AsNew() {
		t.Error("not as new")
	}
}

// allocs fails if f allocates in a coroutine or a goroutine.
func allocs(t *testing.T, f func()) {
	t.Helper()
	testrun.In(t, 0, func() {
		if n := testenv.Allocs(1000, f); n != 0 {
			t.Errorf("in a coroutine: %v allocations", n)
		}
	})
	if n := testenv.Allocs(1000, f); n != 0 {
		t.Errorf("in a goroutine: %v allocations", n)
	}
}

func TestMutexAllocs(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	testrun.Start(t, 2)
	var m sync.Mutex
	allocs(t, func() {
		m.Lock()
		m.Unlock()
		if m.TryLock() {
			m.Unlock()
		}
		if m.LockTimeout(time.Second) == nil {
			m.Unlock()
		}
	})
	// One that waits: another holds m over a Yield.
	stop := false
	netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		for !stop {
			m.Lock()
			netco.Yield()
			m.Unlock()
			netco.Yield()
		}
	}})
	testrun.In(t, 0, func() {
		n := testing.AllocsPerRun(1000, func() {
			m.Lock()
			netco.Yield()
			m.Unlock()
			if m.LockTimeout(time.Minute) == nil {
				netco.Yield()
				m.Unlock()
			}
		})
		stop = true
		if n != 0 && !goruntime.RaceEnabled {
			t.Errorf("a waiter allocates %v times", n)
		}
	})
	runtime.KeepAlive(&m)
}
