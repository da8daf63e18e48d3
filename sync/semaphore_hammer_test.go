package sync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestSemaphoreHammer has coroutines on two Processors and goroutines take and
// give back, in all ways, with bounds that end as often as not. Never more are
// held than there are, and nothing is lost.
func TestSemaphoreHammer(t *testing.T) {
	testrun.Start(t, 2)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const size = 300 // weights above what a byte holds, too
	s := sync.NewSemaphore(size)
	var held, gaveUp atomic.Int64
	crowd(t, 9, func(i int) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		for range testenv.Rounds(20_000) {
			n := r.Int64N(10)
			if r.IntN(20) == 0 {
				n = size - n
			}
			switch r.IntN(8) {
			case 0:
				if !s.TryAcquire(n) {
					continue
				}
			case 1:
				ctx, cancel := context.WithTimeout(context.Background(),
					time.Duration(r.IntN(50))*time.Microsecond)
				err := s.AcquireContext(ctx, n)
				cancel()
				if err != nil {
					if err != context.DeadlineExceeded {
						t.Error(err)
					}
					gaveUp.Add(1)
					continue
				}
			case 2, 3, 4:
				if err := s.AcquireTimeout(n,
					time.Duration(r.IntN(50))*time.Microsecond); err != nil {
					if err != os.ErrDeadlineExceeded {
						t.Error(err)
					}
					gaveUp.Add(1)
					continue
				}
			default:
				s.Acquire(n)
			}
			if h := held.Add(n); h > size {
				t.Errorf("%d are held", h)
			}
			if r.IntN(2) == 0 {
				netco.Yield()
			}
			held.Add(-n)
			s.Release(n)
		}
	})
	checkFree(t, s)
	if gaveUp.Load() == 0 {
		t.Error("no waiter gave up")
	}
}

// TestSemaphoreCount counts in a plain variable under a Semaphore of one unit:
// the race detector must see that one holder comes after the other.
func TestSemaphoreCount(t *testing.T) {
	testrun.Start(t, 2)
	s := sync.NewSemaphore(1)
	n, want := 0, atomic.Int64{}
	crowd(t, 6, func(i int) {
		for k := range testenv.Rounds(10_000) {
			switch {
			case k%3 == 0:
				s.Acquire(1)
			case k%3 == 1 && s.AcquireTimeout(1, time.Microsecond) != nil:
				continue
			case k%3 == 2 && !s.TryAcquire(1):
				continue
			}
			n++
			if k%4 == 0 {
				netco.Yield()
			}
			s.Release(1)
			want.Add(1)
		}
	})
	if int64(n) != want.Load() {
		t.Errorf("counted %d, want %d", n, want.Load())
	}
	checkFree(t, s)
}

// TestSemaphoreShutdown: a forced shutdown takes waiters out of the queue,
// unwinds them or returns the error, and the waiters behind them continue; no
// unit is lost.
func TestSemaphoreShutdown(t *testing.T) {
	for range testenv.Rounds(100) {
		if err := netco.Start(netco.Options{Processors: 2}); err != nil {
			t.Fatal(err)
		}
		s := sync.NewSemaphore(4)
		s.Acquire(2)
		var ended atomic.Int32
		for i := range 4 {
			if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
				defer ended.Add(1)
				if i < 2 {
					s.Acquire(3)
					t.Error("Acquire returned")
				} else if err := s.AcquireTimeout(3, time.Hour); !errors.Is(err,
					coroutine.ErrShutdown) {
					t.Errorf("AcquireTimeout: %v", err)
				}
			}}); err != nil {
				t.Fatal(err)
			}
			s.AwaitWaiting(i + 1)
		}
		var wg stdsync.WaitGroup
		wg.Go(func() { s.Acquire(2); s.Release(2) }) // behind them all, and there is enough for it
		s.AwaitWaiting(5)
		testrun.ShutdownByForce(t)
		wg.Wait()
		if n := ended.Load(); n != 4 {
			t.Errorf("%d of 4 ended", n)
		}
		s.Release(2)
		checkFree(t, s)
	}
}

// TestSemaphoreShutdownHammer ends, by a forced shutdown, coroutines that
// acquire and release, while goroutines do the same.
func TestSemaphoreShutdownHammer(t *testing.T) {
	for range testenv.Rounds(100) {
		if err := netco.Start(netco.Options{Processors: 2}); err != nil {
			t.Fatal(err)
		}
		s := sync.NewSemaphore(4)
		var stop atomic.Bool
		use := func(i int) {
			for k := 0; !stop.Load(); k++ {
				n := int64((i+k)%4 + 1)
				if k%2 == 0 {
					s.Acquire(n)
				} else if s.AcquireTimeout(n, 5*time.Microsecond) != nil {
					continue
				}
				func() {
					defer s.Release(n)
					netco.Yield()
				}()
			}
		}
		var wg stdsync.WaitGroup
		for i := range 2 {
			wg.Go(func() { use(i) })
		}
		for i := range 6 {
			if _, err := netco.GoWith(netco.Spawn{On: netco.OnProcessor(i % 2), Fn: func() {
				use(i)
			}}); err != nil {
				t.Fatal(err)
			}
		}
		now, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		netco.Shutdown(now)
		cancel()
		stop.Store(true)
		wg.Wait()
		testrun.AwaitEnds(t)
		checkFree(t, s)
	}
}
