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
		testenv.True(t, testenv.PanicOf(func() { m.Unlock(fd.Read) }) != nil, "no panic")
	}
}

// TestFDMutexFIFO: those queued get the lock in the order in which they came,
// coroutines and goroutines alike.
func TestFDMutexFIFO(t *testing.T) {
	testrun.Start(t, 2)
	m := opened()
	var order []int // under the lock
	var tasks []*testrun.Task
	m.Lock(fd.Read)
	for i := range 9 {
		k := testrun.Places[i%len(testrun.Places)].Go(func() {
			if m.Lock(fd.Read) {
				order = append(order, i)
				m.Unlock(fd.Read)
			}
		})
		k.UntilParked(t, coroutine.ReasonLock)
		tasks = append(tasks, k)
	}
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
		m := opened()
		var holders [2]atomic.Int32
		var last atomic.Int32
		freed := func(l bool) {
			if l {
				last.Add(1)
			}
		}
		use := func() bool {
			mode := fd.Mode(rand.IntN(2))
			if !m.Lock(mode) {
				return false
			}
			testenv.Equal(t, holders[mode].Add(1), 1)
			for range rand.IntN(3) {
				netco.Yield()
			}
			holders[mode].Add(-1)
			if rand.IntN(2) == 0 || !m.UnlockIfOpen(mode) {
				freed(m.Unlock(mode))
			}
			ok := m.Use()
			if ok {
				freed(m.Unuse())
			}
			return ok
		}
		var running []*testrun.Task
		for i := range 12 {
			running = append(running, testrun.Places[i%len(testrun.Places)].Go(func() {
				for n := 0; n < 150 && use(); n++ {
				}
				if users, _ := m.Close(); users > 0 { // for the first
					freed(m.Unuse())
				}
			}))
		}
		testrun.WaitAll(t, running...)
		testenv.Equal(t, last.Load(), 1)
	}
}
