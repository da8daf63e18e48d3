// Package testrun runs coroutines for tests: on the default Scheduler, which it
// starts for one test and shuts down at its end.
//
//	func TestX(t *testing.T) {
//		testrun.Start(t, 2)
//		testrun.In(t, 0, func() { ... }) // in a coroutine of Processor 0
//	}
//
// It is apart from testenv because tests inside the engine's packages import
// that, and the engine cannot import itself.
package testrun

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// patience is more than an orderly shutdown takes on a loaded machine.
const patience = time.Minute

// Start starts the default Scheduler with so many Processors, and shuts it down
// at the end of the test.
func Start(t testing.TB, processors int) {
	t.Helper()
	StartWith(t, netco.Options{Processors: processors})
}

// StartWith is Start with other options.
func StartWith(t testing.TB, o netco.Options) {
	t.Helper()
	if err := netco.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Shutdown(t) })
}

// CanHandOn returns why this process cannot run a Processor on without a
// coroutine that is blocked outside netco, or nil.
func CanHandOn() error { return coroutine.CanLeave() }

// Shutdown shuts the Scheduler down and waits for its coroutines to end. After
// a shutdown it does nothing.
func Shutdown(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// Force shuts the Scheduler down by force. It need not wait for a coroutine of
// a slow thread.
func Force(t testing.TB) {
	t.Helper()
	// nil if draining was enough
	if err := netco.Shutdown(testenv.Over()); err != nil && err != context.Canceled {
		t.Errorf("Shutdown: %v", err)
	}
}

// ShutdownByForce shuts the Scheduler down by force, and returns when no
// coroutine is left: Shutdown itself does not wait for slow threads.
func ShutdownByForce(t testing.TB) {
	t.Helper()
	if err := netco.Shutdown(testenv.Over()); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	AwaitEnds(t)
}

// AwaitEnds returns when no coroutine is left.
func AwaitEnds(t testing.TB) {
	t.Helper()
	testenv.Until(t, "all coroutines to end", func() bool {
		none := true
		coroutine.Range(func(coroutine.Info) bool { none = false; return false })
		return none
	})
}

// GoOn starts f in a coroutine of Processor i.
func GoOn(i int, f func()) (netco.Handle, error) {
	return netco.GoWith(netco.Spawn{On: netco.OnProcessor(i), Fn: f})
}

// In runs f in a coroutine of Processor i, and returns when f has ended. A
// goroutine or a coroutine may call it.
func In(t testing.TB, i int, f func()) {
	t.Helper()
	h, err := GoOn(i, f)
	if err != nil {
		t.Fatal(err)
	}
	h.Join()
}

// Everywhere runs f as a subtest on a goroutine, and as one in a coroutine of
// the first Processor.
func Everywhere(t *testing.T, o netco.Options, f func(t *testing.T)) {
	t.Run("goroutine", func(t *testing.T) {
		StartWith(t, o)
		f(t)
	})
	t.Run("coroutine", func(t *testing.T) {
		StartWith(t, o)
		In(t, 0, func() { f(t) })
	})
}

// With starts so many Processors for the test, and runs f in a coroutine of the
// first.
func With(t testing.TB, processors int, f func()) {
	t.Helper()
	Start(t, processors)
	In(t, 0, f)
}
