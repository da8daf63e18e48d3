package counter

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestCounter(t *testing.T) {
	var c Counter
	for _, step := range []struct {
		name string
		do   func()
		want uint64
	}{
		{"zero", func() {}, 0},
		{"Inc", c.Inc, 1},
		{"Add", func() { c.Add(41) }, 42},
		{"Add 0", func() { c.Add(0) }, 42},
		{"Set", func() { c.Set(7) }, 7},
		{"to the end", func() { c.Set(^uint64(0)) }, ^uint64(0)},
		{"wraps", c.Inc, 0},
		{"down", func() { c.Add(^uint64(0)) }, ^uint64(0)},
	} {
		step.do()
		if c.Load() != step.want || c.Own() != step.want {
			t.Errorf("%s: %d, the owner's %d, want %d", step.name, c.Load(), c.Own(), step.want)
		}
	}
}

func TestPointer(t *testing.T) {
	var p Pointer[int]
	if p.Load() != nil || p.Own() != nil {
		t.Error("the zero Pointer is not nil")
	}
	for i := range 3 {
		p.Set(&i)
		if p.Load() != &i || p.Own() != &i {
			t.Error("not the pointer that was set")
		}
	}
	p.Set(nil)
	if p.Load() != nil {
		t.Error("not nil again")
	}
}

// TestReadersSeeWholeValues: any thread may read while the owner writes; counts
// only rise, pointers are whole. Under -race this shows that neither is taken
// for a race.
func TestReadersSeeWholeValues(t *testing.T) {
	type pair struct{ a, b int }
	var c Counter
	var p Pointer[pair]
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for last := uint64(0); !stop.Load(); {
				now := c.Load()
				if now < last {
					t.Errorf("%d after %d", now, last)
				}
				last = now
				p.Load()
			}
		})
	}
	pairs := [2]pair{{1, -1}, {2, -2}}
	for i := range 200_000 {
		c.Inc()
		p.Set(&pairs[i&1])
	}
	stop.Store(true)
	wg.Wait()
	if c.Load() != 200_000 {
		t.Errorf("counted %d", c.Load())
	}
}
