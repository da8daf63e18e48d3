package coroutine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
)

// TestRunQueueModel holds the ring against a slice, through wraps, growth and
// release.
func TestRunQueueModel(t *testing.T) {
	var q runQueue
	var model []*Coroutine
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 9))
	for step := range 200_000 {
		grow := step/20_000%2 == 0 // in waves
		switch n := rnd.IntN(10); {
		case n < 4 || grow && n < 6:
			co := new(Coroutine)
			q.push(co)
			model = append(model, co)
		case len(model) > 0:
			if got := q.pop(); got != model[0] {
				t.Fatalf("seed %d, step %d: not the oldest", seed, step)
			}
			model = model[1:]
		default:
			q.free()
		}
		if q.len() != len(model) {
			t.Fatalf("seed %d: %d queued, want %d", seed, q.len(), len(model))
		}
		if front := q.front(); len(model) > 0 && front != model[0] || len(model) == 0 &&
			front != nil {
			t.Fatalf("seed %d: front is not the oldest", seed)
		}
	}
}

// TestOrderIsFIFO: coroutines start, yield and are made ready in the order in
// which they were queued.
func TestOrderIsFIFO(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	on(Config{Idle: 8}, func(ex *Executor) {
		const n, rounds = 10, 100
		var order []int
		for i := range n {
			ex.Spawn(Spawn{Fn: func() {
				for range rounds {
					order = append(order, i)
					Yield()
				}
			}})
		}
		for len(order) < n*rounds {
			Yield()
		}
		if !slices.IsSorted(order[:n]) {
			t.Errorf("started in the order %v", order[:n])
		}
		for i := n; i < len(order); i++ {
			if order[i] != order[i-n] {
				t.Fatalf("order broken at %d: %v", i, order[i-n:i+1])
			}
		}
		order = order[:0]
		tickets := make([]announced, n)
		for i := range n {
			ex.Spawn(Spawn{Fn: func() {
				tickets[i] = announce(Current())
				Current().Park(ReasonUser)
				order = append(order, i)
			}})
		}
		Yield()
		for _, i := range []int{3, 1, 4, 0, 5, 9, 2, 6, 8, 7} {
			tickets[i].co.MakeReady(tickets[i].ticket, WakeReady)
		}
		Yield()
		if want := []int{3, 1, 4, 0, 5, 9, 2, 6, 8, 7}; !slices.Equal(order, want) {
			t.Errorf("made ready in the order %v, ran in %v", want, order)
		}
	})
}

// TestRunQueueRests: before the thread sleeps the ring drops the coroutines
// that have run, and a burst's ring is dropped.
func TestRunQueueRests(t *testing.T) {
	var q runQueue
	burst := func(n int) {
		for range n {
			q.push(new(Coroutine))
			if n%3 == 0 {
				q.moveTailToFront()
			}
		}
		for q.len() > 0 {
			q.pop()
		}
		q.rest()
		for i, co := range q.buf {
			if co != nil {
				t.Fatalf("after %d, entry %d of %d is held", n, i, len(q.buf))
			}
		}
	}
	for _, n := range []int{0, 1, 3, 63, 64, 65, 300, 1000} {
		burst(n)
		burst(0)
		testenv.True(t, n <= 0 || len(q.buf) != 0, "after %d the ring is gone", n)
	}
	for range 3 {
		burst(5000)
		testenv.Equal(t, len(q.buf), 8192, "bursts of 5000: a ring of")
	}
	burst(10)
	testenv.True(t, len(q.buf) == 0, "after 5000 and then 10: a ring of %d", len(q.buf))
	burst(100_000)
	testenv.True(t, len(q.buf) == 0, "after 100,000: a ring of %d", len(q.buf))
	q.push(new(Coroutine))
	q.rest()
	testenv.True(t, q.len() == 1 && q.pop() != nil, "rest has taken what is ready")
}
