package sync_test

import (
	"math/rand/v2"
	"slices"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/sync"
)

// lockKinds are what L may be.
var lockKinds = []struct {
	name string
	make func() stdsync.Locker
}{
	{"Mutex", func() stdsync.Locker { return new(sync.Mutex) }},
	{"RWMutex", func() stdsync.Locker { return new(rwmutex.RWMutex) }},
	{"RLocker", func() stdsync.Locker { return new(rwmutex.RWMutex).RLocker() }},
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

// TestCondSignalNotLost: a Signal that meets the end of the front's wait goes
// to that waiter, whose wait then has no error, or to the one behind it, which
// would wait for ever otherwise.
func TestCondSignalNotLost(t *testing.T) {
	testrun.Start(t, 2)
	var m sync.Mutex
	c := sync.NewCond(&m)
	signalled := 0
	for i := range testenv.Rounds(1000) {
		front, behind := make(chan error, 1), make(chan error, 1)
		waits := make(chan struct{})
		m.Lock()
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			m.Lock()
			defer m.Unlock()
			front <- c.WaitTimeout(time.Duration(1+rand.IntN(60)) * time.Microsecond)
		}})
		sync.Await(&m, 1)
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(rand.IntN(2)), Fn: func() {
			m.Lock()
			defer m.Unlock()
			close(waits)
			c.Wait()
			behind <- nil
		}})
		sync.Await(&m, 2)
		m.Unlock()
		<-waits
		m.Lock() // so the one behind is in Wait
		m.Unlock()
		c.Signal()
		if <-front == nil {
			signalled++
			c.Signal()
		}
		<-behind
		if !c.AsNew() {
			t.Fatal("not as new")
		}
	}
	t.Logf("%d of %d were signalled in time", signalled, testenv.Rounds(1000))
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
