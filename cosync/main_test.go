package cosync_test

import (
	"context"
	"errors"
	"os"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// scaled is how often a hammer strikes: n times at full length.
func scaled(n int) int { return testenv.Rounds(n) }

// within fails the whole run with all stacks when a test that could hang has
// not ended in five times d, which is ample on a machine of one's own.
func within(t testing.TB, d time.Duration) {
	d *= 5
	timer := time.AfterFunc(d, func() {
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		panic(t.Name() + ": not over after " + d.String())
	})
	t.Cleanup(func() { timer.Stop() })
}

// start starts the default Scheduler with two Processors for the test, and ends
// it in good order afterwards.
func start(t testing.TB) {
	t.Helper()
	if err := netco.Start(netco.Options{Processors: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := netco.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

// endByForce shuts the default Scheduler down by force and returns when no
// coroutine is left: Shutdown itself does not wait for slow threads.
func endByForce(t testing.TB) {
	t.Helper()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := netco.Shutdown(now); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	awaitEnds(t)
}

// awaitEnds returns when no coroutine is left.
func awaitEnds(t testing.TB) {
	t.Helper()
	testenv.Until(t, "all coroutines to end", func() bool {
		none := true
		coroutine.Look(func(coroutine.Info) bool { none = false; return false })
		return none
	})
}

// crowd runs f(i) for i from 0 to n-1, each in a coroutine of Processor 0 or 1
// or, every third, in a goroutine, and returns when all have ended.
func crowd(t testing.TB, n int, f func(i int)) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		who := func() {
			defer wg.Done()
			f(i)
		}
		if i%3 == 2 {
			go who()
		} else if _, err := netco.GoOn(i%3, who); err != nil {
			t.Error(err)
			wg.Done()
		}
	}
	wg.Wait()
}

// inCoroutine runs f in a coroutine of Processor i and returns when it has
// ended.
func inCoroutine(t testing.TB, i int, f func()) {
	t.Helper()
	done := make(chan struct{})
	if _, err := netco.GoOn(i, func() { defer close(done); f() }); err != nil {
		t.Fatal(err)
	}
	<-done
}

// raceEnabled is whether the race detector runs, which allocates here and
// there.
const raceEnabled = goruntime.RaceEnabled
