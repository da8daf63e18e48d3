package processor

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
)

// leaveFDs lets the process open n more fds at most, until the function that it
// returns is called.
func leaveFDs(t *testing.T, n int) (restore func()) {
	t.Helper()
	var was unix.Rlimit
	testenv.OK(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	lowest := testenv.Must(unix.Dup(2))
	unix.Close(lowest)
	few := was
	few.Cur = uint64(lowest + n)
	testenv.OK(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	return func() { unix.Setrlimit(unix.RLIMIT_NOFILE, &was) }
}

// TestEndWithoutFDs: a goroutine that waits while no fds are left for a poller
// is ended with the Scheduler, as any other: an Accept by draining, a read by
// its end. It waited for ever.
func TestEndWithoutFDs(t *testing.T) {
	for _, c := range []struct {
		name     string
		left     int // fds
		listener bool
	}{
		{"no fd", 0, true}, {"one fd", 1, true},
		{"read, no fd", 0, false}, {"read, one fd", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := roaming(t, 1)
			l := newLine(t)
			if c.listener {
				l.pd.SetListener()
			}
			testenv.Until(t, "no poller", func() bool { return currentPoller.Load() == nil })
			restore := leaveFDs(t, c.left)
			result := make(chan Verdict, 1)
			go func() {
				for {
					v, err := l.pd.Wait(l.fd, Read, coroutine.ReasonAccept, 0)
					if v != Try || err != nil {
						result <- v
						return
					}
				}
			}()
			testenv.Until(t, "it waits", l.waits)
			restore()
			if c.listener {
				g.Advance(Draining)
			} else {
				end(g)
			}
			testenv.Equal(t, <-result, Shutdown, "verdict")
			l.close()
		})
	}
}
