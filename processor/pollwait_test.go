package processor

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/epoller"
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

// TestWaitEndsWithGroup: a wait, most often a goroutine's, is ended with the
// Scheduler, and with no other: an Accept by draining, a read by its end.
// Regressions: while no fds were left for a poller it waited for ever; and if a
// poller had just ended, Close panicked as well.
func TestWaitEndsWithGroup(t *testing.T) {
	for _, c := range []struct {
		name     string
		left     int // fds
		listener bool
		ended    bool // the poller has just ended
	}{
		{"no fd", 0, true, false}, {"one fd", 1, true, false},
		{"read, no fd", 0, false, false}, {"read, one fd", 1, false, false},
		{"poller", 100, true, false}, {"read, poller", 100, false, false},
		{"no fd, ended poller", 0, true, true}, {"read, no fd, ended poller", 0, false, true},
		{"ended poller", 100, true, true}, {"coroutine", 100, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := roaming(t, 1)
			l := newLine(t)
			if c.listener {
				l.pd.SetListener()
			}
			testenv.Until(t, "no poller", func() bool { return currentPoller.Load() == nil })
			if c.ended {
				gone := &goroutinePoller{ep: testenv.Must(epoller.Open[PollDesc]())}
				gone.ep.EndUnused()
				gone.ep.Close()
				currentPoller.Store(gone)
			}
			restore := leaveFDs(t, c.left)
			result := make(chan Verdict, 1)
			wait := func() {
				for {
					v, err := l.pd.Wait(l.fd, Read, coroutine.ReasonAccept, 0)
					if v != Try || err != nil {
						result <- v
						return
					}
				}
			}
			if c.name == "coroutine" {
				g.members[0].Pinned(wait)
			} else {
				go wait()
			}
			testenv.Until(t, "it waits", l.waits)
			restore()
			eachGoroutineFD(NewGroup(nil), func(*PollDesc) { t.Error("another group's fd") })
			if c.listener {
				g.Advance(Draining)
			} else {
				end(g)
			}
			testenv.Equal(t, testenv.Await(t, result, "the end of the wait"), Shutdown, "verdict")
			l.close()
		})
	}
}
