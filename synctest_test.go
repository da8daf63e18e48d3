package netco_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/errgroup"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/waitq"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/sync"
)

// takes fails unless f, in a bubble, takes d by its clock.
func takes(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if took := time.Since(began); took != d {
		t.Errorf("it took %v, want %v", took, d)
	}
}

// bubbleWait is a wait of goroutines among themselves: with a bound, and
// without one, which end ends.
type bubbleWait struct {
	bounded   func(time.Duration) error
	end, wait func()
}

var bubbleWaits = map[string]func(t *testing.T) bubbleWait{
	"sync.Mutex": func(t *testing.T) bubbleWait {
		var m sync.Mutex
		m.Lock()
		return bubbleWait{m.LockTimeout, m.Unlock, m.Lock}
	},
	"RWMutex, reading": func(t *testing.T) bubbleWait {
		var m rwmutex.RWMutex
		m.Lock()
		return bubbleWait{m.RLockTimeout, m.Unlock, m.RLock}
	},
	"RWMutex": func(t *testing.T) bubbleWait {
		var m rwmutex.RWMutex
		m.RLock()
		return bubbleWait{m.LockTimeout, m.RUnlock, m.Lock}
	},
	"Cond": func(t *testing.T) bubbleWait {
		var m sync.Mutex
		c := sync.NewCond(&m)
		m.Lock()
		return bubbleWait{c.WaitTimeout, c.Broadcast, c.Wait}
	},
	"Semaphore": func(t *testing.T) bubbleWait {
		s := sync.NewSemaphore(1)
		s.Acquire(1)
		return bubbleWait{func(d time.Duration) error { return s.AcquireTimeout(1, d) },
			func() { s.Release(1) }, func() { s.Acquire(1) }}
	},
	"WaitGroup": func(t *testing.T) bubbleWait {
		var wg sync.WaitGroup
		wg.Add(1)
		return bubbleWait{wg.WaitTimeout, wg.Done, wg.Wait}
	},
	"Future": func(t *testing.T) bubbleWait {
		f := sync.NewFuture[int]()
		return bubbleWait{func(d time.Duration) error { return testenv.Err(f.GetTimeout(d)) },
			func() { f.Set(1) }, func() { f.Get() }}
	},
	"Chan": func(t *testing.T) bubbleWait {
		c := channel.Make[int](0)
		return bubbleWait{func(d time.Duration) error { return c.SendTimeout(1, d) },
			func() { c.Send(2) }, func() {
				v, _ := c.Recv()
				testenv.Equal(t, v, 2, "received")
			}}
	},
	"Select": func(t *testing.T) bubbleWait {
		a, b := channel.Make[int](0), channel.Make[int](0)
		var v int
		return bubbleWait{func(d time.Duration) error {
			return testenv.Err(channel.SelectTimeout(d, a.RecvCase(&v), b.RecvCase(&v)))
		}, func() { b.Send(3) }, func() {
			i, _ := channel.Select(a.RecvCase(&v), b.RecvCase(&v))
			testenv.Equal(t, [2]int{i, v}, [2]int{1, 3}, "the case and its value")
		}}
	},
}

// bubbleTimes are what is done with times, and with the clock of a bubble.
var bubbleTimes = map[string]func(t *testing.T){
	"Context": func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		takes(t, time.Hour, func() { sync.Wait(ctx) })
	},
	"Bridge": func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c := channel.Make[int](0)
		out := channel.ToGo(ctx, c)
		time.AfterFunc(time.Hour, func() { c.Send(4) })
		takes(t, time.Hour, func() { <-out })
		cancel()
		<-out // its goroutine has ended
	},
	"Timer": func(t *testing.T) {
		at := time.Now().Add(time.Hour)
		takes(t, time.Hour, func() {
			if v, _ := netco.NewTimer(time.Hour).C.Recv(); !v.Equal(at) {
				t.Errorf("it gave %v, want %v", v, at)
			}
		})
		k := netco.NewTicker(time.Minute)
		takes(t, 3*time.Minute, func() {
			for range 3 {
				k.C.Recv()
			}
		})
	},
	"AfterFunc": func(t *testing.T) {
		c := channel.Make[bool](0)
		netco.AfterFunc(time.Hour, func() { c.Send(true) })
		takes(t, time.Hour, func() { c.Recv() })
		never := netco.AfterFunc(time.Hour, func() { t.Error("called") })
		testenv.Equal(t, never.Stop(), true, "Stop")
	},
	"Sleep": func(t *testing.T) {
		takes(t, time.Hour, func() { netco.Sleep(time.Hour) })
		takes(t, 0, netco.Yield)
	},
}

// TestBubble: what goroutines of a bubble of testing/synctest do among
// themselves works there by its clock, in one bubble after the other, and
// leaves nothing of a bubble for others. The channels of waits were pooled over
// all bubbles ("receive on synctest channel from outside bubble"), and one made
// outside kept the bubble's clock from going on.
func TestBubble(t *testing.T) {
	for name, in := range bubbleTimes {
		t.Run(name, func(t *testing.T) { bubbles(t, in) })
	}
	for name, of := range bubbleWaits {
		t.Run(name, func(t *testing.T) {
			bubbles(t, func(t *testing.T) {
				w := of(t)
				takes(t, time.Minute, func() {
					testenv.Fails(t, w.bounded(time.Minute), os.ErrDeadlineExceeded)
				})
				time.AfterFunc(time.Hour, w.end)
				takes(t, time.Hour, w.wait)
			})
		})
	}
}

// bubbles runs f in two bubbles, between waits that leave a waiter in the pool,
// or take one from there.
func bubbles(t *testing.T, f func(t *testing.T)) {
	c := channel.Make[int](0)
	outside := func() { c.RecvTimeout(time.Nanosecond) }
	outside()
	for range 2 {
		synctest.Test(t, f)
		outside()
	}
}

// TestBubbleSpins: what is due in a few instructions is not waited for by the
// bubble's clock. A sleep in a spin let synctest.Wait take the one that spins
// for waiting.
func TestBubbleSpins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { takes(t, 0, func() { waitq.Relax(1000) }) })
}

// TestBubbleHolds: many goroutines of a bubble that contend for locks while its
// clock, by which these know which waiter starves, stands still.
func TestBubbleHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m sync.Mutex
		var rw rwmutex.RWMutex
		var n atomic.Int32
		const goroutines, rounds = 8, 200
		takes(t, 0, func() {
			for range goroutines {
				go func() {
					for range rounds {
						m.Lock()
						rw.Lock()
						n.Add(1)
						rw.Unlock()
						m.Unlock()
						rw.RLock()
						n.Load()
						rw.RUnlock()
					}
				}()
			}
			synctest.Wait()
		})
		testenv.Equal(t, n.Load(), goroutines*rounds, "done when all waited")
	})
}

// TestBubbleRefuses: a Scheduler is not started in a bubble, whose its threads
// and its watchdog would be, and one that runs outside takes nothing from there
// and is not waited for.
func TestBubbleRefuses(t *testing.T) {
	refused := func(t *testing.T, what string, err error) {
		t.Helper()
		testenv.Fails(t, err, netco.ErrBubble, what)
	}
	all := func(t *testing.T) {
		_, err := netco.Go(func() { t.Error("it runs") })
		refused(t, "Go", err)
		_, err = netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
			t.Error("it runs")
		}})
		refused(t, "GoWith", err)
		refused(t, "Run", netco.Run(func() { t.Error("it runs") }))
		var g errgroup.Group
		g.Go(func() error { return nil })
		if err := g.Wait(); err != nil { // it was on a goroutine
			t.Errorf("errgroup: %v", err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		all(t)
		refused(t, "Start", netco.Start(netco.Options{}))
		refused(t, "EventLoop", netco.EventLoop(netco.Options{}, func() bool { return false }))
		s := testenv.Must(scheduler.New(netco.Options{}))
		refused(t, "Scheduler.Start", s.Start())
	})
	// Also: the refusals have left nothing.
	testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
	defer netco.Shutdown(context.Background())
	done := channel.Make[bool](0)
	h := testenv.Must(netco.Go(func() { done.Recv() }))
	synctest.Test(t, func(t *testing.T) {
		all(t)
		refused(t, "Join", h.Join())
		refused(t, "Shutdown", netco.Shutdown(context.Background()))
		done.Close() // a coroutine may be woken from there
	})
	testenv.NoError(t, h.Join())
}
