package waitq_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/fiber"
	"github.com/netco-go/netco/internal/invariant"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/internal/waitq"
)

// doings are what a coroutine must not do while it holds anything, and what a
// panic says of it.
func doings(co *coroutine.Coroutine, w *coroutine.Waiter) map[string][]func() {
	limit := coroutine.Context(context.Background())
	return map[string][]func(){
		"waits":    {func() { co.Park(coroutine.ReasonUser) }},
		"may move": {func() { waitq.Release(w) }, co.MoveOn},
		"calls what may wait": {
			netco.Yield,
			func() { waitq.Acquire(coroutine.Limit{}) },
			coroutine.Rejoin,
		},
		"calls a context": {
			func() { limit.Expired() },
			func() { limit.Err(coroutine.WakeCancelled) },
		},
	}
}

// TestHeldAcrossASwitch: where invariants are checked, it panics to wait, to
// move or to call what may, under a lock or between a claim and its wake.
func TestHeldAcrossASwitch(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only where invariants are checked")
	}
	var g waitq.Guard
	var m waitq.Mutex
	var u waitq.Unlocking
	testrun.With(t, 1, func() {
		for _, hold := range []struct {
			name       string
			take, give func()
		}{
			{"guard", g.Lock, g.Unlock},
			{"mutex", m.Lock, m.Unlock},
			{"claim", func() { u = waitq.Begin() }, func() { u.Wake() }},
		} {
			w := waitq.Acquire(coroutine.Limit{})
			for want, all := range doings(coroutine.Current(), w) {
				for i, f := range all {
					hold.take()
					got := fmt.Sprint(testenv.PanicOf(f))
					hold.give()
					if !strings.Contains(got, want+" under a lock of netco's") {
						t.Errorf("%s: %s, %d: %q", hold.name, want, i, got)
					}
				}
			}
			w.Release()
			netco.Yield() // nothing is held any more
		}
	})
}

// TestHeldByAFiber: what a fiber holds, its resumer must not wait with, and the
// other way round.
func TestHeldByAFiber(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only where invariants are checked")
	}
	testrun.With(t, 1, func() {
		var g waitq.Guard
		var yield, resume any
		f := fiber.New(func(y *fiber.Yielder[int, int], _ int) int {
			g.Lock()
			yield = testenv.PanicOf(func() { y.Yield(1) })
			g.Unlock()
			return 0
		})
		g.Lock()
		resume = testenv.PanicOf(func() { f.Resume(1) })
		g.Unlock()
		if f.Resume(1); !strings.Contains(fmt.Sprint(yield), "suspends its fiber") {
			t.Errorf("Yield: %v", yield)
		}
		if !strings.Contains(fmt.Sprint(resume), "under a lock") {
			t.Errorf("Resume: %v", resume)
		}
	})
}
