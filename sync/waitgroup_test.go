package sync_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

func TestWaitGroupMisuse(t *testing.T) {
	const negative = "sync: negative WaitGroup counter"
	var wg sync.WaitGroup
	for _, c := range []struct {
		count, delta int
		want         any
	}{
		{0, -1, negative},
		{0, math.MinInt64, negative},
		{3, -4, negative},
		{1, math.MaxInt32, "sync: WaitGroup counter too large"},
		{1, math.MaxInt32 - 1, nil},
		{3, -3, nil},
		{3, 0, nil},
	} {
		wg = sync.WaitGroup{}
		wg.Add(c.count)
		got := testenv.PanicOf(func() { wg.Add(c.delta) })
		testenv.Equal(t, got, c.want, c.count, c.delta, "panic with")
		if c.want != nil {
			wg.Add(-c.count) // it is as it was
			if !wg.AsNew() {
				t.Errorf("%d%+d: not as new", c.count, c.delta)
			}
		}
	}
}

// TestWaitGroupGo: Wait returns when all that Go has started have ended,
// however they end, and what they did can be seen.
func TestWaitGroupGo(t *testing.T) {
	testrun.Start(t, 2)
	crowd(t, 6, func(int) {
		var wg sync.WaitGroup
		for range testenv.Rounds(100) { // it is used again and again
			done := [20]int{}
			for i := range done {
				wg.Go(func() {
					defer func() { done[i]++ }()
					netco.Sleep(time.Duration(i%3) * time.Microsecond)
					if i == 5 {
						runtime.Goexit()
					}
				})
			}
			wg.Wait()
			for i, n := range done {
				if n != 1 {
					t.Errorf("%d: done %d times", i, n)
				}
			}
		}
		if !wg.AsNew() {
			t.Error("not as new")
		}
	})
}

// TestWaitGroupGoAtTheEnd: what a coroutine starts while it is ended by force
// runs on a goroutine, and counts until then.
func TestWaitGroupGoAtTheEnd(t *testing.T) {
	testrun.Start(t, 2)
	var wg sync.WaitGroup
	var on atomic.Int32 // 1: a goroutine
	testrun.First.Park(t, coroutine.ReasonSemaphore, func() {
		defer wg.Go(func() {
			if netco.Self().ID() == 0 {
				on.Add(1)
			}
		})
		waitAndUnwind()
	})
	testrun.ShutdownByForce(t)
	wg.Wait()
	if on.Load() != 1 || !wg.AsNew() {
		t.Error("not on a goroutine, or not as new")
	}
}

// TestWaitGroupStartPanics: a start that panics, because of a Local's Inherit,
// leaves nothing that Wait waits for.
func TestWaitGroupStartPanics(t *testing.T) {
	testrun.Start(t, 1)
	l := coroutine.NewLocal(coroutine.LocalOptions[int]{
		Inherit: func(*int) int { panic(os.ErrInvalid) },
	})
	testrun.In(t, 0, func() {
		l.Set(1)
		var wg sync.WaitGroup
		start := func() { wg.Go(func() { t.Error("called") }) }
		if got := testenv.PanicOf(start); got != any(os.ErrInvalid) || !wg.AsNew() {
			t.Errorf("panic with %v, or not as new", got)
		}
	})
}

func ExampleWaitGroup() {
	var pages [3]string
	netco.Run(func() {
		var wg sync.WaitGroup
		for i := range pages {
			wg.Go(func() { pages[i] = fmt.Sprint("page ", i) })
		}
		wg.Wait()
	})
	fmt.Println(pages)
	netco.Shutdown(context.Background())
	// Output: [page 0 page 1 page 2]
}
