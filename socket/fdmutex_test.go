package socket_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestFDMutexRules walks through what fdMutex promises to one caller.
func TestFDMutexRules(t *testing.T) {
	var m socket.FDMutex
	if !m.Lock(socket.Reading) || !m.Lock(socket.Writing) || !m.Use() {
		t.Fatal("a new mutex refuses")
	}
	if m.Unlock(socket.Reading) || m.Unuse() {
		t.Error("last user of an open fd")
	}
	if !m.Lock(socket.Reading) {
		t.Error("the read lock was not free again")
	}
	if !m.Close() || m.Close() {
		t.Error("close succeeds exactly once")
	}
	if m.Lock(socket.Reading) || m.Lock(socket.Writing) || m.Use() {
		t.Error("a closed mutex was taken")
	}
	if m.Unlock(socket.Writing) || m.Unlock(socket.Reading) {
		t.Error("last user before the closer")
	}
	if !m.Unuse() {
		t.Error("the closer was the last user and was not told")
	}
	if !m.Idle() {
		t.Error("not idle")
	}
}

func TestFDMutexUnlockUnlocked(t *testing.T) {
	for _, prepare := range []func(*socket.FDMutex){
		func(m *socket.FDMutex) {},
		func(m *socket.FDMutex) { m.Lock(socket.Writing) },
		func(m *socket.FDMutex) { m.Use() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var m socket.FDMutex
			prepare(&m)
			m.Unlock(socket.Reading)
		}()
	}
}

// TestFDMutexFIFO: those queued get the lock in the order in which they came,
// coroutines and goroutines alike.
func TestFDMutexFIFO(t *testing.T) {
	start(t, 2)
	var m socket.FDMutex
	m.Lock(socket.Reading)
	var (
		mu    sync.Mutex
		order []int
		tasks []*testrun.Task
	)
	for i := range 9 {
		k := testrun.Places[i%len(testrun.Places)].Go(func() {
			if !m.Lock(socket.Reading) {
				t.Error("closed")
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			m.Unlock(socket.Reading)
		})
		k.UntilParked(t, coroutine.ReasonLock)
		tasks = append(tasks, k)
	}
	m.Lock(socket.Writing) // in nobody's way
	m.Unlock(socket.Writing)
	m.Unlock(socket.Reading)
	testrun.WaitAll(t, tasks...)
	for i, n := range order {
		if i != n {
			t.Errorf("order %v", order)
			break
		}
	}
	if !m.Idle() {
		t.Error("not idle")
	}
}

// TestFDMutexHammer: locks, uses and a close from everywhere at random. At no
// time do two hold one lock; after the close all return, and exactly one is
// told that it was the last.
func TestFDMutexHammer(t *testing.T) {
	start(t, 2)
	for range 20 {
		seed := rand.Uint64()
		if !hammerFDMutex(t, seed) {
			t.Fatalf("seed %d", seed)
		}
	}
}

func hammerFDMutex(t *testing.T, seed uint64) bool {
	const tasks, rounds = 12, 300
	var (
		m       socket.FDMutex
		holders [2]atomic.Int32
		last    atomic.Int32
		running []*testrun.Task
	)
	told := func(l bool) {
		if l {
			last.Add(1)
		}
	}
	closer := rand.New(rand.NewPCG(seed, 0)).IntN(tasks)
	for i := range tasks {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		running = append(running, testrun.Places[i%len(testrun.Places)].Go(func() {
			for round := range rounds {
				if i == closer && round == rounds/2 {
					if !m.Close() {
						t.Error("closed by another")
					}
					told(m.Unuse())
				}
				if rnd.IntN(4) == 0 {
					if !m.Use() {
						return
					}
					if rnd.IntN(2) == 0 {
						netco.Yield()
					}
					told(m.Unuse())
					continue
				}
				s, h := socket.Reading, &holders[0]
				if rnd.IntN(2) == 0 {
					s, h = socket.Writing, &holders[1]
				}
				if !m.Lock(s) {
					return
				}
				if n := h.Add(1); n != 1 {
					t.Errorf("%d hold a lock", n)
				}
				for range rnd.IntN(3) {
					netco.Yield()
				}
				h.Add(-1)
				told(m.Unlock(s))
			}
		}))
	}
	testrun.WaitAll(t, running...)
	if n := last.Load(); n != 1 {
		t.Errorf("%d were told that they were the last", n)
	}
	if !m.Idle() {
		t.Error("not idle at the end")
	}
	return !t.Failed()
}

// TestFDMutexForcedShutdown: coroutines that are made to leave the queue while
// others unlock and close. Goroutines in the same queue still get their turn.
func TestFDMutexForcedShutdown(t *testing.T) {
	for range 10 {
		startAlone(t, 2)
		var m socket.FDMutex
		m.Lock(socket.Reading)
		var tasks []*testrun.Task
		for i := range 12 {
			k := testrun.Places[i%len(testrun.Places)].Go(func() {
				if m.Lock(socket.Reading) {
					m.Unlock(socket.Reading)
				}
			})
			k.UntilParked(t, coroutine.ReasonLock)
			tasks = append(tasks, k)
		}
		unlocked := make(chan struct{})
		go func() {
			defer close(unlocked)
			m.Unlock(socket.Reading)
		}()
		force(t)
		<-unlocked
		testrun.WaitAll(t, tasks...)
		if !m.Idle() {
			t.Fatal("not idle at the end")
		}
	}
}
