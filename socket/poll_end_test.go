package socket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestPollContext: the end of the context ends the wait with its error, before
// it has begun and during it, and leaves nothing.
func TestPollContext(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		fd := eventfd(t, 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k := p.Go(func() {
			if n, err := socket.PollContext(ctx, in(fd)); n != 0 || err != context.Canceled {
				t.Errorf("%d, %v", n, err)
			}
		})
		k.UntilParked(t, coroutine.ReasonRead)
		cancel()
		k.Wait(t)
		early, cancelEarly := context.WithTimeout(context.Background(), time.Hour)
		defer cancelEarly()
		late, cancelLate := context.WithTimeout(context.Background(), 2*time.Millisecond)
		defer cancelLate()
		ring(fd)
		p.Do(t, func() {
			if n, err := socket.PollContext(ctx, in(fd)); n != 0 || err != context.Canceled {
				t.Errorf("cancelled, and ready: %d, %v", n, err)
			}
			if n, err := socket.PollContext(early, in(fd)); n != 1 || err != nil {
				t.Errorf("ready: %d, %v", n, err)
			}
			drain(fd)
			if n, err := socket.PollContext(late, in(fd)); n != 0 || err != context.DeadlineExceeded {
				t.Errorf("deadline: %d, %v", n, err)
			}
		})
		k = p.Go(func() {
			if n, err := socket.PollContext(context.Background(), in(fd)); n != 1 || err != nil {
				t.Errorf("without an end: %d, %v", n, err)
			}
		})
		k.UntilParked(t, coroutine.ReasonRead)
		ring(fd)
		k.Wait(t)
	})
}

func countFDs(t testing.TB) int {
	t.Helper()
	list := testenv.Must(os.ReadDir("/proc/self/fd"))
	return len(list)
}

// TestPollLeaksNothing: whatever way a wait ends, its fd is closed.
func TestPollLeaksNothing(t *testing.T) {
	start(t, 2)
	fd := eventfd(t, 0)
	for _, p := range testrun.Places {
		rounds := func() {
			cancelled, cancel := context.WithCancel(context.Background())
			for i := range 20 {
				socket.Poll(in(fd), time.Microsecond)
				time.AfterFunc(time.Millisecond, func() { ring(fd) })
				if n, err := socket.Poll(in(fd, -1, fd), -1); n != 2 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				drain(fd)
				if i == 10 {
					time.AfterFunc(time.Millisecond, cancel)
				}
				if i >= 10 {
					socket.PollContext(cancelled, in(fd))
				}
			}
			cancel()
		}
		p.Go(rounds).Wait(t)
		before := countFDs(t)
		p.Go(rounds).Wait(t)
		// the lookout's linger
		testenv.Until(t, "the fds to be closed", func() bool { return countFDs(t) <= before })
	}
}

// TestPollShutdown: a forced end of the scheduler ends a wait with ErrShutdown,
// one that waits for an event and one that the kernel has refused, and leaves
// no fd.
func TestPollShutdown(t *testing.T) {
	fd := eventfd(t, 0)
	for _, refused := range []bool{false, true} {
		for _, p := range testrun.Places {
			if refused && p.Name == testrun.Goroutine.Name {
				continue // has nothing to do with a scheduler
			}
			t.Run(fmt.Sprintf("%s/%v", p.Name, refused), func(t *testing.T) {
				before := countFDs(t)
				startAlone(t, 2)
				reason := coroutine.ReasonRead
				if refused {
					reason = coroutine.ReasonSleep
					defer (&script{every: map[sysx.Op]syscall.Errno{sysx.EpollCreate: unix.EMFILE},
						first: map[sysx.Op][]syscall.Errno{sysx.EpollCreate: repeat(10000, unix.EMFILE)}}).install(t)()
				}
				poll := func() {
					if n, err := socket.Poll(in(fd, fd), -1); n != 0 || !errors.Is(err, netco.ErrShutdown) {
						t.Errorf("%d, %v, want ErrShutdown", n, err)
					}
				}
				k := p.Go(func() {
					poll()
					if p.Name != testrun.Goroutine.Name {
						poll() // is not begun any more
					}
				})
				k.UntilParked(t, reason)
				if p.Name == testrun.Goroutine.Name {
					if err := netco.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				} else {
					force(t)
				}
				k.Wait(t)
				// Go's poller may be new. What the end by force did not wait
				// for is closed a little later.
				testenv.Until(t, "the fds to be closed", func() bool { return countFDs(t) <= before+2 })
			})
		}
	}
}

// TestPollFaults: interruptions do not show; what the kernel refuses is asked
// for again and again while the fds are looked at all the same; an error of
// poll(2) itself is returned.
func TestPollFaults(t *testing.T) {
	type first = map[sysx.Op][]syscall.Errno
	for _, c := range []struct {
		name  string
		first first
	}{
		{"interrupted", first{sysx.PollFDs: repeat(5, unix.EINTR)}},
		{"no fds", first{sysx.EpollCreate: repeat(2, unix.EMFILE)}},
		{"no fds in the system", first{sysx.EpollCreate: {unix.ENFILE}}},
		{"no memory", first{sysx.EpollCreate: {unix.ENOMEM}, sysx.EpollCtl: {unix.ENOMEM}}},
		{"no watches: the second fd", first{sysx.EpollCtl: {0, unix.ENOSPC}}},
		{"no watches: the instance", first{sysx.EpollCtl: {0, 0, unix.ENOSPC}}},
		{"too many paths", first{sysx.EpollCtl: {0, 0, unix.EINVAL}}},
		{"too deep", first{sysx.EpollCtl: {0, 0, unix.ELOOP}}},
		{"never", first{sysx.EpollCreate: repeat(10000, unix.EMFILE)}},
	} {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				a, b := eventfd(t, 0), eventfd(t, 0)
				// whatever is made once
				p.Go(func() { socket.Poll(in(a), time.Microsecond) }).Wait(t)
				before := countFDs(t)
				defer (&script{first: c.first}).install(t)()
				p.Do(t, func() {
					if n, err := socket.Poll(in(a, b), 2*time.Millisecond); n != 0 || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				})
				s := &script{first: c.first}
				remove := s.install(t)
				defer remove()
				k := p.Go(func() {
					if n, err := socket.Poll(in(a, b), -1); n != 1 || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				})
				<-k.Started
				testenv.Until(t, "the faults to be met", func() bool {
					for op, errs := range c.first {
						if int(s.called[op].Load()) < min(len(errs), 3) {
							return false
						}
					}
					return true
				})
				if c.name != "never" && p.Name != testrun.Goroutine.Name {
					k.UntilParked(t, coroutine.ReasonRead) // it has what it was refused
				}
				ring(b)
				k.Wait(t)
				ctx, cancel := context.WithCancel(context.Background())
				drain(b)
				s.called[sysx.EpollCreate].Store(0)
				s.called[sysx.EpollCtl].Store(0)
				k = p.Go(func() {
					if n, err := socket.PollContext(ctx, in(a, b)); n != 0 || err != context.Canceled {
						t.Errorf("%d, %v", n, err)
					}
				})
				cancel()
				k.Wait(t)
				remove()
				testenv.Until(t, "the fds to be closed", func() bool { return countFDs(t) <= before })
			})
		}
	}
	t.Run("poll fails", func(t *testing.T) {
		start(t, 1)
		defer (&script{first: map[sysx.Op][]syscall.Errno{sysx.PollFDs: {unix.ENOMEM, 0, unix.EINVAL}}}).install(t)()
		fd := eventfd(t, 0)
		testrun.First.Do(t, func() {
			for _, want := range []syscall.Errno{unix.ENOMEM, unix.EINVAL} {
				n, err := socket.Poll(in(fd), time.Millisecond)
				var call *os.SyscallError
				if n != 0 || !errors.Is(err, want) || !errors.As(err, &call) || call.Syscall != "poll" {
					t.Errorf("%d, %v, want %v", n, err, want)
				}
			}
		})
	})
}

// TestPollLetsOthersRun: a coroutine that polls what is always ready, or only
// looks, does not keep its Processor to itself, and ends when the scheduler is
// ended by force.
func TestPollLetsOthersRun(t *testing.T) {
	startAlone(t, 1)
	fd := eventfd(t, 1)
	other := make(chan struct{})
	k := testrun.First.Go(func() {
		netco.GoLocal(func() { close(other) })
		for {
			n, err := socket.Poll(in(fd), 0)
			if err != nil {
				if !errors.Is(err, netco.ErrShutdown) {
					t.Error(err)
				}
				return
			}
			if n != 1 {
				t.Errorf("%d are ready", n)
			}
		}
	})
	testenv.Await(t, other, "the other coroutine")
	force(t)
	k.Wait(t)
}

// TestPollNoAllocation: a Poll that need not wait allocates nothing; one that
// waits does little.
func TestPollNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	set := in(eventfd(t, 1), eventfd(t, 0))
	testrun.First.Do(t, func() {
		if n := testing.AllocsPerRun(1000, func() { socket.Poll(set, -1) }); n != 0 {
			t.Errorf("ready: %v allocations", n)
		}
		if n := testing.AllocsPerRun(100, func() { socket.Poll(set[1:], time.Microsecond) }); n > 1 {
			t.Errorf("waiting: %v allocations", n)
		}
	})
	runtime.KeepAlive(set)
}
