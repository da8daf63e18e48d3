package sync_test

import (
	"context"
	"fmt"
	"slices"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

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
