package scheduler_test

import (
	"context"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
)

// TestRunHeldUp: a deadlock that is found while Run is still starting its
// coroutine ends Run.
func TestRunHeldUp(t *testing.T) {
	core, _ := observer.New(zapcore.InfoLevel)
	logs, release := make(chan struct{}, 2), make(chan struct{})
	s := testenv.Must(scheduler.New(scheduler.Options{Processors: 1, Watchdog: -1,
		Logger: zap.New(core, zap.Hooks(func(zapcore.Entry) error {
			logs <- struct{}{}
			<-release
			return nil
		}))}))
	end := func() int { return diagnose.EndRuns(&diagnose.DeadlockError{Count: 1}) }
	run := func(fn func()) error { return s.Run(scheduler.Spawn{Fn: fn}) }
	if err := run(func() {}); err != engine.ErrNotStarted || end() != 0 {
		t.Fatalf("before Start: %v, %d calls under way", err, end())
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() { started <- s.Start() }()
	<-logs // under the lock that the start of a coroutine takes
	c := channel.Make[int](0)
	go func() { ended <- run(func() { c.Recv() }) }()
	testenv.Until(t, "Run", func() bool { return end() == 1 })
	close(release)
	testenv.OK(t, <-started)
	testenv.Fails(t, <-ended, diagnose.ErrDeadlock, "Run")
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}
