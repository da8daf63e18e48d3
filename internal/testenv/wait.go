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

// waiting measures how long a test has waited while the process ran. If the
// process or its machine was stopped for a minute, the awaited work has yet to
// be done. So the time between two looks counts as longestLook at most.
type waiting struct {
	last time.Time
	sum  time.Duration
}

const longestLook = Limit / 6

// over notes the time of a look, and reports whether Limit has passed.
func (w *waiting) over(now time.Time) bool {
	w.sum += min(now.Sub(w.last), longestLook)
	w.last = now
	return w.sum >= Limit
}

// Until waits for a condition that no channel announces. It checks less and
// less often, as the checks would be most of the cost of a wait for another
// process.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	w := waiting{last: time.Now()}
	for tries := 0; !ok(); tries++ {
		if tries < 50 {
			runtime.Gosched()
			continue
		}
		if w.over(time.Now()) {
			t.Fatalf("waited for %s in vain\n%s", what, Stacks())
		}
		pause := int64(20_000) << min(tries/50-1, 4)     // up to 320 µs
		unix.Nanosleep(&unix.Timespec{Nsec: pause}, nil) // time.Sleep takes a millisecond
	}
}

// Poll is unix.Poll, but starts over after a signal. Go preempts goroutines by
// signals, and poll then fails with EINTR even if it need not wait.
func Poll(fds []unix.PollFd, ms int) int {
	for {
		n, err := unix.Poll(fds, ms)
		if err != unix.EINTR {
			return Must(n, err)
		}
	}
}

// Await waits until c is closed or has a value, which it returns.
func Await[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	for w := (waiting{last: time.Now()}); ; {
		select {
		case v = <-c:
			return v
		case <-time.After(time.Second):
		}
		if w.over(time.Now()) {
			t.Fatalf("waited for %s in vain\n%s", what, Stacks())
		}
	}
}

// Settle waits until at most n goroutines are left. It collects garbage
// meanwhile, which ends goroutines that are kept for reuse or that nothing can
// resume.
func Settle(t testing.TB, n int) {
	t.Helper()
	Until(t, "goroutines to end", func() bool {
		runtime.GC()
		return runtime.NumGoroutine() <= n
	})
}

// Over returns a context that has ended.
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
