package fd_test

import (
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

func TestMain(m *testing.M) { testenv.Main(m) }

// opened returns a Mutex of an open fd.
func opened() *fd.Mutex {
	m := new(fd.Mutex)
	m.Open()
	return m
}

// unused closes m and checks that nothing has held or used it.
func unused(t *testing.T, m *fd.Mutex) {
	t.Helper()
	users, written := m.Close()
	testenv.True(t, users == 1 && !written && m.Unuse(), "%d users, written: %v", users, written)
}

// TestFDMutexRules walks through what Mutex promises to one caller.
func TestFDMutexRules(t *testing.T) {
	m := opened()
	if !m.Lock(fd.Read) || !m.Lock(fd.Write) || !m.Use() {
		t.Fatal("a new mutex refuses")
	}
	testenv.True(t, !m.Unlock(fd.Read) && !m.Unuse(), "last user of an open fd")
	testenv.True(t, m.Lock(fd.Read), "the read lock was not free again")
	testenv.True(t, m.UnlockIfOpen(fd.Write) && m.Lock(fd.Write),
		"the write lock was not released, or not free again")
	if users, written := m.Close(); users != 3 || !written {
		t.Error("close of an open fd with two holders:", users, written)
	}
	if users, _ := m.Close(); users > 0 {
		t.Error("close succeeds twice")
	}
	testenv.True(t, !m.UnlockIfOpen(fd.Write), "the write lock of a closed fd was released")
	testenv.True(t, !m.Lock(fd.Read) && !m.Lock(fd.Write) && !m.Use(), "a closed mutex was taken")
	testenv.True(t, !m.Unlock(fd.Write) && !m.Unlock(fd.Read), "last user before the closer")
	testenv.True(t, m.Unuse(), "the closer was the last user and was not told")
}

func TestFDMutexUnlockUnlocked(t *testing.T) {
	for _, prepare := range []func(*fd.Mutex){
		func(m *fd.Mutex) {},
		func(m *fd.Mutex) { m.Lock(fd.Write) },
		func(m *fd.Mutex) { m.Use() },
	} {
		m := opened()
		prepare(m)
		func() {
			defer func() { testenv.True(t, recover() != nil, "no panic") }()
			m.Unlock(fd.Read)
		}()
	}
}

// lockQueue holds m's read lock and starts n tasks that queue for it and then
// do got, if they get it, and unlock.
func lockQueue(t *testing.T, m *fd.Mutex, n int, got func(i int)) (tasks []*testrun.Task) {
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
	m := opened()
	var order []int // under the lock
	tasks := lockQueue(t, m, 9, func(i int) { order = append(order, i) })
	m.Lock(fd.Write) // in no reader's way
	m.Unlock(fd.Write)
	m.Unlock(fd.Read)
	testrun.WaitAll(t, tasks...)
	testenv.Equal(t, fmt.Sprint(order), "[0 1 2 3 4 5 6 7 8]")
	unused(t, m)
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
		m       = opened()
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
					users, written := m.Close()
					if users == 0 || !written && holders[1].Load() > 0 {
						t.Error("users:", users, "written:", written)
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
	return !t.Failed()
}
