package sync_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestCondShutdown: a forced shutdown unwinds waiters with L locked, so that
// their deferred Unlock is in order, also when another coroutine of the same
// thread has parked while it held L.
func TestCondShutdown(t *testing.T) {
	for _, kind := range lockKinds[:3] {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/held=%t", kind.name, held), func(t *testing.T) {
				testrun.Start(t, 2)
				l := kind.make()
				c := sync.NewCond(l)
				var unwound, refused, inside atomic.Int32
				for i := range 10 {
					netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
						defer unwound.Add(1)
						l.Lock()
						defer l.Unlock()
						defer func() { inside.Add(1) }()
						if i%4 < 2 {
							c.Wait()
							t.Error("Wait returned")
						}
						if err := c.WaitTimeout(time.Hour); errors.Is(err, netco.ErrShutdown) {
							refused.Add(1)
						} else {
							t.Errorf("WaitTimeout: %v", err)
						}
					}})
				}
				sync.Await(c, 10)
				if held {
					has := make(chan struct{})
					netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
						l.Lock()
						defer l.Unlock()
						defer func() {
							if n := inside.Load(); n != 0 && kind.name != "RLocker" {
								t.Errorf("%d went past the holder of L", n)
							}
						}()
						close(has)
						netco.Sleep(time.Hour)
					}})
					<-has
				}
				testrun.ShutdownByForce(t)
				if _, can := l.(interface{ LockTimeout(time.Duration) error }); can &&
					refused.Load() != 4 {
					t.Errorf("%d refused", refused.Load())
				}
				if unwound.Load() != 10 || inside.Load() != 10 {
					t.Errorf("%d unwound, inside %d", unwound.Load(), inside.Load())
				}
				l.Lock() // it is free
				l.Unlock()
				if !c.AsNew() {
					t.Error("not as new")
				}
			})
		}
	}
}

// TestCondMisuse: Wait with an L that is not locked panics as L does, and
// leaves nothing behind.
func TestCondMisuse(t *testing.T) {
	testrun.Start(t, 2)
	crowd(t, 3, func(int) {
		var m sync.Mutex
		c := sync.NewCond(&m)
		testenv.Equal(t, panics(c.Wait), "sync: Unlock of unlocked Mutex", "panic with")
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
		testenv.Equal(t, panics(c.Wait), "bad", "panic with")
		<-woken
	})
}
