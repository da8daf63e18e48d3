package processor

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
)

func socketpair(t *testing.T) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds[0], fds[1]
}

// TestWaitVerdicts: what ends a wait, before it and during it, for a coroutine
// and for an ordinary goroutine.
func TestWaitVerdicts(t *testing.T) {
	within(t, 30*time.Second)
	g := started(t, 1)
	p := g.members[0]
	for _, where := range []struct {
		name string
		run  func(func())
	}{
		{"coroutine", func(f func()) { on(t, p, f) }},
		{"goroutine", func(f func()) { f() }},
	} {
		for _, c := range []struct {
			name          string
			before, while func(pd *PollDesc, peer int)
			want          Verdict
		}{
			{name: "data is there", before: func(_ *PollDesc, peer int) { unix.Write(peer, []byte{1}) }, want: Ready},
			{name: "data comes", while: func(_ *PollDesc, peer int) { unix.Write(peer, []byte{1}) }, want: Ready},
			{name: "peer closes", while: func(_ *PollDesc, peer int) { unix.Shutdown(peer, unix.SHUT_RDWR) }, want: Ready},
			{name: "deadline over", before: func(pd *PollDesc, _ int) { pd.SetDeadline(Read, clock.Now()) }, want: Timeout},
			{name: "deadline passes", before: func(pd *PollDesc, _ int) { pd.SetDeadline(Read, clock.Now()+1e6) }, want: Timeout},
			{name: "deadline set meanwhile", while: func(pd *PollDesc, _ int) { pd.SetDeadline(Read, 1) }, want: Timeout},
			{name: "evicted before", before: func(pd *PollDesc, _ int) { pd.Evict() }, want: Closing},
			{name: "evicted meanwhile", while: func(pd *PollDesc, _ int) { pd.Evict() }, want: Closing},
		} {
			t.Run(where.name+"/"+c.name, func(t *testing.T) {
				fd, peer := socketpair(t)
				pd := new(PollDesc)
				var got Verdict
				where.run(func() {
					if c.before != nil {
						c.before(pd, peer)
					}
					var wg sync.WaitGroup
					defer wg.Wait()
					if c.while != nil {
						wg.Go(func() {
							eventually(t, "a waiter", func() bool { w := pd.read.w.Load(); return w != nil && w != readyW })
							c.while(pd, peer)
						})
					}
					for { // Ready may be early: the registration itself makes an edge for writing, never one for reading
						var err error
						if got, err = pd.Wait(fd, Read, coroutine.ReasonRead, 0); err != nil {
							t.Error(err)
						}
						var buf [1]byte
						if _, err := unix.Read(fd, buf[:]); got != Ready || err != unix.EAGAIN {
							break
						}
					}
				})
				if got != c.want {
					t.Errorf("verdict %d, want %d", got, c.want)
				}
				pd.Unbind()
			})
		}
	}
}

// TestLateKickHammer: a wake that SetDeadline began while the wait timed out
// comes when the coroutine has gone on, and must touch nothing of it: not the
// waiter, which is prepared for another wait, nor end that one without need.
func TestLateKickHammer(t *testing.T) {
	within(t, 3*time.Minute)
	g := started(t, 1)
	fd, _ := socketpair(t)
	pd := new(PollDesc)
	var over atomic.Bool
	var timeouts, kicks int
	rounds := scaled(20_000)
	h := g.members[0].Pinned(func() {
		defer over.Store(true)
		for i, began := 0, time.Now(); i < rounds && (i < 100 || time.Since(began) < 10*time.Second); i++ {
			until := clock.Now() + int64(i%20)*1000
			if v, err := pd.Wait(fd, Read, coroutine.ReasonRead, until); v != Ready || err != nil {
				t.Errorf("verdict %d, %v", v, err)
			}
			if clock.Now() >= until {
				timeouts++
			} else {
				kicks++
			}
			coroutine.Yield()
		}
	})
	for !over.Load() {
		pd.SetDeadline(Read, 0)
	}
	h.Join()
	pd.Unbind()
	t.Logf("%d timeouts, %d kicks", timeouts, kicks)
}

// TestWaitEndsEarly: a wake left over from a wait that gave up ends the next
// one early. Before, that one left its waiter in the gate, and the wait after
// it found "two waiters in one direction".
func TestWaitEndsEarly(t *testing.T) {
	within(t, 30*time.Second)
	g := started(t, 1)
	fd, peer := socketpair(t)
	pd := new(PollDesc)
	on(t, g.members[0], func() {
		for range 3 {
			co := coroutine.Current()
			co.Ready(co.Ticket(), coroutine.WakeReady)
			if v, err := pd.Wait(fd, Read, coroutine.ReasonRead, 0); v != Ready || err != nil {
				t.Errorf("verdict %d, %v", v, err)
			}
			if pd.read.w.Load() != nil {
				t.Error("the waiter is still in the gate")
			}
		}
		unix.Write(peer, []byte{1})
		if v, err := pd.Wait(fd, Read, coroutine.ReasonRead, 0); v != Ready || err != nil {
			t.Errorf("verdict %d, %v", v, err)
		}
	})
	pd.Unbind()
}
