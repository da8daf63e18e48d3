package rwmutex

import (
	"fmt"
	"sync"
	"testing"

	"github.com/netco-go/netco/coroutine"
)

// lock is what the benchmarks compare.
type lock interface {
	Lock()
	Unlock()
	RLock()
	RUnlock()
}

// mutex is a sync.Mutex as a lock: its readers exclude one another.
type mutex struct{ sync.Mutex }

func (m *mutex) RLock()   { m.Lock() }
func (m *mutex) RUnlock() { m.Unlock() }

var peers = []struct {
	name string
	make func() lock
}{
	{"netco", func() lock { return new(RWMutex) }},
	{"sync", func() lock { return new(sync.RWMutex) }},
	{"syncMutex", func() lock { return new(mutex) }},
}

// The uncontended benchmarks call the methods directly, so that those that can be inlined are.

func BenchmarkLock(b *testing.B) {
	b.Run("netco", func(b *testing.B) {
		var m RWMutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
	b.Run("sync", func(b *testing.B) {
		var m sync.RWMutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
	b.Run("syncMutex", func(b *testing.B) {
		var m sync.Mutex
		for b.Loop() {
			m.Lock()
			m.Unlock()
		}
	})
}

func BenchmarkRLock(b *testing.B) {
	b.Run("netco", func(b *testing.B) {
		var m RWMutex
		for b.Loop() {
			m.RLock()
			m.RUnlock()
		}
	})
	b.Run("sync", func(b *testing.B) {
		var m sync.RWMutex
		for b.Loop() {
			m.RLock()
			m.RUnlock()
		}
	})
}

// BenchmarkContended runs ordinary goroutines that do nothing but lock and unlock: the given number of waiters and
// one more. The peers let who runs take the lock past those who wait, this lock hands it to them.
func BenchmarkContended(b *testing.B) {
	for _, waiters := range []int{1, 8, 64} {
		for _, share := range []int{0, 90, 100} {
			for _, peer := range peers {
				b.Run(fmt.Sprintf("waiters=%d/reads=%d/%s", waiters, share, peer.name), func(b *testing.B) {
					contend(b, peer.make(), waiters+1, share)
				})
			}
		}
	}
}

// contend has n goroutines lock m about b.N times in all, share of a hundred times for reading.
func contend(b *testing.B, m lock, n, share int) {
	var wg sync.WaitGroup
	guarded := 0
	for range n {
		wg.Go(func() {
			for i := range b.N/n + 1 {
				if i*37%100 < share { // spread
					m.RLock()
					_ = guarded
					m.RUnlock()
				} else {
					m.Lock()
					guarded++
					m.Unlock()
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkHandover has coroutines that each hold the lock over a Yield, so that every Lock parks: on one executor, and
// on two, where every other wake goes to another thread.
func BenchmarkHandover(b *testing.B) {
	for _, executors := range []int{1, 2} {
		for _, n := range []int{2, 64} {
			b.Run(fmt.Sprintf("executors=%d/coroutines=%d", executors, n), func(b *testing.B) {
				var m RWMutex
				hosts := newHosts(executors)
				for i := range n {
					hosts[i%executors].spawn(func() {
						for range b.N/n + 1 {
							m.Lock()
							coroutine.Yield()
							m.Unlock()
						}
					})
				}
				hosts.run()
			})
		}
	}
}
