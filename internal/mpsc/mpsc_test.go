package mpsc

import (
	"sync"
	"testing"
)

type item struct {
	node     Node[item]
	producer int
	seq      int
}

// TestHammer pushes from many goroutines while one takes: nothing is lost, nothing comes twice, and each producer's
// items keep their order.
func TestHammer(t *testing.T) {
	const producers, each = 8, 20_000
	var q Queue[item]
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for s := range each {
				it := &item{producer: p, seq: s}
				it.node.Value = it
				q.Push(&it.node)
			}
		})
	}
	var next [producers]int
	for got := 0; got < producers*each; {
		for n := q.Take(); n != nil; {
			it := n.Value
			n = n.Next()
			if it.seq != next[it.producer] {
				t.Fatalf("producer %d: got %d, want %d", it.producer, it.seq, next[it.producer])
			}
			next[it.producer]++
			got++
		}
	}
	wg.Wait()
	if !q.Empty() || q.Take() != nil {
		t.Error("not empty at the end")
	}
}
