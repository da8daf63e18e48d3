package diagnose_test

import (
	"context"
	"os"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// children are what child processes do.
var children = testenv.Children{}

func TestMain(m *testing.M) {
	if child := children.Chosen(); child != nil {
		child()
		os.Exit(0)
	}
	threads()
	testenv.Split(m, 2)
}

// threads makes as many threads as any test needs at once, before they are
// counted: Go keeps the threads it has made.
func threads() {
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 32}))
	testenv.MustOK(s.Start())
	testenv.MustOK(s.Shutdown(context.Background()))
}

// start makes a running Scheduler, which the test shuts down.
func start(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s := testenv.Must(scheduler.New(o))
	testenv.OK(t, s.Start())
	return s
}

// shutdown ends a Scheduler whose coroutines end by themselves.
func shutdown(t testing.TB, s *scheduler.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Limit)
	defer cancel()
	testenv.NoError(t, s.Shutdown(ctx))
}
