package cosync_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/cosync"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
)

// TestCondStopped: a coroutine that is stopped in Wait locks L first. While the
// holder of L, which is not stopped, parks, that takes one wait, in which the
// thread does other things or nothing.
func TestCondStopped(t *testing.T) {
	var m cosync.Mutex
	var rw, ro rwmutex.RWMutex
	for _, kind := range []struct {
		name   string
		l      sync.Locker // of the Cond
		holder sync.Locker // of the coroutine that holds L
	}{
		{"Mutex", &m, &m},
		{"RWMutex", &rw, &rw},
		{"RLocker", ro.RLocker(), &ro},
	} {
		for _, bounded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/bounded=%t", kind.name, bounded), func(t *testing.T) {
				testrun.Start(t, 2)
				c := cosync.NewCond(kind.l)
				var held, inside, refused atomic.Bool
				var co atomic.Pointer[coroutine.Coroutine]
				victim, _ := netco.GoOn(0, func() {
					kind.l.Lock()
					defer kind.l.Unlock()
					defer func() {
						if held.Load() {
							t.Error("L is not locked")
						}
						inside.Store(true)
					}()
					co.Store(coroutine.Current())
					if bounded {
						refused.Store(errors.Is(c.WaitTimeout(time.Hour), netco.ErrShutdown))
					} else {
						c.Wait()
						t.Error("Wait returned")
					}
				})
				cosync.Await(c, 1)
				has, release := make(chan struct{}), channel.Make[int](0)
				holder, _ := netco.GoOn(0, func() {
					kind.holder.Lock()
					defer kind.holder.Unlock()
					held.Store(true)
					defer held.Store(false)
					close(has)
					release.Recv()
				})
				<-has
				victim.Stop()
				for v := co.Load(); v.State() != coroutine.Waiting || v.Reason() != coroutine.ReasonLock; {
					time.Sleep(time.Millisecond)
				}
				victim.Stop() // that makes no difference
				netco.GoOn(0, func() {})
				for range 20 {
					h, _ := netco.GoOn(0, func() {
						if v := co.Load(); v.State() != coroutine.Waiting || v.Reason() != coroutine.ReasonLock {
							t.Errorf("it does not just wait: %v, %v", v.State(), v.Reason())
						}
					})
					h.Join()
				}
				if victim.Done() {
					t.Error("it went past who held L")
				}
				release.Close()
				victim.Join()
				holder.Join()
				if !inside.Load() || refused.Load() != bounded {
					t.Errorf("inside: %t, refused: %t", inside.Load(), refused.Load())
				}
				kind.holder.Lock() // it is free
				kind.holder.Unlock()
			})
		}
	}
}

// TestStoppedErrors: the results of a stopped function, in its Future and its
// Group.
func TestStoppedErrors(t *testing.T) {
	testrun.Start(t, 2)
	f := cosync.Async(func() (int, error) {
		netco.Self().Handle().Stop()
		netco.Sleep(time.Hour)
		return 1, nil
	})
	if _, err := f.Get(); err != netco.ErrShutdown {
		t.Error(err)
	}
	var g cosync.Group
	g.Go(func() error {
		netco.Self().Handle().Stop()
		netco.Sleep(time.Hour)
		return nil
	})
	if err := g.Wait(); err != netco.ErrShutdown {
		t.Error(err)
	}
}
