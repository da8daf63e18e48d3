package rwmutex

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// lock is what the benchmarks compare.
type lock interface {
	Lock()
	Unlock()
	RLock()
	RUnlock()
}

// mutex is a sync.Mutex as a lock: its readers are writers.
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

// BenchmarkContended runs ordinary goroutines that do nothing but lock and unlock: waiters of them beside one that
// would be enough to keep the lock busy.
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

// contend has n goroutines lock m, share of a hundred times for reading, b.N times in all.
func contend(b *testing.B, m lock, n, share int) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var guarded, sink int
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			const batch = 100
			for left.Add(-batch) > -batch {
				for i := range batch {
					if (i*37)%batch < share { // spread
						m.RLock()
						_ = guarded
						m.RUnlock()
					} else {
						m.Lock()
						guarded++
						m.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	sink += guarded
}
