package sync_test

import (
	stdsync "sync"
	"testing"

	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// BenchmarkCond has two take turns: coroutines of one Processor, of two, and
// goroutines with package sync.
func BenchmarkCond(b *testing.B) {
	turns := func(l stdsync.Locker, wait, signal func(), n int) func(int) {
		turn := 0
		return func(i int) {
			for range n {
				l.Lock()
				for turn != i {
					wait()
				}
				turn = 1 - i
				l.Unlock()
				signal()
			}
		}
	}
	for processors := 1; processors <= 2; processors++ {
		b.Run([]string{"", "oneProcessor", "twoProcessors"}[processors], func(b *testing.B) {
			testrun.Start(b, 2)
			c := sync.NewCond(new(sync.Mutex))
			b.ResetTimer()
			coroutines(2, turns(c.L, c.Wait, c.Signal, b.N/2+1), processors)
		})
	}
	b.Run("sync", func(b *testing.B) {
		c := stdsync.NewCond(new(stdsync.Mutex))
		goroutines(2, turns(c.L, c.Wait, c.Signal, b.N/2+1), 0)
	})
}
