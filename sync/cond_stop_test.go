package sync_test

import (
	"errors"
	"fmt"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/sync"
)

// TestCondStopped: a coroutine that is stopped in Wait locks L first. While the
// holder of L, which is not stopped, parks, that takes one wait, in which the
// thread does other things or nothing.
func TestCondStopped(t *testing.T) {
	var m sync.Mutex
	var rw, ro rwmutex.RWMutex
	for _, kind := range []stopKind{
		{"Mutex", &m, &m},
		{"RWMutex", &rw, &rw},
		{"RLocker", ro.RLocker(), &ro},
	} {
		for _, bounded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/bounded=%t", kind.name, bounded), func(t *testing.T) {
				testrun.Start(t, 2)
				kind.run(t, bounded)
			})
		}
	}
}

// stopKind is a kind of L.
type stopKind struct {
	name   string
	l      stdsync.Locker // of the Cond
	holder stdsync.Locker // the same lock, to hold it
}

func (k *stopKind) run(t *testing.T, bounded bool) {
	c := sync.NewCond(k.l)
	var held, inside, refused atomic.Bool
	var co atomic.Pointer[coroutine.Coroutine]
	victim, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		k.l.Lock()
		defer k.l.Unlock()
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
	}})
	sync.Await(c, 1)
	release := k.hold(&held)
	victim.Stop()
	testenv.Until(t, "the victim to wait for L", func() bool { return waitsForLock(co.Load()) })
	victim.Stop() // without effect
	for range 20 {
		testrun.In(t, 0, func() {
			if !waitsForLock(co.Load()) {
				t.Errorf("the victim does not just wait: %v", co.Load().State())
			}
		})
	}
	if victim.Done() {
		t.Error("the victim passed the holder of L")
	}
	release()
	victim.Join()
	if !inside.Load() || refused.Load() != bounded {
		t.Errorf("inside: %t, refused: %t", inside.Load(), refused.Load())
	}
	k.holder.Lock() // it is free
	k.holder.Unlock()
}

// hold has a coroutine hold L, which held reports, until the caller releases
// it.
func (k *stopKind) hold(held *atomic.Bool) (release func()) {
	has, over := make(chan struct{}), channel.Make[int](0)
	h, _ := netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		k.holder.Lock()
		defer k.holder.Unlock()
		held.Store(true)
		defer held.Store(false)
		close(has)
		over.Recv()
	}})
	<-has
	return func() {
		over.Close()
		h.Join()
	}
}

func waitsForLock(co *coroutine.Coroutine) bool {
	return co.State() == coroutine.Waiting && co.Reason() == coroutine.ReasonLock
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
