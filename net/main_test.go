package net_test

import (
	"context"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// limit is when a test gives up waiting. No test passes by waiting that long.
const limit = time.Minute

// start starts the default Scheduler with n Processors until the end of the
// test.
func start(t testing.TB, n int) {
	t.Helper()
	if err := netco.Start(netco.Options{Processors: n}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := netco.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// run runs fn as a coroutine and waits for it.
func run(t testing.TB, fn func()) {
	t.Helper()
	done := make(chan struct{})
	if _, err := netco.Go(func() { defer close(done); fn() }); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("waited for the coroutine in vain")
	}
}
