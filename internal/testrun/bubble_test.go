package testrun_test

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
	for _, c := range waits {
		if isOneOf(c.odd, "ends there starts clock") {
			continue // it needs a Scheduler or what is outside, or is above
		}
		t.Run(c.name, func(t *testing.T) {
			bubbles(t, func(t *testing.T) {
				s := c.make(t)
				if s.timeout != nil {
					takes(t, time.Minute, func() {
						testenv.Equal(t, s.timeout(time.Minute), os.ErrDeadlineExceeded)
					})
				}
				time.AfterFunc(time.Hour, s.release)
				takes(t, time.Hour, func() { testenv.NoError(t, s.wait()) })
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
		var rw sync.RWMutex
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
