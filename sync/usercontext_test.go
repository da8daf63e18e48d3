package sync_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/rwmutex"
	"github.com/netco-go/netco/sync"
)

// guarded is a context whose methods wait for a lock, as one that was written
// with a sync.Mutex does once its module is ported.
type guarded struct{ context.Context }

func (c guarded) wait() {
	f := sync.NewFuture[int]()
	netco.GoWith(netco.Spawn{Local: true, Fn: func() { f.Set(1) }})
	f.Get()
}

func (c guarded) Done() <-chan struct{} { c.wait(); return c.Context.Done() }
func (c guarded) Err() error            { c.wait(); return c.Context.Err() }
func (c guarded) Value(key any) any     { c.wait(); return c.Context.Value(key) }

// waitsWithContext are waits that give ends, one of them with each call.
var waitsWithContext = []struct {
	name   string
	reason coroutine.Reason
	make   func() (wait func(context.Context) error, give func())
}{
	{"Mutex", coroutine.ReasonLock, func() (func(context.Context) error, func()) {
		var mu sync.Mutex
		mu.Lock()
		return mu.LockContext, mu.Unlock
	}},
	{"RWMutex", coroutine.ReasonLock, func() (func(context.Context) error, func()) {
		var mu rwmutex.RWMutex
		mu.Lock()
		return mu.LockContext, mu.Unlock
	}},
	{"Semaphore", coroutine.ReasonSemaphore, func() (func(context.Context) error, func()) {
		s := sync.NewSemaphore(1)
		s.Acquire(1)
		return func(ctx context.Context) error { return s.AcquireContext(ctx, 1) },
			func() { s.Release(1) }
	}},
	{"Cond", coroutine.ReasonCond, func() (func(context.Context) error, func()) {
		c := sync.NewCond(new(sync.Mutex))
		return func(ctx context.Context) error {
			c.L.Lock()
			defer c.L.Unlock()
			return c.WaitContext(ctx)
		}, c.Signal
	}},
	{"channel", coroutine.ReasonChannel, func() (func(context.Context) error, func()) {
		c := channel.Make[int](0)
		return func(ctx context.Context) error { return c.SendContext(ctx, 1) },
			func() { c.Recv() }
	}},
}

// TestContextWaits: a context's methods may wait, and are called where the
// caller is in no queue. They were called with its waiter queued, which they
// used too: the queue was lost, and with it all behind.
func TestContextWaits(t *testing.T) {
	for _, c := range waitsWithContext {
		for _, ends := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " ends=", ends), func(t *testing.T) {
				testrun.Start(t, 1)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				wait, give := c.make()
				var tasks []*testrun.Task
				var errs [3]error
				for i := range errs {
					tasks = append(tasks, testrun.First.Go(func() { errs[i] = wait(guarded{ctx}) }))
					tasks[i].UntilParked(t, c.reason)
				}
				if ends {
					cancel()
				}
				for _, task := range tasks {
					if !ends {
						give()
					}
					task.Wait(t)
				}
				for i, err := range errs {
					if ends != (err == context.Canceled) || !ends && err != nil {
						t.Errorf("wait %d: %v", i, err)
					}
				}
			})
		}
	}
}
