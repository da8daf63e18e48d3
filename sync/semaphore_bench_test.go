package sync_test

import (
	"fmt"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// permits is what the benchmarks compare.
type permits interface {
	Acquire(n int64)
	Release(n int64)
}

// chanPermits is a Semaphore as a channel, for one unit at a time.
type chanPermits chan struct{}

func (c chanPermits) Acquire(int64) { c <- struct{}{} }
func (c chanPermits) Release(int64) { <-c }

func BenchmarkSemaphore(b *testing.B) {
	b.Run("netco", func(b *testing.B) {
		s := sync.NewSemaphore(10)
		for b.Loop() {
			s.Acquire(1)
			s.Release(1)
		}
	})
	b.Run("chan", func(b *testing.B) {
		s := make(chanPermits, 10)
		for b.Loop() {
			s.Acquire(1)
			s.Release(1)
		}
	})
	b.Run("netco,timeout", func(b *testing.B) {
		s := sync.NewSemaphore(10)
		for b.Loop() {
			s.AcquireTimeout(1, time.Second)
			s.Release(1)
		}
	})
}

// BenchmarkSemaphoreContended runs ordinary goroutines that do nothing but take
// one of four units and give it back.
func BenchmarkSemaphoreContended(b *testing.B) {
	for _, n := range []int{2, 8, 64} {
		for _, peer := range []struct {
			name string
			make func() permits
		}{
			{"netco", func() permits { return sync.NewSemaphore(4) }},
			{"chan", func() permits { return make(chanPermits, 4) }},
		} {
			b.Run(fmt.Sprintf("goroutines=%d/%s", n, peer.name), func(b *testing.B) {
				s := peer.make()
				var wg stdsync.WaitGroup
				for range n {
					wg.Go(func() {
						for range b.N/n + 1 {
							s.Acquire(1)
							s.Release(1)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// BenchmarkSemaphoreHandover has coroutines of one Processor that each hold the
// only unit over a Yield, so that every Acquire parks.
func BenchmarkSemaphoreHandover(b *testing.B) {
	testrun.Start(b, 2)
	for _, n := range []int{2, 64} {
		for _, timeout := range []bool{false, true} {
			b.Run(fmt.Sprintf("coroutines=%d/timeout=%t", n, timeout), func(b *testing.B) {
				s := sync.NewSemaphore(1)
				var all stdsync.WaitGroup
				all.Add(n)
				for range n {
					netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
						defer all.Done()
						for range b.N/n + 1 {
							if timeout {
								s.AcquireTimeout(1, time.Hour)
							} else {
								s.Acquire(1)
							}
							netco.Yield()
							s.Release(1)
						}
					}})
				}
				all.Wait()
			})
		}
	}
}

func BenchmarkFuture(b *testing.B) {
	b.Run("Get,complete", func(b *testing.B) {
		var f sync.Future[int]
		f.Set(1)
		for b.Loop() {
			f.Get()
		}
	})
	testrun.Start(b, 2)
	on := func(name string, body func(b *testing.B)) {
		b.Run(name, func(b *testing.B) { testrun.In(b, 0, func() { body(b) }) })
	}
	on("Async,Get", func(b *testing.B) {
		for range b.N {
			sync.Async(func() (int, error) { return 1, nil }).Get()
		}
	})
}
