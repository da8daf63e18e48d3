package sync_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestSemaphoreHammer has coroutines on two Processors and goroutines take and
// give back, in all ways, with bounds that end as often as not. Never more are
// held than there are, and nothing is lost. The holder of all units counts in a
// plain variable, for the race detector to see.
func TestSemaphoreHammer(t *testing.T) {
	for _, size := range []int64{1, 300} { // weights above what a byte holds, too
		t.Run(fmt.Sprint(size), func(t *testing.T) { hammerSemaphore(t, size) })
	}
}

func hammerSemaphore(t *testing.T, size int64) {
	testrun.Start(t, 2)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := sync.NewSemaphore(size)
	var held, gaveUp, alone atomic.Int64
	plain := int64(0)
	crowd(t, 9, func(i int) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		for range testenv.Rounds(10_000) {
			n := int64(1)
			if size > 1 {
				n = r.Int64N(10)
			}
			if size > 1 && r.IntN(20) == 0 {
				n = size - n
			}
			if !acquire(t, s, r, n) {
				gaveUp.Add(1)
				continue
			}
			if h := held.Add(n); h > size {
				t.Errorf("%d are held", h)
			}
			if n == size {
				plain++
				alone.Add(1)
			}
			if r.IntN(2) == 0 {
				netco.Yield()
			}
			held.Add(-n)
			s.Release(n)
		}
	})
	checkFree(t, s)
	if gaveUp.Load() == 0 || plain != alone.Load() {
		t.Errorf("%d gave up; counted %d, want %d", gaveUp.Load(), plain, alone.Load())
	}
}

// acquire takes n units in a way that r chooses, and reports whether it has.
func acquire(t *testing.T, s *sync.Semaphore, r *rand.Rand, n int64) bool {
	switch r.IntN(8) {
	case 0:
		if !s.TryAcquire(n) {
			return false
		}
	case 1:
		ctx, cancel := context.WithTimeout(context.Background(),
			time.Duration(r.IntN(50))*time.Microsecond)
		err := s.AcquireContext(ctx, n)
		cancel()
		if err != nil {
			testenv.Equal(t, err, context.DeadlineExceeded)
			return false
		}
	case 2, 3, 4:
		if err := s.AcquireTimeout(n,
			time.Duration(r.IntN(50))*time.Microsecond); err != nil {
			testenv.Equal(t, err, os.ErrDeadlineExceeded)
			return false
		}
	default:
		s.Acquire(n)
	}
	return true
}
