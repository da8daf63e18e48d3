package channel_test

import (
	"context"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) {
	// Threads that Go has made it keeps: they are made before they are counted.
	netco.Start(netco.Options{Processors: 4})
	netco.Shutdown(context.Background())
	testenv.Main(m)
}

// scaled is how often a hammer strikes: n times at full length.
func scaled(n int) int { return testenv.Rounds(n) }

// long is more than any event takes that these tests wait for.
const long = time.Minute

// start starts the default Scheduler, which the test's end shuts down, within
// long.
func start(t testing.TB, processors int) {
	t.Helper()
	if err := netco.Start(netco.Options{Processors: processors}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t) })
}

func shutdown(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// with runs fn as a coroutine of Processor 0 of so many, and waits for its end
// and for that of all others.
func with(t testing.TB, processors int, fn func()) {
	t.Helper()
	start(t, processors)
	h, err := netco.GoOn(0, fn)
	if err != nil {
		t.Fatal(err)
	}
	h.Join()
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
