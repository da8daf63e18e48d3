package scheduler_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// TestDropAtShutdown: a forced Shutdown unwinds a Drop that waits, at whatever
// point of its coroutine's end. The coroutine's other Drops are still called,
// and the Processor ends.
func TestDropAtShutdown(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	for range testenv.Rounds(50) + 1 {
		testenv.OK(t, netco.Start(netco.Options{Processors: 2, PoolCap: 2}))
		var parked, dropped, returned atomic.Int32
		var locals [3]*coroutine.Local[int]
		for i := range locals {
			locals[i] = coroutine.NewLocal(coroutine.LocalOptions[int]{Drop: func(*int) {
				dropped.Add(1)
				netco.Sleep(time.Hour)
				returned.Add(1)
			}})
		}
		use := func() {
			for _, l := range locals {
				l.Get()
			}
			parked.Add(1)
		}
		const each = 5
		for range each {
			netco.Go(func() { // unwound, then drops
				use()
				netco.Sleep(time.Hour)
			})
			netco.Go(func() { // returns, then drops
				use()
				coroutine.Current().Park(coroutine.ReasonUser)
			})
			netco.Go(use) // drops at once
			netco.Go(func() {
				coroutine.New(func(*coroutine.Yielder[int, int], int) int {
					use()
					netco.Sleep(time.Hour)
					return 0
				}).Resume(0)
			})
			netco.Go(func() {
				coroutine.New(func(y *coroutine.Yielder[int, int], _ int) int {
					use()
					y.Yield(0)
					return 0
				}).Resume(0)
				netco.Sleep(time.Hour)
			})
		}
		testenv.Until(t, "all to park", func() bool { return parked.Load() == 5*each })
		testenv.Fails(t, netco.Shutdown(testenv.Over()), context.Canceled)
		// Shutdown may return before a slow thread has unwound all.
		testenv.Until(t, "all to be dropped", func() bool {
			return dropped.Load() >= 5*each*int32(len(locals))
		})
		testenv.Equal(t, dropped.Load(), 5*each*int32(len(locals)), "dropped")
		testenv.Equal(t, returned.Load(), 0, "returned")
	}
	testenv.Settle(t, goroutines)
}
