package sync_test

import (
	"context"
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

// TestParity: what the standard's package exports is exported here too, and the
// types that are not the standard's have all its methods and fields.
func TestParity(t *testing.T) {
	testenv.Parity(t, "sync", "github.com/netco-go/netco/sync", 30, "Mutex", "RWMutex", "Cond",
		"Once", "WaitGroup", "+Async", "+ErrTooLarge", "+Future", "+NewFuture", "+NewSemaphore",
		"+Semaphore", "+Wait")
}

const several = 8

// everywhere runs f on a goroutine, and in a coroutine of one of two Processors
// and of a single one.
func everywhere(t *testing.T, f func(t *testing.T)) {
	testrun.Everywhere(t, netco.Options{Processors: 2}, f)
	t.Run("one Processor", func(t *testing.T) { testrun.With(t, 1, func() { f(t) }) })
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

// TestOnceMeet: all wait for the one call, which waits itself, without blocking
// the Processor, and see what it did.
func TestOnceMeet(t *testing.T) {
	testrun.Start(t, 2)
	for range testenv.Rounds(300) {
		var once sync.Once
		calls, done := 0, false
		call := func() { netco.Sleep(20 * time.Microsecond); calls++ }
		value := sync.OnceValue(func() int { call(); return 7 })
		pair := sync.OnceValues(func() (int, error) { call(); return 7, nil })
		f := sync.OnceFunc(call)
		crowd(t, 9, func(int) {
			once.Do(func() { call(); done = true })
			if !done {
				t.Error("Do has returned before the first call of f")
			}
			f()
			if v, err := pair(); v != 7 || value() != 7 || err != nil {
				t.Errorf("%d, %d, %v", v, value(), err)
			}
		})
		testenv.Equal(t, calls, 4, "calls")
	}
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

// TestStandards: what is the standard's is so to the compiler.
func TestStandards(t *testing.T) {
	var _ *stdsync.Map = new(sync.Map)
	var _ *stdsync.Pool = &sync.Pool{New: func() any { return 1 }}
	var l stdsync.Locker = new(sync.Mutex)
	stdsync.NewCond(l).Signal()
}

// TestWait: it parks the coroutine and not its Processor, and takes no wake but
// the right one.
func TestWait(t *testing.T) {
	testenv.TurnsOrder(t) // one thread orders them
	testrun.Start(t, 2)
	testrun.In(t, 0, func() {
		ctx, cancel := context.WithCancel(context.Background())
		var waiter *coroutine.Coroutine
		result := sync.NewFuture[error]()
		h := testenv.Must(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			waiter = coroutine.Current()
			result.Set(sync.Wait(ctx))
		}}))
		for waiter == nil || waiter.Reason() != coroutine.ReasonContext {
			netco.Yield()
		}
		for range 3 { // wakes that mean something else
			waiter.MakeReady(waiter.Ticket(), coroutine.WakeReady)
			netco.Yield()
		}
		if result.Done() {
			t.Error("an early wake ended the wait")
		}
		cancel()
		if err, _ := result.Get(); err != context.Canceled {
			t.Errorf("cancelled: %v", err)
		}
		h.Join()
	})
}

func TestMain(m *testing.M) { testenv.Main(m) }

// crowd runs f(i) for i from 0 to n-1, each in a coroutine of Processor 0 or 1
// or, every third, in a goroutine, and returns when all have ended.
func crowd(t testing.TB, n int, f func(i int)) {
	t.Helper()
	var wg stdsync.WaitGroup
	for i := range n {
		wg.Add(1)
		run := func() {
			defer wg.Done()
			f(i)
		}
		on := netco.OnProcessor(i % 3)
		if i%3 == 2 {
			go run()
		} else if _, err := netco.GoWith(netco.Spawn{On: on, Fn: run}); err != nil {
			t.Error(err)
			wg.Done()
		}
	}
	wg.Wait()
}
