package rwmutex

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

func within(lock func(*RWMutex, context.Context) error, m *RWMutex, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return lock(m, ctx)
}

// TestHammer uses one lock from goroutines and from coroutines on two
// Processors, where unlocks and bounds race; by the clock, and with chance in
// the place of the clock, so that there is a handoff every now and then. A lock
// that was got is not lost, and one that was given up is not held.
func TestHammer(t *testing.T) {
	for _, chance := range []bool{false, true} {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		if chance {
			choose = func(question) bool { return rand.IntN(4) == 0 }
		}
		hammer(t, seed)
		choose = nil
	}
}

func hammer(t *testing.T, seed uint64) {
	testrun.Start(t, 2)
	var m RWMutex
	var p pair
	var raised, had, missed atomic.Int64
	use := func(id int, pass func()) {
		r := rand.New(rand.NewPCG(seed, uint64(id)))
		for range rounds() / 2 {
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
	for i := range 4 {
		wg.Go(func() { use(i, func() { time.Sleep(time.Microsecond) }) })
	}
	for i := range 8 {
		wg.Add(1)
		testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			defer wg.Done()
			use(100+i, func() { netco.Sleep(20 * time.Microsecond) })
		}}))
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
