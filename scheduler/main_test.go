package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

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
	s, err := scheduler.New(scheduler.Options{Processors: 32})
	if err == nil {
		err = s.Start()
	}
	if err == nil {
		err = s.Shutdown(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

// child runs this test binary as a child that does what children has under
// name, and returns its output and exit status.
func child(t *testing.T, name string) (output string, status int) {
	t.Helper()
	cmd := children.Command(t, name)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// scaled is how often a hammer strikes: n times at full length.
func scaled(n int) int { return testenv.Rounds(n) }

// within fails the whole run with all stacks when a test that could hang has
// not ended in time.
func within(t testing.TB, d time.Duration) {
	timer := time.AfterFunc(d, func() {
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		panic(t.Name() + ": not over after " + d.String())
	})
	t.Cleanup(func() { timer.Stop() })
}

// startDefault starts the default Scheduler for a test, which ends it.
func startDefault(t testing.TB, o netco.Options) {
	t.Helper()
	within(t, 5*time.Minute)
	testenv.OK(t, netco.Start(o))
	t.Cleanup(func() { testenv.NoError(t, netco.Shutdown(context.Background())) })
}

// start makes a running Scheduler, which the test shuts down.
func start(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s, err := scheduler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// shutdown ends a Scheduler whose coroutines end by themselves.
func shutdown(t testing.TB, s *scheduler.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Limit)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// over is a context that is over.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
