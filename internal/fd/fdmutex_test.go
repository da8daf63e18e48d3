package fd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/fd"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestFDMutexRules walks through what fdMutex promises to one caller.
func TestFDMutexRules(t *testing.T) {
	var m fd.FDMutex
	if !m.Lock(fd.Read) || !m.Lock(fd.Write) || !m.Use() {
		t.Fatal("a new mutex refuses")
	}
	testenv.True(t, !m.Unlock(fd.Read) && !m.Unuse(), "last user of an open fd")
	testenv.True(t, m.Lock(fd.Read), "the read lock was not free again")
	testenv.True(t, m.UnlockIfOpen(fd.Write) && m.Lock(fd.Write),
		"the write lock was not released, or not free again")
	if open, written := m.Close(); !open || !written {
		t.Error("close of an open fd with a writer:", open, written)
	}
	if open, _ := m.Close(); open {
		t.Error("close succeeds twice")
	}
	testenv.True(t, !m.UnlockIfOpen(fd.Write), "the write lock of a closed fd was released")
	testenv.True(t, !m.Lock(fd.Read) && !m.Lock(fd.Write) && !m.Use(), "a closed mutex was taken")
	testenv.True(t, !m.Unlock(fd.Write) && !m.Unlock(fd.Read), "last user before the closer")
	testenv.True(t, m.Unuse(), "the closer was the last user and was not told")
	testenv.True(t, m.Idle(), "not idle")
}

func TestFDMutexUnlockUnlocked(t *testing.T) {
	for _, prepare := range []func(*fd.FDMutex){
		func(m *fd.FDMutex) {},
		func(m *fd.FDMutex) { m.Lock(fd.Write) },
		func(m *fd.FDMutex) { m.Use() },
	} {
		var m fd.FDMutex
		prepare(&m)
		func() {
			defer func() { testenv.True(t, recover() != nil, "no panic") }()
			m.Unlock(fd.Read)
		}()
	}
}

// lockQueue holds m's read lock and starts n tasks that queue for it and then
// do got, if they get it, and unlock.
func lockQueue(t *testing.T, m *fd.FDMutex, n int, got func(i int)) (tasks []*testrun.Task) {
	t.Helper()
	m.Lock(fd.Read)
	for i := range n {
		k := testrun.Places[i%len(testrun.Places)].Go(func() {
			if m.Lock(fd.Read) {
				got(i)
				m.Unlock(fd.Read)
			}
		})
		k.UntilParked(t, coroutine.ReasonLock)
		tasks = append(tasks, k)
	}
	return tasks
}

// TestFDMutexFIFO: those queued get the lock in the order in which they came,
// coroutines and goroutines alike.
func TestFDMutexFIFO(t *testing.T) {
	testrun.Start(t, 2)
	var m fd.FDMutex
	var order []int // under the lock
	tasks := lockQueue(t, &m, 9, func(i int) { order = append(order, i) })
	m.Lock(fd.Write) // in no reader's way
	m.Unlock(fd.Write)
	m.Unlock(fd.Read)
	testrun.WaitAll(t, tasks...)
	testenv.Equal(t, fmt.Sprint(order), "[0 1 2 3 4 5 6 7 8]")
	testenv.Equal(t, m.Idle(), true, "idle")
}

// TestFDMutexHammer: locks, uses and a close from everywhere at random. At no
// time do two hold one lock; after the close all return, and exactly one is
// whose call was the last.
func TestFDMutexHammer(t *testing.T) {
	testrun.Start(t, 2)
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
		m       fd.FDMutex
		holders [2]atomic.Int32
		last    atomic.Int32
		running []*testrun.Task
	)
	freed := func(l bool) {
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
					if open, written := m.Close(); !open || !written && holders[1].Load() > 0 {
						t.Error("closed:", !open, "written:", written)
					}
					freed(m.Unuse())
				}
				if rnd.IntN(4) == 0 {
					if !m.Use() {
						return
					}
					if rnd.IntN(2) == 0 {
						netco.Yield()
					}
					freed(m.Unuse())
					continue
				}
				s, h := fd.Read, &holders[0]
				if rnd.IntN(2) == 0 {
					s, h = fd.Write, &holders[1]
				}
				if !m.Lock(s) {
					return
				}
				testenv.Equal(t, h.Add(1), 1)
				for range rnd.IntN(3) {
					netco.Yield()
				}
				h.Add(-1)
				if rnd.IntN(2) == 0 && m.UnlockIfOpen(s) {
					continue
				}
				freed(m.Unlock(s))
			}
		}))
	}
	testrun.WaitAll(t, running...)
	testenv.Equal(t, last.Load(), 1)
	testenv.True(t, m.Idle(), "not idle at the end")
	return !t.Failed()
}

// TestFDMutexForcedShutdown: coroutines that are made to leave the queue while
// others unlock and close. Goroutines in the same queue still get their turn.
func TestFDMutexForcedShutdown(t *testing.T) {
	for range 10 {
		testenv.OK(t, netco.Start(netco.Options{Processors: 2}))
		var m fd.FDMutex
		tasks := lockQueue(t, &m, 12, func(int) {})
		unlocked := testrun.Goroutine.Go(func() { m.Unlock(fd.Read) })
		force(t)
		testrun.WaitAll(t, append(tasks, unlocked)...)
		if !m.Idle() {
			t.Fatal("not idle at the end")
		}
	}
}

// force ends the default Scheduler without any patience.
func force(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// nil if draining was enough
	if err := netco.Shutdown(ctx); err != nil && err != context.Canceled {
		t.Errorf("Shutdown: %v", err)
	}
}
