package sync_test

import (
	"runtime"
	stdsync "sync"
	"sync/atomic"
	"testing"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/sync"
)

// TestParity: what the standard's package exports is exported here too, and the
// types that are not the standard's have all its methods and fields.
func TestParity(t *testing.T) {
	testenv.Parity(t, "sync", "github.com/netco-go/netco/sync", 30,
		"Mutex", "RWMutex", "Cond", "Once", "WaitGroup",
		"+Async", "+ErrTooLarge", "+Future", "+NewFuture",
		"+NewSemaphore", "+Semaphore", "+Wait")
}

const several = 8

// everywhere runs f in a coroutine of one of two Processors, in two of them,
// and on goroutines.
func everywhere(t *testing.T, f func(t *testing.T)) {
	t.Run("goroutine", func(t *testing.T) {
		testrun.Start(t, 2)
		f(t)
	})
	for name, processors := range map[string]int{"one Processor": 1, "two Processors": 2} {
		t.Run(name, func(t *testing.T) {
			testrun.Start(t, processors)
			testrun.In(t, 0, func() { f(t) })
		})
	}
}

// all runs f(i) for several i by the WaitGroup under test.
func all(f func(i int)) {
	var wg sync.WaitGroup
	for i := range several {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// TestReadersMeet: readers hold an RWMutex together.
func TestReadersMeet(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var mu sync.RWMutex
		var inside sync.WaitGroup
		inside.Add(several)
		all(func(int) {
			mu.RLock()
			defer mu.RUnlock()
			inside.Done()
			inside.Wait()
		})
	})
}

// TestOnceMeet: all wait for the one call, which waits itself.
func TestOnceMeet(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var once sync.Once
		calls, done := 0, false
		call := func() {
			netco.Yield()
			calls++
			done = true
		}
		value := sync.OnceValue(func() int { netco.Yield(); calls++; return 7 })
		pair := sync.OnceValues(func() (int, error) { netco.Yield(); calls++; return 7, nil })
		f := sync.OnceFunc(func() { netco.Yield(); calls++ })
		all(func(int) {
			once.Do(call)
			if !done {
				t.Error("Do has returned before the first call of f")
			}
			f()
			if v, err := pair(); v != 7 || value() != 7 || err != nil {
				t.Errorf("%d, %d, %v", v, value(), err)
			}
		})
		testenv.Equal(t, calls, 4, "calls")
	})
}

// TestGo: f runs on a coroutine if a coroutine calls, else on a goroutine, and
// in any case.
func TestGo(t *testing.T) {
	on := func() (coroutines int32) {
		var wg sync.WaitGroup
		for range several {
			wg.Go(func() {
				if coroutine.Current() != nil {
					atomic.AddInt32(&coroutines, 1)
				}
			})
		}
		wg.Wait()
		return coroutines
	}
	testrun.StartWith(t, netco.Options{Processors: 1, MaxCoroutines: 4})
	testenv.Equal(t, on(), 0, "a goroutine has started", "coroutines")
	testrun.In(t, 0, func() {
		if n := on(); n == 0 || n == several {
			t.Errorf("of %d functions %d were on coroutines, with room for some", several, n)
		}
	})
}

// TestGoexit: Wait returns when f has ended, by runtime.Goexit too.
func TestGoexit(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		var wg sync.WaitGroup
		wg.Go(runtime.Goexit)
		wg.Wait()
	})
}

// TestStandards: what is the standard's is so to the compiler.
func TestStandards(t *testing.T) {
	var _ *stdsync.Map = new(sync.Map)
	var _ *stdsync.Pool = &sync.Pool{New: func() any { return 1 }}
	var l stdsync.Locker = new(sync.Mutex)
	stdsync.NewCond(l).Signal()
}
