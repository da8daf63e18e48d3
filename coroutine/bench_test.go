package coroutine

import (
	"math"
	"runtime"
	"testing"
)

// bareHost hosts an executor for benchmarks and tests that need neither timers
// nor other threads. A coroutine driven by hand is left to ReapAll.
type bareHost struct{ Host }

func (bareHost) Post(*Coroutine) {
	panic("posted from another thread")
}
func (bareHost) ParkUntil(*Coroutine, Reason, int64) Wake      { panic("no timers here") }
func (bareHost) Panicked(co *Coroutine, v any, st []byte) bool { return false }
func (bareHost) Reap(func())                                   {}

// runAll drives ex on a locked thread until its coroutines have ended.
func runAll(ex *Executor, first func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		ex.Enter()
		ex.Spawn(Spawn{Fn: first})
		for ex.Stats.Live.Own() > 0 {
			ex.Run(256, math.MaxInt64)
		}
		ex.Leave()
	}()
	<-done
}

func newExecutor() *Executor {
	ex := new(Executor)
	ex.Init(Config{Host: bareHost{}, Idle: 1024})
	return ex
}

func benchYield(b *testing.B, n int) {
	ex := newExecutor()
	runAll(ex, func() {
		for range n - 1 {
			ex.Spawn(Spawn{Fn: func() {
				for range b.N / n {
					Yield()
				}
			}})
		}
		b.ResetTimer()
		for range b.N / n {
			Yield()
		}
	})
}

func BenchmarkYield2(b *testing.B) { benchYield(b, 2) }
