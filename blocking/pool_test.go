package blocking_test

import (
	"strings"
	"testing"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

func TestLimits(t *testing.T) {
	for _, n := range []int{0, -1} {
		if err := new(blocking.Pool).SetLimit(n); err == nil ||
			!strings.HasPrefix(err.Error(), "blocking: limit ") {
			t.Errorf("SetLimit(%d): %v", n, err)
		}
	}
	p := pool(t, 3)
	if err := p.SetLimit(0); err == nil || p.Stats().Limit != 3 {
		t.Errorf("SetLimit(0): %v, then %+v", err, p.Stats())
	}
	testenv.Equal(t, new(blocking.Pool).Stats(), (blocking.Stats{Limit: 256}),
		"the zero Pool")
}

// TestOneAfterTheOther: when a call returns, the pool has done with it: its
// place is free.
func TestOneAfterTheOther(t *testing.T) {
	testrun.Start(t, 1)
	p := pool(t, 8)
	testrun.First.Do(t, func() {
		for range testenv.Rounds(5000) {
			p.Do(bg, func() {})
			if s := p.Stats(); s.Running != 0 {
				t.Errorf("after a call: %+v", s)
				return
			}
		}
	})
}

// TestSetLimit: a higher limit starts waiting calls, a lower one lets running
// ones end and then holds.
func TestSetLimit(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	const n = 4
	var gates []*gate
	var tasks []*testrun.Task
	for i := range n {
		g := newGate()
		k := testrun.Coroutines[i%2].Go(func() { testenv.NoError(t, p.Do(bg, g.pass)) })
		k.UntilParked(t, coroutine.ReasonBlocking)
		gates, tasks = append(gates, g), append(tasks, k)
	}
	testenv.Await(t, gates[0].entered, "the first")
	exact(t, p, blocking.Stats{Running: 1, Queued: 3})
	testenv.OK(t, p.SetLimit(3))
	testenv.Await(t, gates[1].entered, "the second")
	testenv.Await(t, gates[2].entered, "the third")
	exact(t, p, blocking.Stats{Running: 3, Queued: 1})
	testenv.OK(t, p.SetLimit(1))
	for i := range 2 {
		close(gates[i].opened)
		tasks[i].Wait(t)
		exact(t, p, blocking.Stats{Running: 2 - i, Queued: 1, Done: uint64(i + 1)})
	}
	close(gates[2].opened)
	testenv.Await(t, gates[3].entered, "the fourth")
	close(gates[3].opened)
	tasks[2].Wait(t)
	tasks[3].Wait(t)
	exact(t, p, blocking.Stats{Done: 4})
}
