package scheduler

import (
	"context"
	"testing"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
)

// TestRunHeldUp: a deadlock that is found while Run is held up in the start of
// its coroutine ends Run.
func TestRunHeldUp(t *testing.T) {
	s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
	end := func() int { return diagnose.EndRuns(&DeadlockError{Count: 1}) }
	if err := s.Run(Spawn{Fn: func() {}}); err != engine.ErrNotStarted || end() != 0 {
		t.Fatalf("before Start: %v, %d calls under way", err, end())
	}
	testenv.OK(t, s.Start())
	ended := make(chan error, 1)
	c := channel.Make[int](0)
	s.mu.Lock() // which the start takes
	go func() { ended <- s.Run(Spawn{Fn: func() { c.Recv() }}) }()
	testenv.Until(t, "Run", func() bool { return end() == 1 })
	s.mu.Unlock()
	testenv.Fails(t, <-ended, diagnose.ErrDeadlock, "Run")
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}
