package sync_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
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

// TestMutexFIFO: coroutines and goroutines are served in the order of arrival,
// without those that have given up.
func TestMutexFIFO(t *testing.T) {
	testrun.Start(t, 2)
	var m sync.Mutex
	var order, want []int
	var wg stdsync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	left := make(chan int, 30)
	m.Lock()
	for i := range 30 {
		wg.Add(1)
		run := func() {
			defer wg.Done()
			if i%5 == 4 {
				testenv.Fails(t, m.LockContext(ctx), context.Canceled, "LockContext")
				left <- i
				return
			}
			m.Lock()
			order = append(order, i)
			m.Unlock()
		}
		if i%3 == 2 {
			go run()
		} else {
			netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 3), Fn: run})
		}
		if i%5 != 4 {
			want = append(want, i)
		}
		sync.Await(&m, i+1)
	}
	cancel()
	for range 6 {
		<-left
	}
	m.Unlock()
	wg.Wait()
	if !slices.Equal(order, want) {
		t.Errorf("served in order %v", order)
	}
	if !m.AsNew() {
		t.Error("not as new")
	}
}

// TestMutexWaitIsBounded: one that locks and unlocks all the time, and never
// gives up its thread, cannot keep out for ever one on another thread, nor one
// on another thread behind one on its own.
func TestMutexWaitIsBounded(t *testing.T) {
	for _, behind := range []bool{false, true} {
		t.Run(fmt.Sprintf("behind=%t", behind), func(t *testing.T) {
			testrun.Start(t, 2)
			var m sync.Mutex
			var got atomic.Bool
			m.Lock()
			if behind {
				netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
					m.Lock()
					m.Unlock()
				}})
				sync.Await(&m, 1)
			}
			ahead := m.Waiting()
			netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: func() {
				m.Lock()
				got.Store(true)
				m.Unlock()
			}})
			sync.Await(&m, ahead+1)
			testrun.In(t, 0, func() {
				m.Unlock()
				for !got.Load() {
					m.Lock()
					m.Unlock()
				}
			})
		})
	}
}

// TestMutexStarved: a waiter that wakes to a locked mutex again and again is
// handed it after a while, past running callers.
func TestMutexStarved(t *testing.T) {
	testrun.Start(t, 2)
	var m sync.Mutex
	for handedOff := false; !handedOff; {
		m.Lock()
		turn := make(chan struct{}, 1)
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(1), Fn: func() {
			m.Lock()
			turn <- struct{}{}
			m.Unlock()
		}})
		sync.Await(&m, 1)
		for len(turn) == 0 {
			m.Unlock()
			m.Lock()
			for m.Waiting() == 0 && len(turn) == 0 { // until it has woken to the locked mutex
			}
			if m.Handoff() {
				handedOff = true
				m.Unlock()
				m.Lock()
				if len(turn) == 0 {
					t.Error("it was passed once more")
				}
			}
		}
		m.Unlock()
	}
}

// TestMutexHeldOverYield: of the coroutines of one Processor that hold the
// mutex while they yield none is passed again and again.
func TestMutexHeldOverYield(t *testing.T) {
	testrun.Start(t, 2)
	var m sync.Mutex
	var order []int
	netco.Run(func() {
		for who := range 4 {
			netco.GoWith(netco.Spawn{Local: true, Fn: func() {
				for range 100 {
					m.Lock()
					order = append(order, who)
					netco.Yield()
					m.Unlock()
				}
			}})
		}
	})
	longest, run := 0, 0
	for i := range order[:len(order)*3/4] { // at the end the last one is alone
		if i > 0 && order[i] == order[i-1] {
			run++
		} else {
			run = 1
		}
		longest = max(longest, run)
	}
	if longest > 4 {
		t.Errorf("one was served %d times in a row", longest)
	}
}

// TestHoldersHammer reads which coroutines hold the locks that others wait for,
// while these change hands: each is one of those that lock. In builds without
// the race detector none is known.
func TestHoldersHammer(t *testing.T) {
	for name, l := range map[string]stdsync.Locker{
		"Mutex": new(sync.Mutex), "RWMutex": new(rwmutex.RWMutex),
	} {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, 2)
			var over atomic.Bool
			var ids stdsync.Map
			read := make(chan map[uint64]bool)
			go func() { read <- holdersUntil(&over) }()
			crowd(t, 9, func(int) {
				if co := coroutine.Current(); co != nil {
					ids.Store(co.ID(), true)
				}
				for range testenv.Rounds(4000) {
					l.Lock()
					netco.Yield()
					l.Unlock()
				}
			})
			over.Store(true)
			for id := range testenv.Await(t, read, "the reader") {
				if _, ok := ids.Load(id); !ok {
					t.Errorf("%d holds it", id)
				}
			}
		})
	}
}

// holdersUntil returns the ids of all that hold a lock that others wait for.
func holdersUntil(over *atomic.Bool) map[uint64]bool {
	seen := map[uint64]bool{}
	for !over.Load() {
		coroutine.Range(func(i coroutine.Info) bool {
			if held := i.Held(); held.By != 0 {
				seen[held.By] = true
			}
			return true
		})
	}
	return seen
}
