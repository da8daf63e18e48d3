package scheduler_test

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// TestInheritAcrossProcessors: what a coroutine starts, wherever, inherits from
// it and not from what runs there.
func TestInheritAcrossProcessors(t *testing.T) {
	startDefault(t, netco.Options{Processors: 2})
	path := coroutine.NewLocal(
		coroutine.LocalOptions[[]string]{Inherit: func(parent *[]string) []string {
			return slices.Clone(*parent)
		}})
	private := coroutine.NewLocal(coroutine.LocalOptions[int]{})
	expect := func(want ...string) {
		t.Helper()
		got := path.Peek()
		testenv.True(t, (got != nil || len(want) <= 0) && (got == nil || slices.Equal(*got, want)),
			"inherited %v, want %v", got, want)
		testenv.Equal(t, private.Peek(), nil, "inherited what is not to be")
		private.Set(1)
	}
	join := func(h netco.Handle, err error) {
		t.Helper()
		testenv.True(t, err == nil && h.Join() == nil, "%v", err)
	}
	for range 3 {
		netco.Run(func() {
			expect()
			path.Set([]string{"root"})
			for p := range 2 {
				join(netco.GoWith(netco.Spawn{On: netco.OnProcessor(p), Fn: func() {
					expect("root")
					*path.Get() = append(*path.Get(), "child")
					join(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
						expect("root", "child")
					}}))
					join(netco.GoWith(netco.Spawn{On: netco.OnProcessor(1 - p), Fn: func() {
						expect("root", "child")
					}}))
					f := coroutine.New(func(y *coroutine.Yielder[int, int], _ int) int {
						expect("root", "child")
						*path.Get() = append(*path.Get(), "by hand")
						join(netco.Go(func() { expect("root", "child", "by hand") }))
						join(coroutine.Start(coroutine.Spawn{Fn: func() {
							expect("root", "child", "by hand")
						}}))
						y.Yield(0)
						return 0
					})
					f.Resume(0)
					join(netco.Go(func() { expect("root", "child") }))
					f.Resume(0)
				}}))
			}
			if !slices.Equal(*path.Get(), []string{"root"}) {
				t.Errorf("a child has changed it to %v", *path.Get())
			}
		})
		netco.Run(func() { expect() })
	}
}

// TestDropAtShutdown: a Drop that waits is unwound when the scheduler ends by
// force, at whatever point of the coroutine's end; the others are still called,
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
			netco.Go(use) // is dropping
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
		// Shutdown may have gone before a slow thread has unwound all.
		testenv.Until(t, "all to be dropped", func() bool {
			return dropped.Load() >= 5*each*int32(len(locals))
		})
		testenv.Equal(t, dropped.Load(), 5*each*int32(len(locals)), "dropped")
		testenv.Equal(t, returned.Load(), 0, "returned")
	}
	testenv.Settle(t, goroutines)
}
