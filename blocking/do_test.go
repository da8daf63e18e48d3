package blocking_test

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

var errOwn = errors.New("own")

// TestResults: every function of the package brings back what its argument
// returns, in every place.
func TestResults(t *testing.T) {
	testrun.Start(t, 2)
	t.Cleanup(func() { rest(t, blocking.Default()) })
	p := pool(t, 2)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	pair := func() (int, error) { return 42, errOwn }
	set := func(n *int) func() { return func() { *n = 42 } }
	for _, c := range []struct {
		name string
		call func() (int, error)
		want error
	}{
		{"Do", func() (n int, err error) { err = blocking.Do(bg, set(&n)); return }, nil},
		{"Do until", func() (n int, err error) { err = blocking.Do(ctx, set(&n)); return }, nil},
		{"Pool.Do", func() (n int, err error) { err = p.Do(bg, set(&n)); return }, nil},
		{"Pool.Do until", func() (n int, err error) { err = p.Do(ctx, set(&n)); return }, nil},
		{"Call", func() (int, error) { return blocking.Call(bg, pair) }, errOwn},
		{"Call until", func() (int, error) { return blocking.Call(ctx, pair) }, errOwn},
		{"callOn until", func() (int, error) { return blocking.CallOn(ctx, p, pair) }, errOwn},
	} {
		for _, where := range testrun.Places {
			where.Do(t, func() {
				for range 3 {
					testenv.Gives(t, 42, c.want, c.name, "on a", where.Name)(c.call())
				}
			})
		}
	}
}

// TestWhere: for a coroutine the function runs on another goroutine, which is
// an ordinary one, while the Processor runs others; for a goroutine it runs in
// place.
func TestWhere(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 2)
	for _, where := range testrun.Places {
		where.Do(t, func() {
			mine, its := goroutine(), ""
			testenv.NoError(t, p.Do(bg, func() {
				its = goroutine()
				testenv.Equal(t, netco.Self().ID(), 0, where.Name,
					"the function runs on a coroutine")
			}))
			testenv.Equal(t, mine == its, (where.Name == testrun.Goroutine.Name), where.Name,
				"in place is")
		})
	}
	g, k := occupy(t, p)
	testrun.First.Go(func() {}).Wait(t) // the Processor is free
	close(g.opened)
	k.Wait(t)
}

// TestNested: a function that is run calls the pool it runs on, which is at its
// limit.
func TestNested(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 1)
	for _, where := range testrun.Places {
		where.Do(t, func() {
			n, err := blocking.CallOn(bg, p, func() (n int, err error) {
				outer := goroutine()
				err = p.Do(context.Background(), func() {
					err := p.Do(bg, func() {
						n = 3
						testenv.Equal(t, goroutine(), outer, where.Name,
							"a nested call left its goroutine")
					})
					testenv.NoError(t, err)
				})
				return n, err
			})
			if n != 3 || err != nil {
				t.Errorf("%s: %d, %v", where.Name, n, err)
			}
		})
	}
}

// TestLockOSThread: a function may lock its thread and has it to the end,
// whatever it waits for; its coroutine parks and is woken as ever.
func TestLockOSThread(t *testing.T) {
	testrun.Start(t, 2)
	p := pool(t, 2)
	for _, where := range testrun.Coroutines {
		where.Do(t, func() {
			for range 50 {
				testenv.NoError(t, p.Do(bg, func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					thread := syscall.Gettid()
					c := make(chan int)
					go func() { c <- syscall.Gettid() }()
					if <-c == thread {
						t.Error("the thread was lent out")
					}
					p.Do(bg, runtime.Gosched)
					testenv.Equal(t, syscall.Gettid(), thread, "the thread has changed")
				}))
			}
		})
	}
}

// TestAllocation: what a call allocates once there is a worker is what its
// documentation says.
func TestAllocation(t *testing.T) {
	if goruntime.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	testrun.Start(t, 1)
	p := pool(t, 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name string
		call func()
		want float64
	}{
		{"Do", func() { p.Do(bg, func() {}) }, 0},
		{"Call", func() { blocking.CallOn(bg, p, func() (int, error) { return 1, nil }) }, 1},
		{"Do until", func() { p.Do(ctx, func() {}) }, 2},
	} {
		testrun.First.Do(t, func() {
			testenv.Equal(t, testing.AllocsPerRun(300, c.call), c.want, c.name, "allocations")
		})
	}
}
