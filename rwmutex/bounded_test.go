package rwmutex

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// bounded are the bounded ways to lock, each with a bound that will not end by
// itself, one that soon does, and one that has.
var bounded = []struct {
	name   string
	unlock func(*RWMutex)
	long   func(*RWMutex) error
	soon   func(*RWMutex) error
	over   func(*RWMutex) error
	errs   [2]error // of soon and over
}{
	{
		"LockTimeout", (*RWMutex).Unlock,
		func(m *RWMutex) error { return m.LockTimeout(time.Hour) },
		func(m *RWMutex) error { return m.LockTimeout(time.Millisecond) },
		func(m *RWMutex) error {
			return m.LockTimeout(-1)
		}, [2]error{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
	},
	{
		"RLockTimeout", (*RWMutex).RUnlock,
		func(m *RWMutex) error { return m.RLockTimeout(time.Hour) },
		func(m *RWMutex) error { return m.RLockTimeout(time.Millisecond) },
		func(m *RWMutex) error {
			return m.RLockTimeout(0)
		}, [2]error{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
	},
	{
		"LockContext", (*RWMutex).Unlock,
		func(m *RWMutex) error { return m.LockContext(context.Background()) },
		func(m *RWMutex) error { return within((*RWMutex).LockContext, m, time.Millisecond) },
		func(m *RWMutex) error {
			return m.LockContext(cancelled)
		}, [2]error{context.DeadlineExceeded, context.Canceled},
	},
	{
		"RLockContext", (*RWMutex).RUnlock,
		func(m *RWMutex) error { return m.RLockContext(context.Background()) },
		func(m *RWMutex) error { return within((*RWMutex).RLockContext, m, time.Millisecond) },
		func(m *RWMutex) error {
			return m.RLockContext(cancelled)
		}, [2]error{context.DeadlineExceeded, context.Canceled},
	},
}

var cancelled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func within(lock func(*RWMutex, context.Context) error, m *RWMutex, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return lock(m, ctx)
}

// everywhere runs f on a goroutine and in a coroutine.
func everywhere(t *testing.T, f func(t *testing.T)) {
	t.Run("goroutine", f)
	t.Run("coroutine", func(t *testing.T) {
		testrun.Start(t, 2)
		done := make(chan struct{})
		if _, err := netco.Go(func() { defer close(done); f(t) }); err != nil {
			t.Fatal(err)
		}
		<-done
	})
}

// TestBounded: a bounded call locks if that takes no wait, even if the bound is
// over; else it returns the bound's error, with the lock and its queue as
// before.
func TestBounded(t *testing.T) {
	for _, c := range bounded {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				var m RWMutex
				for _, lock := range []func(*RWMutex) error{c.long, c.soon, c.over} {
					if err := lock(&m); err != nil {
						t.Errorf("of a free lock: %v", err)
						continue
					}
					c.unlock(&m)
				}
				m.Lock()
				for i, lock := range []func(*RWMutex) error{c.soon, c.over} {
					if err := lock(&m); !errors.Is(err, c.errs[i]) {
						t.Errorf("of a locked one: %v, want %v", err, c.errs[i])
					}
					if s := m.state.Load() &^ quick; s != writer || m.waiting() != 0 {
						t.Errorf("after it state %#x, %d waiting", s, m.waiting())
					}
				}
				m.Unlock()
				m.checkFree(t)
			})
		})
	}
}

// TestBoundedGranted: a bounded wait returns with the lock if it is unlocked in
// time.
func TestBoundedGranted(t *testing.T) {
	for _, c := range bounded {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				var m RWMutex
				m.Lock()
				go func() {
					m.awaitWaiting(1)
					m.Unlock()
				}()
				if err := c.long(&m); err != nil {
					t.Error(err)
					return
				}
				c.unlock(&m)
				m.checkFree(t)
			})
		})
	}
}

// TestGiveUpServesOthers: readers behind a writer that gives up beside readers
// get the lock.
func TestGiveUpServesOthers(t *testing.T) {
	always(t, true)
	var m RWMutex
	m.RLock()
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		if err := m.LockContext(ctx); err != context.Canceled {
			t.Errorf("the writer got %v", err)
		}
	})
	m.awaitWaiting(1)
	m.startHandoff()
	for range 3 {
		wg.Go(func() { m.RLock(); m.RUnlock() })
	}
	m.awaitWaiting(4)
	cancel()
	wg.Wait()
	m.RUnlock()
	m.checkFree(t)
}

// TestForcedShutdown: bounded waits return ErrShutdown, unbounded ones end
// their coroutine, and none stays queued.
func TestForcedShutdown(t *testing.T) {
	var m RWMutex
	m.Lock()
	testrun.Start(t, 2)
	var refused, unwound atomic.Int32
	for i, c := range bounded {
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			if err := c.long(&m); errors.Is(err, coroutine.ErrShutdown) {
				refused.Add(1)
			}
		}})
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			defer unwound.Add(1)
			lock(&m, "WR"[i%2])
			t.Error("came in")
		}})
	}
	m.awaitWaiting(2 * len(bounded))
	if err := netco.Shutdown(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	for begun := time.Now(); refused.Load()+unwound.Load() < int32(2*len(bounded)) &&
		time.Since(begun) < 20*time.Second; {
		time.Sleep(time.Millisecond) // Shutdown does not wait for slow threads
	}
	if refused.Load() != int32(len(bounded)) || unwound.Load() != int32(len(bounded)) {
		t.Errorf("%d refused, %d unwound", refused.Load(), unwound.Load())
	}
	if s := m.state.Load() &^ quick; s != writer {
		t.Errorf("state %#x", s)
	}
	m.Unlock()
	m.checkFree(t)
}

// TestBoundedHammer: unlocks and bounds race on two Processors and goroutines,
// by the clock and by chance: a lock that was got is not lost, and one that was
// given up is not held.
func TestBoundedHammer(t *testing.T) {
	for _, chance := range []bool{false, true} {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		if chance {
			choose = func(question) bool { return rand.IntN(4) == 0 }
		}
		hammerBounded(t, seed)
		choose = nil
	}
}

func hammerBounded(t *testing.T, seed uint64) {
	testrun.Start(t, 2)
	var m RWMutex
	var p pair
	var raised, had, missed atomic.Int64
	use := func(id int, pass func()) {
		r := rand.New(rand.NewPCG(seed, uint64(id)))
		for range rounds() / 4 {
			if r.IntN(2) == 0 {
				raised.Add(int64(p.use(t, &m, r, pass)))
				continue
			}
			write := r.IntN(2) == 0
			if err := lockBounded(&m, write, time.Duration(r.IntN(50))*time.Microsecond,
				r.IntN(8) == 0); err != nil {
				missed.Add(1)
				continue
			}
			had.Add(1)
			if !write {
				if p.a != p.b {
					t.Errorf("a reader saw %d and %d", p.a, p.b)
				}
				m.RUnlock()
				continue
			}
			p.a++
			if r.IntN(4) == 0 {
				pass()
			}
			p.b++
			raised.Add(1)
			m.Unlock()
		}
	}
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { use(i, func() { time.Sleep(time.Microsecond) }) })
	}
	for i := range 8 {
		wg.Add(1)
		if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			defer wg.Done()
			use(100+i, func() { netco.Sleep(20 * time.Microsecond) })
		}}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	testrun.Shutdown(t)
	if int64(p.a) != raised.Load() || p.a != p.b {
		t.Errorf("raised %d times to %d and %d", raised.Load(), p.a, p.b)
	}
	if had.Load() == 0 || missed.Load() == 0 {
		t.Errorf("%d had, %d missed", had.Load(), missed.Load())
	}
	m.checkFree(t)
}

func lockBounded(m *RWMutex, write bool, d time.Duration, byContext bool) error {
	switch {
	case byContext && write:
		return within((*RWMutex).LockContext, m, d)
	case byContext:
		return within((*RWMutex).RLockContext, m, d)
	case write:
		return m.LockTimeout(d)
	}
	return m.RLockTimeout(d)
}

// TestBoundedAllocs: a coroutine's wait with a timeout does not allocate, had
// or missed.
func TestBoundedAllocs(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("race builds allocate")
	}
	testrun.Start(t, 1)
	var m RWMutex
	stop, wrong, waits := false, 0, 0
	other := func() {
		for !stop {
			m.Lock()
			netco.Yield()
			m.Unlock()
			netco.Yield()
		}
	}
	if err := netco.Run(func() {
		netco.GoWith(netco.Spawn{Local: true, Fn: other})
		if n := testenv.Allocs(100, func() {
			netco.Yield() // the other locks
			if m.state.Load()&^quick != 0 {
				waits++
			}
			if m.LockTimeout(time.Hour) != nil || m.LockTimeout(50*time.Microsecond) == nil {
				wrong++
			}
			m.Unlock()
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
		stop = true
	}); err != nil {
		t.Error(err)
	}
	testrun.Shutdown(t)
	if wrong > 0 || waits == 0 {
		t.Errorf("%d wrong results, %d waits", wrong, waits)
	}
}
