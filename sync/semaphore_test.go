package sync_test

import (
	"context"
	"math"
	stdsync "sync"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// checkFree fails unless all units are free and there are no waiters.
func checkFree(t *testing.T, s *sync.Semaphore) {
	t.Helper()
	if free, waiting := s.Free(); free != s.Size() || waiting {
		t.Errorf("at the end %d of %d units are free, somebody waits: %t", free, s.Size(), waiting)
	}
}

func TestSemaphoreTry(t *testing.T) {
	s := sync.NewSemaphore(3)
	for _, step := range []struct {
		n    int64 // negative: released
		want bool
	}{
		{0, true}, {4, false}, {math.MaxInt64, false}, {2, true}, {2, false}, {1, true}, {1, false},
		{0, true},
		{-1, true}, {2, false}, {1, true}, {-3, true}, {3, true}, {-3, true},
	} {
		if step.n < 0 {
			s.Release(-step.n)
		} else if got := s.TryAcquire(step.n); got != step.want {
			free, _ := s.Free()
			t.Errorf("TryAcquire(%d) with %d free: %t", step.n, free, got)
		}
	}
	checkFree(t, s)
}

// TestSemaphoreMisuse: misuse panics, says why and changes nothing.
func TestSemaphoreMisuse(t *testing.T) {
	for _, c := range []struct {
		want string
		op   func(s *sync.Semaphore) // of 5 units, 2 of them held
	}{
		{"sync: Release of 3 units of a Semaphore of which 2 are held",
			func(s *sync.Semaphore) { s.Release(3) }},
		{"sync: Release of -1 units of a Semaphore of which 2 are held",
			func(s *sync.Semaphore) { s.Release(-1) }},
		{"sync: Release of 9223372036854775807 units of a Semaphore of which 2 are held",
			func(s *sync.Semaphore) { s.Release(math.MaxInt64) }},
		{"sync: Acquire of 6 units of a Semaphore that has 5", func(s *sync.Semaphore) {
			s.Acquire(6)
		}},
		{"sync: Acquire of -1 units of a Semaphore that has 5", func(s *sync.Semaphore) {
			s.Acquire(-1)
		}},
		{"sync: Acquire of -1 units", func(s *sync.Semaphore) { s.AcquireTimeout(-1, 0) }},
		{"sync: TryAcquire of -1 units", func(s *sync.Semaphore) { s.TryAcquire(-1) }},
		{"sync: NewSemaphore of -1 units", func(*sync.Semaphore) { sync.NewSemaphore(-1) }},
	} {
		for _, waiters := range []int{0, 1} {
			s := sync.NewSemaphore(5)
			s.Acquire(2)
			var wg stdsync.WaitGroup
			for range waiters {
				wg.Go(func() { s.Acquire(5); s.Release(5) })
			}
			sync.Await(s, waiters)
			testenv.Equal(t, testenv.PanicOf(func() { c.op(s) }), any(c.want), "panic with")
			if free, _ := s.Free(); free != 3 {
				t.Errorf("after %q %d are free", c.want, free)
			}
			s.Release(2)
			wg.Wait()
			checkFree(t, s)
		}
	}
}

// TestSemaphoreTooLarge: a bounded call for more than there are returns at
// once, and one for nothing does not wait.
func TestSemaphoreTooLarge(t *testing.T) {
	s := sync.NewSemaphore(2)
	s.Acquire(2)
	testenv.Fails(t, s.AcquireTimeout(3, time.Hour), sync.ErrTooLarge)
	testenv.Fails(t, s.AcquireContext(context.Background(), 3), sync.ErrTooLarge)
	testenv.Fails(t, s.AcquireTimeout(0, 0), nil)
}

// TestSemaphoreOrder: waiters are served in the order of arrival, as soon as
// there are enough units, and none passes another by wanting fewer.
func TestSemaphoreOrder(t *testing.T) {
	testrun.Start(t, 2)
	s := sync.NewSemaphore(1000)
	s.Acquire(1000)
	weights := []int64{3, 1, 8, 2, 1, 600, 5, 300}
	in := make(chan int, len(weights)) // never full
	for i, n := range weights {
		queue := func() {
			s.Acquire(n)
			in <- i
		}
		if i%3 == 2 {
			go queue()
		} else if _, err := testrun.GoOn(i%3, queue); err != nil {
			t.Fatal(err)
		}
		sync.Await(s, i+1)
	}
	for i, n := range weights {
		s.Release(n - 1)
		if left := s.Waiting(); left != len(weights)-i {
			t.Fatalf("one unit short for %d, %d wait", i, left)
		}
		if s.TryAcquire(0) || s.AcquireTimeout(0, 0) == nil {
			t.Error("TryAcquire overtook waiters")
		}
		s.Release(1)
		if got := <-in; got != i {
			t.Fatalf("%d is in, want %d", got, i)
		}
	}
	s.Release(3 + 1 + 8 + 2 + 1 + 600 + 5 + 300)
	s.Release(80)
	checkFree(t, s)
}
