package sync_test

import (
	stdsync "sync"
	"testing"

	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

func BenchmarkWaitGroup(b *testing.B) {
	b.Run("netco", func(b *testing.B) {
		var wg sync.WaitGroup
		for b.Loop() {
			wg.Add(1)
			wg.Done()
			wg.Wait()
		}
	})
	b.Run("sync", func(b *testing.B) {
		var wg stdsync.WaitGroup
		for b.Loop() {
			wg.Add(1)
			wg.Done()
			wg.Wait()
		}
	})
}

func BenchmarkOnce(b *testing.B) {
	f := func() {}
	b.Run("netco", func(b *testing.B) {
		var o sync.Once
		for b.Loop() {
			o.Do(f)
		}
	})
	b.Run("sync", func(b *testing.B) {
		var o stdsync.Once
		for b.Loop() {
			o.Do(f)
		}
	})
}

// BenchmarkWaitGroupGo starts 16 and waits for them.
func BenchmarkWaitGroupGo(b *testing.B) {
	f := func() {}
	b.Run("netco", func(b *testing.B) {
		testrun.Start(b, 2)
		testrun.In(b, 0, func() {
			var wg sync.WaitGroup
			for b.Loop() {
				for range 16 {
					wg.Go(f)
				}
				wg.Wait()
			}
		})
	})
	b.Run("sync", func(b *testing.B) {
		var wg stdsync.WaitGroup
		for b.Loop() {
			for range 16 {
				wg.Go(f)
			}
			wg.Wait()
		}
	})
}
