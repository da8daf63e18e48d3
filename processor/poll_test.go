package processor

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/clock"
	"github.com/netco-go/netco/internal/testenv"
)

func socketpair(t *testing.T) (a, b int) {
	t.Helper()
	l := newLine(t)
	t.Cleanup(func() { unix.Close(l.fd); unix.Close(l.peer) })
	return l.fd, l.peer
}

// endsOfWaits are for TestWaitVerdicts.
var endsOfWaits = []struct {
	name          string
	before, while func(pd *PollDesc, peer int)
	want          Verdict
}{
	{"data is there", send, nil, Try},
	{"data comes", nil, send, Try},
	{"peer closes", nil, shutdown, Try},
	{"deadline over", deadlineIn(0), nil, Timeout},
	{"deadline passes", deadlineIn(time.Millisecond), nil, Timeout},
	{"deadline set meanwhile", nil, deadlineIn(0), Timeout},
	{"evicted before", evict, nil, Closing},
	{"evicted meanwhile", nil, evict, Closing},
}

func send(_ *PollDesc, peer int) { unix.Write(peer, []byte{1}) }

func shutdown(_ *PollDesc, peer int) { unix.Shutdown(peer, unix.SHUT_RDWR) }

func evict(pd *PollDesc, _ int) { pd.Evict() }

func deadlineIn(d time.Duration) func(*PollDesc, int) {
	return func(pd *PollDesc, _ int) { pd.SetDeadline(Read, clock.Now()+int64(d)) }
}

// TestWaitVerdicts: what ends a wait, before it and during it, for a coroutine
// and for an ordinary goroutine.
func TestWaitVerdicts(t *testing.T) {
	g := started(t, 1)
	for _, where := range []struct {
		name string
		run  func(func())
	}{
		{"coroutine", func(f func()) { on(t, g.members[0], f) }},
		{"goroutine", func(f func()) { f() }},
	} {
		for _, c := range endsOfWaits {
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
							defer func() {
								if t.Failed() { // for want of a waiter
									pd.Evict()
								}
							}()
							testenv.Until(t, "a waiter", pd.read.hasWaiter)
							c.while(pd, peer)
						})
					}
					got = waitToRead(t, pd, fd)
				})
				testenv.Equal(t, got, c.want, "verdict")
				pd.Unbind()
			})
		}
	}
}

// waitToRead waits until there is something to read, or the wait has ended
// otherwise. Try may come early: the registration itself makes an edge for
// writing, never one for reading.
func waitToRead(t *testing.T, pd *PollDesc, fd int) Verdict {
	for {
		v, err := pd.Wait(fd, Read, coroutine.ReasonRead, 0)
		testenv.NoError(t, err)
		var buf [1]byte
		if _, err := unix.Read(fd, buf[:]); v != Try || err != unix.EAGAIN {
			return v
		}
	}
}

// TestLateWakeHammer: a wake that SetDeadline began while the wait timed out
// comes when the coroutine has gone on, and must touch nothing of it: not the
// waiter, which is prepared for another wait, nor end that one without need.
func TestLateWakeHammer(t *testing.T) {
	g := started(t, 1)
	fd, _ := socketpair(t)
	pd := new(PollDesc)
	var over atomic.Bool
	var timeouts, kicks int
	rounds := testenv.Rounds(20_000)
	h := g.members[0].Pinned(func() {
		defer over.Store(true)
		for i := range strikes(rounds, 100) {
			until := clock.Now() + int64(i%20)*1000
			testenv.Gives(t, Try, nil, "verdict")(pd.Wait(fd, Read, coroutine.ReasonRead, until))
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
	g := started(t, 1)
	fd, peer := socketpair(t)
	pd := new(PollDesc)
	on(t, g.members[0], func() {
		for range 3 {
			co := coroutine.Current()
			co.MakeReady(co.Ticket(), coroutine.WakeReady)
			testenv.Gives(t, Try, nil, "verdict")(pd.Wait(fd, Read, coroutine.ReasonRead, 0))
			testenv.Equal(t, pd.read.w.Load(), nil, "the waiter is still in the gate")
		}
		unix.Write(peer, []byte{1})
		testenv.Gives(t, Try, nil, "verdict")(pd.Wait(fd, Read, coroutine.ReasonRead, 0))
	})
	pd.Unbind()
}

// TestEndDefault: a default Scheduler that two threads end ends once, and an fd
// opened before seems to go on at no time.
func TestEndDefault(t *testing.T) {
	for range strikes(testenv.Rounds(20_000), 100) {
		g, pd := NewGroup(nil), new(PollDesc)
		pd.Opened()
		SetDefaultGroup(g)
		var ends sync.WaitGroup
		var at atomic.Int32
		for range 2 {
			ends.Go(func() {
				for at.Add(1); at.Load() < 2; {
				}
				g.Advance(Stopped)
				testenv.True(t, pd.draining(), "an fd goes on")
			})
		}
		ends.Wait()
		testenv.Equal(t, *byDefault.Load(), defaultScheduler{nil, pd.opened + 1}, "after the end")
	}
}
