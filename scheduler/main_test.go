package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

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
	testenv.Split(m, 4)
}

// threads makes as many threads as any test needs at once, before threads are
// counted: Go keeps the threads it has made.
func threads() {
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 32}))
	testenv.MustOK(s.Start())
	testenv.MustOK(s.Shutdown(context.Background()))
}

// child runs the child of that name, and returns its output and exit status.
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

// startDefault starts the default Scheduler, and shuts it down at the end of
// the test.
func startDefault(t testing.TB, o netco.Options) {
	t.Helper()
	testenv.OK(t, netco.Start(o))
	t.Cleanup(func() { testenv.NoError(t, netco.Shutdown(context.Background())) })
}

// start makes a running Scheduler. It ends with the test, if not before.
func start(t testing.TB, o scheduler.Options) *scheduler.Scheduler {
	t.Helper()
	s := testenv.Must(scheduler.New(o))
	testenv.OK(t, s.Start())
	t.Cleanup(func() { shutdown(t, s) })
	return s
}

// shutdown ends a Scheduler whose coroutines end by themselves.
func shutdown(t testing.TB, s *scheduler.Scheduler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Limit)
	defer cancel()
	testenv.Fails(t, s.Shutdown(ctx), nil, "Shutdown")
}
