package sync_test

import (
	"errors"
	"fmt"
	"slices"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// lockKinds are what L may be.
var lockKinds = []struct {
	name string
	make func() stdsync.Locker
}{
	{"Mutex", func() stdsync.Locker { return new(sync.Mutex) }},
	{"RWMutex", func() stdsync.Locker { return new(sync.RWMutex) }},
	{"RLocker", func() stdsync.Locker { return new(sync.RWMutex).RLocker() }},
	{"sync.Mutex", func() stdsync.Locker { return new(stdsync.Mutex) }},
}

// TestCondSignal: as many waiters as are signalled continue, in the order of
// arrival, with L locked.
func TestCondSignal(t *testing.T) {
	for _, kind := range lockKinds {
		t.Run(kind.name, func(t *testing.T) {
			testrun.Start(t, 2)
			c := sync.NewCond(kind.make())
			served := make(chan int, 12)
			for i := range 12 {
				who := func() {
					c.L.Lock()
					defer c.L.Unlock() // panics if Wait has not locked it
					c.Wait()
					served <- i
				}
				if i%3 == 2 {
					go who()
				} else {
					netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 3), Fn: who})
				}
				sync.Await(c, i+1)
			}
			c.L.Lock() // no other holder is in between
			c.L.Unlock()
			for i := range 8 {
				c.Signal()
				testenv.Equal(t, <-served, i, "signal", "woke")
				testenv.Equal(t, c.Waiting(), 11-i, "wait")
			}
			c.Broadcast()
			var rest []int
			for range 4 {
				rest = append(rest, <-served)
			}
			slices.Sort(rest)
			if !slices.Equal(rest, []int{8, 9, 10, 11}) {
				t.Error(rest)
			}
			c.Signal() // without a waiter: it is not kept
			c.Broadcast()
			if !c.AsNew() {
				t.Error("not as new")
			}
		})
	}
}

// TestCondQueue: a bounded queue between producers and consumers, with one Cond
// for either end.
func TestCondQueue(t *testing.T) {
	for _, kind := range lockKinds {
		if kind.name == "RLocker" || kind.name == "sync.Mutex" {
			continue // the first excludes no other; the second blocks Processors
		}
		t.Run(kind.name, func(t *testing.T) {
			testrun.Start(t, 2)
			l := kind.make()
			notEmpty, notFull := sync.NewCond(l), sync.NewCond(l)
			var items []int
			var sum atomic.Int64
			each := testenv.Rounds(3000)
			crowd(t, 12, func(who int) {
				for i := range each {
					l.Lock()
					if who%2 == 0 {
						for len(items) == 4 {
							if who%4 == 0 {
								notFull.Wait()
							} else {
								notFull.WaitTimeout(20 * time.Microsecond)
							}
						}
						items = append(items, i)
						notEmpty.Signal()
					} else {
						for len(items) == 0 {
							if who%4 == 1 {
								notEmpty.Wait()
							} else {
								notEmpty.WaitTimeout(20 * time.Microsecond)
							}
						}
						sum.Add(int64(items[0]))
						items = items[1:]
						notFull.Signal()
					}
					l.Unlock()
				}
			})
			if want := int64(each) * int64(each-1) / 2 * 6; sum.Load() != want || len(items) != 0 {
				t.Errorf("sum %d, want %d, %d left", sum.Load(), want, len(items))
			}
		})
	}
}

// TestCondMisuse: Wait with an L that is not locked panics as L does, and
// leaves nothing behind.
func TestCondMisuse(t *testing.T) {
	testrun.Start(t, 2)
	crowd(t, 3, func(int) {
		var m sync.Mutex
		c := sync.NewCond(&m)
		testenv.Equal(t, testenv.PanicOf(c.Wait), "sync: Unlock of unlocked Mutex", "panic with")
		if !c.AsNew() {
			t.Error("not as new")
		}
		m.Lock()
		if err := m.LockTimeout(1); err == nil { // its waiter is as good as new
			t.Error("locked twice")
		}
	})
}

// badLock is an L whose Unlock does something and then panics.
type badLock struct {
	sync.Mutex
	before func()
}

func (l *badLock) Unlock() {
	l.before()
	panic("bad")
}

// TestCondPassesOn: a Signal for a waiter whose Wait panics goes to the next
// one.
func TestCondPassesOn(t *testing.T) {
	testrun.Start(t, 2)
	crowd(t, 3, func(int) {
		c := sync.NewCond(nil)
		woken := make(chan struct{})
		l := &badLock{before: func() {
			c.L = new(sync.Mutex)
			go func() {
				c.L.Lock()
				c.Wait()
				close(woken)
			}()
			sync.Await(c, 2)
			c.Signal()
		}}
		c.L = l
		l.Lock()
		testenv.Equal(t, testenv.PanicOf(c.Wait), "bad", "panic with")
		<-woken
	})
}

// TestCondStopped: a coroutine that is stopped in Wait locks L first. While the
// holder of L, which is not stopped, parks, that takes one wait, in which the
// thread does other things or nothing.
func TestCondStopped(t *testing.T) {
	var m sync.Mutex
	var rw, ro sync.RWMutex
	for _, kind := range []struct {
		name      string
		l, holder stdsync.Locker // the Cond's, and the same lock, to hold it
	}{
		{"Mutex", &m, &m},
		{"RWMutex", &rw, &rw},
		{"RLocker", ro.RLocker(), &ro},
	} {
		for _, bounded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/bounded=%t", kind.name, bounded), func(t *testing.T) {
				testrun.Start(t, 2)
				stopInWait(t, kind.l, kind.holder, bounded)
			})
		}
	}
}

func stopInWait(t *testing.T, l, holder stdsync.Locker, bounded bool) {
	c, over := sync.NewCond(l), channel.Make[int](0)
	var held atomic.Bool
	var err error
	returned := false
	victim := testrun.First.Park(t, coroutine.ReasonCond, func() {
		l.Lock()
		defer l.Unlock()
		defer func() { testenv.Equal(t, held.Load(), false, "L is another's") }()
		if bounded {
			err = c.WaitTimeout(time.Hour)
		} else {
			c.Wait()
		}
		returned = true
	})
	other := testrun.First.Park(t, coroutine.ReasonChannel, func() {
		holder.Lock()
		defer holder.Unlock()
		held.Store(true)
		defer held.Store(false)
		over.Recv()
	})
	for range 2 { // the second is without effect
		victim.Co.Handle().Stop()
		victim.UntilParked(t, coroutine.ReasonLock)
	}
	for range 20 {
		testrun.In(t, 0, func() {
			testenv.Equal(t, victim.Parked(coroutine.ReasonLock), true, "the victim just waits")
		})
	}
	over.Close()
	testrun.WaitAll(t, victim, other)
	if returned != bounded || bounded && !errors.Is(err, netco.ErrShutdown) {
		t.Errorf("returned: %t, %v", returned, err)
	}
	holder.Lock() // it is free
	holder.Unlock()
}

// TestStoppedError: the result of a stopped function, in its Future.
func TestStoppedError(t *testing.T) {
	testrun.Start(t, 2)
	f := sync.Async(func() (int, error) {
		netco.Self().Stop()
		netco.Sleep(time.Hour)
		return 1, nil
	})
	testenv.Equal(t, testenv.Err(f.Get()), netco.ErrShutdown)
}
