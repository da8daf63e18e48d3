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

// TestHammer pushes from many goroutines while one takes: nothing is lost,
// nothing comes twice, and each producer's items keep their order.
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

func TestOrder(t *testing.T) {
	var q Queue[item]
	if !q.Empty() || q.Take() != nil {
		t.Fatal("the zero Queue is not empty")
	}
	for n := range 5 {
		items := make([]item, n)
		for i := range items {
			items[i].seq, items[i].node.Value = i, &items[i]
			q.Push(&items[i].node)
		}
		if q.Empty() != (n == 0) {
			t.Errorf("%d queued, empty: %v", n, q.Empty())
		}
		got := 0
		for node := q.Take(); node != nil; node = node.Next() {
			if node.Value.seq != got {
				t.Errorf("of %d: %d came where %d should", n, node.Value.seq, got)
			}
			got++
		}
		if got != n || !q.Empty() {
			t.Errorf("%d of %d taken", got, n)
		}
	}
}

// TestPushAgainWhileTaking: a node may be queued again as soon as Next has
// unlinked it, while the rest of its batch is still being followed: neither it
// nor the rest is lost or comes twice.
func TestPushAgainWhileTaking(t *testing.T) {
	const nodes, rounds = 64, 300
	var q Queue[item]
	items := make([]item, nodes)
	for i := range items {
		items[i].node.Value = &items[i]
		q.Push(&items[i].node)
	}
	again := make(chan *item, nodes)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for it := range again {
				q.Push(&it.node)
			}
		})
	}
	for got := 0; got < nodes*rounds; {
		for n := q.Take(); n != nil; {
			it := n.Value
			n = n.Next()
			got++
			if it.seq++; it.seq < rounds {
				again <- it
			}
		}
	}
	close(again)
	wg.Wait()
	for i := range items {
		if items[i].seq != rounds {
			t.Errorf("node %d came %d times, want %d", i, items[i].seq, rounds)
		}
	}
	if !q.Empty() {
		t.Error("not empty at the end")
	}
}
