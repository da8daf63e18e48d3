package socket_test

import (
	"io"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestPollTimeout: a timeout ends a wait and is no error, with fds and without;
// it is not over early.
func TestPollTimeout(t *testing.T) {
	start(t, 2)
	for _, p := range testrun.Places {
		for _, set := range [][]socket.PollFd{nil, in(-1), in(eventfd(t, 0))} {
			p.Do(t, func() {
				const d = 3 * time.Millisecond
				began := time.Now()
				n, err := socket.Poll(set, d)
				if took := time.Since(began); n != 0 || err != nil || took < d {
					t.Errorf("%s, %v: %d, %v after %v", p.Name, set, n, err, took)
				}
			})
		}
	}
}

// TestPollSameFd: an fd that occurs several times, with different events, waits
// for all of them and is told of in each entry.
func TestPollSameFd(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		fds := testenv.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
		closeAll(t, fds[0], fds[1])
		for n := 1; n > 0; n, _ = unix.Write(fds[0], make([]byte, 64<<10)) {
		}
		fd := int32(fds[0])
		for _, happen := range []struct {
			do   func()
			want []int16
		}{
			{func() { unix.Write(fds[1], []byte("x")) }, []int16{0, unix.POLLIN, unix.POLLIN, 0}},
			{func() { unix.Read(fds[1], make([]byte, 4<<20)) }, []int16{unix.POLLOUT, 0, unix.POLLOUT, 0}},
		} {
			if happen.want[0] != 0 {
				unix.Read(fds[0], make([]byte, 1))
			}
			set := []socket.PollFd{
				{Fd: fd, Events: unix.POLLOUT},
				{Fd: fd, Events: unix.POLLIN},
				{Fd: fd, Events: unix.POLLIN | unix.POLLOUT},
				{Fd: fd, Events: unix.POLLPRI},
			}
			k := p.Go(func() {
				n, err := socket.Poll(set, -1)
				got := []int16{set[0].Revents, set[1].Revents, set[2].Revents, set[3].Revents}
				if n != 2 || err != nil || !slices.Equal(got, happen.want) {
					t.Errorf("%d, %v, %v, want %v", n, err, got, happen.want)
				}
			})
			k.UntilParked(t, coroutine.ReasonRead)
			happen.do()
			k.Wait(t)
		}
	})
}

// TestPollStolen: readiness that another takes away before the poller looks
// does not end its wait, and does not make it miss what comes later, no matter
// how often.
func TestPollStolen(t *testing.T) {
	start(t, 2)
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			a, b, quit := eventfd(t, 0), eventfd(t, 0), eventfd(t, 0)
			set := in(a, b, quit)
			var polls atomic.Int32
			k := p.Go(func() {
				for set[2].Revents == 0 {
					if n, err := socket.Poll(set, -1); n < 1 || err != nil {
						t.Errorf("%d, %v, %v", n, err, set)
						return
					}
					drain(a)
					drain(b)
					polls.Add(1)
				}
			})
			for i := range 50 {
				k.UntilParked(t, coroutine.ReasonRead)
				before := polls.Load()
				if p.Name == testrun.First.Name {
					// In the turn between, the poller is told of the event and
					// queued behind the thief.
					testrun.First.Do(t, func() {
						ring(a)
						coroutine.YieldTurn()
						drain(a)
					})
					k.UntilParked(t, coroutine.ReasonRead)
					if polls.Load() != before {
						t.Fatal("a poll has ended with nothing to tell")
					}
				} else {
					ring(a)
					drain(a) // whoever is first
				}
				ring([]int{a, b}[i%2])
				testenv.Until(t, "the poll to end", func() bool { return polls.Load() > before })
			}
			ring(quit)
			k.Wait(t)
		})
	}
}

// TestPollHammer: pollers in all places wait for the same fds while all of what
// they wait for comes and is taken by whoever is first. Nothing is lost: each
// token is taken.
func TestPollHammer(t *testing.T) {
	start(t, 2)
	const tokens = 2000
	var taken atomic.Int64
	quit := eventfd(t, 0)
	var rs, ws []int
	for range 8 {
		r, w := pipe(t)
		rs, ws = append(rs, r), append(ws, w)
	}
	var tasks []*testrun.Task
	for _, p := range slices.Repeat(testrun.Places, 3) {
		tasks = append(tasks, p.Go(func() {
			set := in(append([]int{quit}, rs...)...)
			for {
				if _, err := socket.Poll(set, -1); err != nil {
					t.Error(err)
					return
				}
				var b [1]byte
				for _, f := range set[1:] {
					if f.Revents&unix.POLLIN != 0 {
						if n, _ := unix.Read(int(f.Fd), b[:]); n == 1 {
							taken.Add(1)
						}
					}
				}
				if set[0].Revents != 0 {
					return
				}
			}
		}))
	}
	for i := range tokens {
		unix.Write(ws[i%len(ws)], []byte("x"))
		if i%64 == 0 {
			testenv.Until(t, "the tokens to be taken", func() bool { return taken.Load() == int64(i+1) })
		}
	}
	testenv.Until(t, "the last tokens to be taken", func() bool { return taken.Load() == tokens })
	ring(quit)
	testrun.WaitAll(t, tasks...)
}

// TestPollMany: two thousand fds, each of which ends the wait.
func TestPollMany(t *testing.T) {
	const n = 2000
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l); l.Cur < n+200 {
		t.Skipf("no more than %d fds are allowed", l.Cur)
	}
	start(t, 2)
	var fds []int
	for range n {
		fds = append(fds, eventfd(t, 0))
	}
	for _, p := range testrun.Places {
		set := in(fds...)
		for _, i := range []int{0, 1000, n - 1} {
			k := p.Go(func() {
				got, err := socket.Poll(set, -1)
				if got != 1 || err != nil || set[i].Revents != unix.POLLIN {
					t.Errorf("%s: %d, %v", p.Name, got, err)
				}
			})
			k.UntilParked(t, coroutine.ReasonRead)
			ring(fds[i])
			k.Wait(t)
			drain(fds[i])
		}
	}
}

// TestPollCrowd: more waits on one fd than the kernel lets watch it through
// nested epoll. Those beyond the limit look now and then; all are told.
func TestPollCrowd(t *testing.T) {
	const n = 600
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l); l.Cur < n+200 {
		t.Skipf("no more than %d fds are allowed", l.Cur)
	}
	start(t, 2)
	quit := eventfd(t, 0)
	var tasks []*testrun.Task
	for range n {
		tasks = append(tasks, testrun.First.Go(func() {
			if n, err := socket.Poll(in(quit), -1); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}))
	}
	resting := 0
	for _, k := range tasks {
		testenv.Until(t, "all to wait", func() bool { return k.Parked(coroutine.ReasonRead) || k.Parked(coroutine.ReasonSleep) })
		if k.Parked(coroutine.ReasonSleep) {
			resting++
		}
	}
	t.Logf("%d of %d look now and then", resting, n)
	ring(quit)
	testrun.WaitAll(t, tasks...)
}

// TestPollTooDeep: epoll fds nested deeper than the kernel lets them be watched
// through two more are looked at now and then.
func TestPollTooDeep(t *testing.T) {
	start(t, 2)
	for _, p := range testrun.Places {
		fd := eventfd(t, 0)
		at := fd
		for range 4 {
			ep := testenv.Must(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
			closeAll(t, ep)
			testenv.OK(t, unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, at, &unix.EpollEvent{Events: unix.EPOLLIN}))
			at = ep
		}
		k := p.Go(func() {
			if n, err := socket.Poll(in(at), -1); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		})
		if p.Name != testrun.Goroutine.Name {
			k.UntilParked(t, coroutine.ReasonSleep)
		}
		ring(fd)
		k.Wait(t)
	}
}

// TestPollForeign: fds that Go's net and os and netco itself watch. Polling
// them takes nothing away from their owners.
func TestPollForeign(t *testing.T) {
	start(t, 2)
	c, peer := withPeer(t)
	theirs, theirPeer := netPair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd := func(x syscall.Conn) (n int) {
		raw := testenv.Must(x.SyscallConn())
		raw.Control(func(fd uintptr) { n = int(fd) })
		return n
	}
	for _, x := range []struct {
		name   string
		fd     int
		reader io.Reader
		writer io.Writer
		owner  testrun.Place
	}{
		{"netco", c.FD(), c, peer, testrun.First},
		{"net", fd(theirs), theirs, theirPeer, testrun.Goroutine},
		{"os", fd(r), r, w, testrun.Goroutine},
	} {
		for _, p := range testrun.Places {
			t.Run(x.name+"/"+p.Name, func(t *testing.T) {
				for range 20 {
					reader := x.owner.Go(func() {
						b := make([]byte, 10)
						if n, err := x.reader.Read(b); string(b[:n]) != "y" || err != nil {
							t.Errorf("Read: %q, %v", b[:n], err)
						}
					})
					if x.owner.Name == testrun.First.Name {
						reader.UntilParked(t, coroutine.ReasonRead)
					}
					set := in(x.fd)
					set[0].Events |= unix.POLLHUP
					done := make(chan struct{})
					poller := p.Go(func() {
						for {
							select {
							case <-done:
								return
							default:
							}
							// What it is told of may be gone by now.
							if _, err := socket.Poll(set, time.Millisecond); err != nil {
								t.Error(err)
								return
							}
						}
					})
					x.writer.Write([]byte("y"))
					reader.Wait(t)
					close(done)
					poller.Wait(t)
				}
			})
		}
	}
}
