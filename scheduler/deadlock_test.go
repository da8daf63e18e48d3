package scheduler

import (
	"context"
	"testing"

	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/testenv"
)

// TestWokenMeanwhile: there is no deadlock where the last goroutine has woken a
// coroutine and ended while the others were looked at.
func TestWokenMeanwhile(t *testing.T) {
	s := testenv.Must(New(Options{Processors: 1, Watchdog: -1}))
	testenv.OK(t, s.Start())
	c := channel.Make[int](0)
	testenv.Must(s.Go(NewSpawn(func() {
		for _, more := c.Recv(); more; _, more = c.Recv() {
		}
	})))
	alone := func() bool { return true }
	testenv.Until(t, "a deadlock", func() bool { return s.findDeadlock(alone) != nil })
	waking := func() bool {
		c.Send(1)
		return true
	}
	for range testenv.Rounds(10_000) {
		if d := s.findDeadlock(waking); d != nil {
			t.Fatalf("%v after the coroutine was woken", d.err())
		}
		testenv.Until(t, "a deadlock", func() bool { return s.findDeadlock(alone) != nil })
	}
	c.Close()
	testenv.OK(t, s.Shutdown(context.Background()))
}
