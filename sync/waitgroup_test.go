package sync_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
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
		if got := panics(func() { wg.Add(c.delta) }); got != c.want {
			t.Errorf("%d%+d: panic with %v, want %v", c.count, c.delta, got, c.want)
		}
		if c.want != nil {
			wg.Add(-c.count) // it is as it was
			if !wg.AsNew() {
				t.Errorf("%d%+d: not as new", c.count, c.delta)
			}
		}
	}
}

func TestWaitGroupWithoutWait(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var wg sync.WaitGroup
	for _, c := range []struct {
		name string
		wait func() error
		want error // if the count is not 0
	}{
		{"WaitTimeout(0)", func() error { return wg.WaitTimeout(0) }, os.ErrDeadlineExceeded},
		{"WaitTimeout(1ms)", func() error {
			return wg.WaitTimeout(time.Millisecond)
		}, os.ErrDeadlineExceeded},
		{"WaitContext(over)", func() error { return wg.WaitContext(ctx) }, context.Canceled},
	} {
		if err := c.wait(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		wg.Add(1)
		if err := c.wait(); !errors.Is(err, c.want) {
			t.Errorf("%s with 1 to wait for: %v, want %v", c.name, err, c.want)
		}
		wg.Done()
		if !wg.AsNew() {
			t.Errorf("%s: not as new", c.name)
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
	task := testrun.First.Go(func() {
		defer wg.Go(func() {
			if netco.Self().ID() == 0 {
				on.Add(1)
			}
		})
		waitAndUnwind()
	})
	task.UntilParked(t, coroutine.ReasonSemaphore)
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
		if got := panics(start); got != any(os.ErrInvalid) || !wg.AsNew() {
			t.Errorf("panic with %v, or not as new", got)
		}
	})
}

// TestWaitGroupManyWait: all waiters continue, bounded or not; those whose time
// ends meanwhile return an error.
func TestWaitGroupManyWait(t *testing.T) {
	testrun.Start(t, 2)
	var over, inTime atomic.Int64
	for range testenv.Rounds(500) {
		var wg sync.WaitGroup
		var gone atomic.Bool
		wg.Add(3)
		crowd(t, 12, func(i int) {
			var err error
			switch {
			case i < 3:
				if i == 0 {
					netco.Sleep(time.Duration(rand.IntN(60)) * time.Microsecond)
					gone.Store(true)
				} else {
					netco.Yield()
				}
				wg.Done()
				return
			case i%3 == 0:
				wg.Wait()
			case i%3 == 1:
				err = wg.WaitTimeout(time.Duration(rand.IntN(80)) * time.Microsecond)
			default:
				ctx, cancel := context.WithTimeout(context.Background(),
					time.Duration(rand.IntN(80))*time.Microsecond)
				defer cancel()
				err = wg.WaitContext(ctx)
			}
			if err != nil {
				over.Add(1)
			} else if inTime.Add(1); !gone.Load() {
				t.Error("it has not waited")
			}
		})
		if !wg.AsNew() {
			t.Fatal("not as new")
		}
	}
	t.Logf("%d waits in time, %d over", inTime.Load(), over.Load())
}

func TestWaitGroupShutdown(t *testing.T) {
	testrun.Start(t, 2)
	var wg sync.WaitGroup
	var unwound, refused atomic.Int32
	wg.Add(1)
	for i := range 10 {
		netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
			defer unwound.Add(1)
			if i%4 < 2 {
				wg.Wait()
				t.Error("Wait returned")
			}
			if err := wg.WaitTimeout(time.Hour); errors.Is(err, netco.ErrShutdown) {
				refused.Add(1)
			} else {
				t.Errorf("WaitTimeout: %v", err)
			}
		}})
	}
	sync.Await(&wg, 10)
	testrun.ShutdownByForce(t)
	if unwound.Load() != 10 || refused.Load() != 4 {
		t.Errorf("%d unwound, %d refused", unwound.Load(), refused.Load())
	}
	wg.Done()
	wg.Wait()
	if !wg.AsNew() {
		t.Error("not as new")
	}
}

func TestWaitGroupAllocs(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	testrun.Start(t, 2)
	var wg sync.WaitGroup
	allocs(t, func() {
		wg.Add(2)
		wg.Done()
		wg.Done()
		wg.Wait()
		wg.WaitTimeout(time.Second)
		wg.WaitContext(context.Background())
	})
	stop := false
	var round sync.WaitGroup
	round.Add(1)
	netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		for !stop {
			if round.Waiting() > 0 {
				round.Done()
			}
			netco.Yield()
		}
	}})
	testrun.In(t, 0, func() {
		n := testing.AllocsPerRun(1000, func() {
			round.Wait()
			round.Add(1)
			round.WaitTimeout(time.Minute)
			round.Add(1)
		})
		stop = true
		if n != 0 && !goruntime.RaceEnabled {
			t.Errorf("Wait allocates %v times", n)
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
