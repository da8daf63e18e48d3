package sync_test

import (
	"fmt"
	stdsync "sync"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// work passes some 100 ns.
func work(x uint64) uint64 {
	for range 60 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var worked uint64

// The uncontended benchmarks call the methods directly, so that those that can
// be inlined are.

func BenchmarkMutex(b *testing.B) {
	b.Run("netco", func(b *testing.B) {
		var m sync.Mutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
	b.Run("sync", func(b *testing.B) {
		var m stdsync.Mutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
}

// BenchmarkMutexContended has the given number of waiters and one more lock and
// unlock a mutex all the time: coroutines, half of them on each of two
// Processors, and for comparison goroutines.
func BenchmarkMutexContended(b *testing.B) {
	for _, waiters := range []int{1, 8, 64} {
		for _, section := range []string{"empty", "100ns"} {
			name := fmt.Sprintf("waiters=%d/section=%s", waiters, section)
			b.Run(name+"/netco", func(b *testing.B) {
				var m sync.Mutex
				testrun.Start(b, 2)
				contend(b, &m, waiters+1, section == "empty", coroutines)
			})
			b.Run(name+"/goroutines", func(b *testing.B) {
				var m sync.Mutex
				contend(b, &m, waiters+1, section == "empty", goroutines)
			})
			b.Run(name+"/sync", func(b *testing.B) {
				var m stdsync.Mutex
				contend(b, &m, waiters+1, section == "empty", goroutines)
			})
		}
	}
}

// BenchmarkMutexHeld has them yield while they hold it.
func BenchmarkMutexHeld(b *testing.B) {
	for _, processors := range []int{1, 2} {
		for _, waiters := range []int{1, 64} {
			b.Run(fmt.Sprintf("processors=%d/waiters=%d", processors, waiters), func(b *testing.B) {
				testrun.Start(b, 2)
				var m sync.Mutex
				b.ResetTimer()
				coroutines(waiters+1, func(i int) {
					for range b.N/(waiters+1) + 1 {
						m.Lock()
						netco.Yield()
						m.Unlock()
					}
				}, processors)
			})
		}
	}
}

func contend(b *testing.B, m stdsync.Locker, n int, short bool,
	run func(n int, f func(int), processors int)) {
	b.ResetTimer()
	run(n, func(int) {
		for range b.N/n + 1 {
			m.Lock()
			if !short {
				worked = work(worked)
			}
			m.Unlock()
		}
	}, 2)
}

func coroutines(n int, f func(i int), processors int) {
	var wg stdsync.WaitGroup
	for i := range n {
		wg.Add(1)
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % processors), Fn: func() {
			defer wg.Done()
			f(i)
		}})
	}
	wg.Wait()
}

func goroutines(n int, f func(i int), _ int) {
	var wg stdsync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
