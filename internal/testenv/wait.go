package testenv

import (
	"context"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Limit is when a test gives up waiting. No test passes by waiting that long.
const Limit = time.Minute

// Until waits for a condition that no channel announces.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(Limit)
	for tries := 0; !ok(); tries++ {
		if tries < 50 {
			runtime.Gosched()
			continue
		}
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain\n%s", what, Stacks())
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil) // time.Sleep takes a millisecond
	}
}

// Await waits until c is closed or has a value, which it returns.
func Await[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(Limit):
		t.Fatalf("waited for %s in vain\n%s", what, Stacks())
	}
	return v
}

// Settle waits until at most n goroutines are left. It collects garbage
// meanwhile: some are kept for reuse, or for what nothing can resume.
func Settle(t testing.TB, n int) {
	t.Helper()
	Until(t, "goroutines to end", func() bool {
		runtime.GC()
		return runtime.NumGoroutine() <= n
	})
}

// Over returns a context that is over.
func Over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Stacks returns the stacks of all goroutines.
func Stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
}
