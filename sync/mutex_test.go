package sync_test

import (
	"fmt"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

func TestMutexMisuse(t *testing.T) {
	const want = "sync: Unlock of unlocked Mutex"
	var m sync.Mutex
	for range 2 {
		testenv.Equal(t, testenv.PanicOf(m.Unlock), want, "panic with")
		if !m.AsNew() {
			t.Error("it has changed the mutex")
		}
		m.Lock()
		m.Unlock()
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
		"Mutex": new(sync.Mutex), "RWMutex": new(sync.RWMutex),
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
