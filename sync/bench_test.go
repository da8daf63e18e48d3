package sync_test

import (
	"context"
	"fmt"
	stdsync "sync"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/sync"
)

// lock is what the benchmarks compare.
type lock interface {
	Lock()
	Unlock()
	RLock()
	RUnlock()
}

// BenchmarkContended has the given number of waiters and one more do nothing
// but lock and unlock, share of a hundred times for reading, with some or no
// work under the lock: coroutines on two Processors, and goroutines with
// package sync's lock.
func BenchmarkContended(b *testing.B) {
	for _, work := range []int{0, 40} {
		for _, share := range []int{0, 90, 100} {
			for _, waiters := range []int{1, 8, 64} {
				name := fmt.Sprintf("work=%d/reads=%d/waiters=%d/", work, share, waiters)
				b.Run(name+"netco", func(b *testing.B) {
					var m sync.RWMutex
					onProcessors(b, 2, waiters+1, func(n int) { contend(&m, n, share, work) })
				})
				b.Run(name+"sync", func(b *testing.B) {
					var m stdsync.RWMutex
					onGoroutines(waiters+1, b.N, func(n int) { contend(&m, n, share, work) })
				})
			}
		}
	}
}

// contend locks m n times.
func contend(m lock, n, share, work int) {
	for i := range n {
		if i*37%100 < share { // spread
			m.RLock()
			toil(work)
			m.RUnlock()
		} else {
			m.Lock()
			toil(work)
			m.Unlock()
		}
	}
}

// toil takes about a nanosecond times n.
//
//go:noinline
func toil(n int) {
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		panic("toil has an end") // so that the work is done
	}
}

// onProcessors has n coroutines on so many Processors call f with their parts
// of b.N.
func onProcessors(b *testing.B, processors, n int, f func(int)) {
	testenv.OK(b, netco.Start(netco.Options{Processors: processors}))
	var wg stdsync.WaitGroup
	b.ResetTimer()
	for i := range n {
		wg.Add(1)
		if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % processors), Fn: func() {
			defer wg.Done()
			f(b.N/n + 1)
		}}); err != nil {
			b.Fatal(err)
		}
	}
	wg.Wait()
	b.StopTimer()
	testenv.OK(b, netco.Shutdown(context.Background()))
}

func onGoroutines(n, total int, f func(int)) {
	var wg stdsync.WaitGroup
	for range n {
		wg.Go(func() { f(total/n + 1) })
	}
	wg.Wait()
}
