package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
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

func eventfd(t testing.TB, value uint) int {
	t.Helper()
	fd := testenv.Must(unix.Eventfd(value, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK))
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// ring makes an eventfd readable; drain takes that back.
func ring(fd int) { unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func drain(fd int) { unix.Read(fd, make([]byte, 8)) }

func in(fds ...int) []socket.PollFd {
	var all []socket.PollFd
	for _, fd := range fds {
		all = append(all, socket.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return all
}

// closeAll closes fds at the end of the test.
func closeAll(t testing.TB, fds ...int) {
	t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
}

// needFDs skips the test if so many fds may not be open.
func needFDs(t *testing.T, n uint64) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l); l.Cur < n+200 {
		t.Skipf("no more than %d fds are allowed", l.Cur)
	}
}

func pipe(t testing.TB) (r, w int) {
	t.Helper()
	r, w = rawPipe(t)
	closeAll(t, r, w)
	return r, w
}

// kinds make fds in states that random picks, one function for each kind of fd.
var kinds = []struct {
	name string
	make func(t *testing.T, random *rand.Rand) []int
}{
	{"pipe", func(t *testing.T, random *rand.Rand) []int {
		var p [2]int
		testenv.OK(t, unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
		switch random.IntN(4) {
		case 0:
			unix.Write(p[1], make([]byte, 1<<20)) // full
		case 1:
			unix.Write(p[1], []byte("x"))
		}
		open := p[:]
		switch random.IntN(4) {
		case 0:
			unix.Close(p[0])
			open = p[1:]
		case 1:
			unix.Close(p[1])
			open = p[:1]
		}
		closeAll(t, open...)
		return open
	}},
	{"socketpair", func(t *testing.T, random *rand.Rand) []int {
		p := testenv.Must(unix.Socketpair(unix.AF_UNIX,
			unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
		closeAll(t, p[0], p[1])
		switch random.IntN(4) {
		case 0:
			unix.Write(p[1], make([]byte, 1<<20))
		case 1:
			unix.Write(p[1], []byte("x"))
		}
		switch random.IntN(4) {
		case 0:
			unix.Shutdown(p[0], unix.SHUT_WR)
		case 1:
			unix.Shutdown(p[0], unix.SHUT_RDWR)
		}
		return p[:]
	}},
	{"eventfd", func(t *testing.T, random *rand.Rand) []int {
		fd := eventfd(t, 0)
		switch random.IntN(3) {
		case 0:
			ring(fd)
		case 1:
			unix.Write(fd, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // full
		}
		return []int{fd}
	}},
	{"timerfd", func(t *testing.T, random *rand.Rand) []int {
		fd := testenv.Must(unix.TimerfdCreate(unix.CLOCK_MONOTONIC,
			unix.TFD_CLOEXEC|unix.TFD_NONBLOCK))
		closeAll(t, fd)
		if random.IntN(2) == 0 {
			unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1}}, nil)
			untilReadable(t, fd)
		}
		return []int{fd}
	}},
	{"regular file", func(t *testing.T, _ *rand.Rand) []int {
		f := testenv.Closing(t, testenv.Must(os.Create(filepath.Join(t.TempDir(), "f"))))
		return []int{rawFD(f)}
	}},
	{"directory, /dev/null", func(t *testing.T, _ *rand.Rand) []int {
		var fds []int
		for _, name := range []string{"/", "/dev/null"} {
			fd := testenv.Must(unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0))
			closeAll(t, fd)
			fds = append(fds, fd)
		}
		return fds
	}},
	{"epoll", func(t *testing.T, random *rand.Rand) []int {
		return []int{nested(t, eventfd(t, uint(random.IntN(2))), 1)}
	}},
	{"signalfd, inotify, pidfd", func(t *testing.T, random *rand.Rand) []int {
		sig := testenv.Must(unix.Signalfd(-1, &unix.Sigset_t{}, unix.SFD_CLOEXEC|unix.SFD_NONBLOCK))
		ino := testenv.Must(unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK))
		closeAll(t, sig, ino)
		dir := t.TempDir()
		testenv.Must(unix.InotifyAddWatch(ino, dir, unix.IN_CREATE))
		if random.IntN(2) == 0 {
			os.WriteFile(filepath.Join(dir, "f"), nil, 0o600)
		}
		fds := []int{sig, ino}
		if pid, err := unix.PidfdOpen(os.Getpid(), 0); err == nil {
			closeAll(t, pid)
			fds = append(fds, pid)
		}
		return fds
	}},
	{"no fd", func(*testing.T, *rand.Rand) []int { return []int{-1, -7, 1 << 30} }},
}

// TestPollAgainstKernel: for random sets of fds in random states Poll reports
// what poll(2) reports, with no timeout to wait for and with one, which is not
// over early, and leaves the states as they are.
func TestPollAgainstKernel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	start(t, 2)
	var world []int
	for range 4 {
		for _, k := range kinds {
			world = append(world, k.make(t, random)...)
		}
	}
	events := []int16{0, unix.POLLIN, unix.POLLOUT, unix.POLLPRI, unix.POLLRDHUP,
		unix.POLLIN | unix.POLLOUT, unix.POLLNVAL, -1,
		unix.EPOLLRDNORM, unix.EPOLLWRNORM}
	for _, p := range testrun.Places {
		p.Do(t, func() {
			for i := range 400 {
				want := make([]socket.PollFd, random.IntN(8))
				for j := range want {
					want[j] = socket.PollFd{
						Fd:      int32(world[random.IntN(len(world))]),
						Events:  events[random.IntN(len(events))],
						Revents: int16(random.IntN(1 << 15)),
					}
				}
				got := slices.Clone(want)
				wantN := testenv.Poll(want, 0)
				timeout := []time.Duration{0, time.Microsecond, time.Millisecond, -1,
					time.Hour}[random.IntN(5)]
				if wantN == 0 && (timeout < 0 || timeout > time.Second) {
					timeout = 2 * time.Millisecond
				}
				began := time.Now()
				n, err := socket.Poll(got, timeout)
				if took := time.Since(began); n == 0 && took < timeout {
					t.Errorf("%s, %d: a timeout of %v is over after %v", p.Name, i, timeout, took)
				}
				if n != wantN || err != nil ||
					!slices.Equal(got, want) {
					t.Errorf("%s, %d: %d, %v\n%v, want %d\n%v", p.Name, i, n, err, got, wantN, want)
					return
				}
			}
		})
	}
}

// pollWakesCases are the cases of TestPollWakes.
var pollWakesCases = []struct {
	name string
	make func(t *testing.T) (fd int, events int16, happen func())
	want int16
	size int // what a File reads of it then; 0: it is no file
}{
	{"eventfd", func(t *testing.T) (int, int16, func()) {
		fd := eventfd(t, 0)
		return fd, unix.POLLIN, func() { ring(fd) }
	}, unix.POLLIN, 8},
	{"data in a pipe", func(t *testing.T) (int, int16, func()) {
		r, w := pipe(t)
		return r, unix.POLLIN, func() { unix.Write(w, []byte("x")) }
	}, unix.POLLIN, 1},
	{"room in a pipe", func(t *testing.T) (int, int16, func()) {
		r, w := pipe(t)
		unix.Write(w, make([]byte, 1<<20))
		return w, unix.POLLOUT, func() { unix.Read(r, make([]byte, 1<<20)) }
	}, unix.POLLOUT, 0},
	{"hangup, not asked for", func(t *testing.T) (int, int16, func()) {
		var p [2]int
		unix.Pipe2(p[:], unix.O_CLOEXEC)
		closeAll(t, p[0])
		return p[0], 0, func() { unix.Close(p[1]) }
	}, unix.POLLHUP, 0},
	{"error, not asked for", func(t *testing.T) (int, int16, func()) {
		var p [2]int
		unix.Pipe2(p[:], unix.O_CLOEXEC)
		closeAll(t, p[1])
		return p[1], 0, func() { unix.Close(p[0]) }
	}, unix.POLLERR, 0},
	{"timerfd", func(t *testing.T) (int, int16, func()) {
		fd, _ := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
		closeAll(t, fd)
		return fd, unix.POLLIN, func() {
			unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1}}, nil)
		}
	}, unix.POLLIN, 8},
	{"inotify", func(t *testing.T) (int, int16, func()) {
		fd, _ := unix.InotifyInit1(unix.IN_CLOEXEC)
		closeAll(t, fd)
		dir := t.TempDir()
		unix.InotifyAddWatch(fd, dir, unix.IN_CREATE)
		return fd, unix.POLLIN, func() { os.WriteFile(filepath.Join(dir, "f"), nil, 0o600) }
	}, unix.POLLIN, 32},
	{"epoll", func(t *testing.T) (int, int16, func()) {
		fd := eventfd(t, 0)
		return nested(t, fd, 1), unix.POLLIN, func() { ring(fd) }
	}, unix.POLLIN, 0},
	{"epoll, nested", func(t *testing.T) (int, int16, func()) {
		fd := eventfd(t, 0)
		at := nested(t, fd, 3) // with the two that netco adds, as deep as the kernel allows
		return at, unix.POLLIN, func() { ring(fd) }
	}, unix.POLLIN, 0},
	{"terminal", func(t *testing.T) (int, int16, func()) {
		master, slave := pty(t)
		return slave, unix.POLLIN, func() { unix.Write(master, []byte("line\n")) }
	}, unix.POLLIN, 5},
	{"FIFO", func(t *testing.T) (int, int16, func()) {
		name := filepath.Join(t.TempDir(), "fifo")
		testenv.OK(t, unix.Mkfifo(name, 0o600))
		fd := testenv.Must(unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0))
		closeAll(t, fd)
		return fd, unix.POLLIN, func() { unix.Write(fd, []byte("x")) }
	}, unix.POLLIN, 1},
	{"netco's listener", func(t *testing.T) (int, int16, func()) {
		fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		closeAll(t, fd)
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		unix.Listen(fd, 1)
		sa, _ := unix.Getsockname(fd)
		return fd, unix.POLLIN, func() {
			if c, err := net.Dial("tcp",
				fmt.Sprintf("127.0.0.1:%d", sa.(*unix.SockaddrInet4).Port)); err == nil {
				t.Cleanup(func() { c.Close() })
			}
		}
	}, unix.POLLIN, 0},
}

// TestPollWakes: an event of an fd of each kind ends a wait that has begun, and
// is reported as by poll(2).
func TestPollWakes(t *testing.T) {
	start(t, 2)
	for _, c := range pollWakesCases {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				fd, events, happen := c.make(t)
				file := testenv.Must(unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_CLOEXEC, 0))
				closeAll(t, file)
				set := in(eventfd(t, 0), fd, -1, file)
				set[1].Events = events
				set[3].Events = 0 // an fd that epoll refuses, and that is never ready for nothing
				k := p.Park(t, coroutine.ReasonRead, func() {
					n, err := socket.Poll(set, -1)
					testenv.True(t, n == 1 && err == nil && set[1].Revents == c.want &&
						set[0].Revents == 0 && set[2].Revents == 0 && set[3].Revents == 0,
						"%d, %v, %v", n, err, set)
				})
				happen()
				k.Wait(t)
			})
		}
	}
}

// pty returns the two ends of a terminal.
func pty(t testing.TB) (master, slave int) {
	t.Helper()
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	closeAll(t, master)
	unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	slave, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY,
		0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	closeAll(t, slave)
	return master, slave
}

// TestPollSameFd: an fd that occurs several times, with different events, waits
// for all of them and is reported in each entry.
func TestPollSameFd(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		fds := testenv.Must(unix.Socketpair(unix.AF_UNIX,
			unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
		closeAll(t, fds[0], fds[1])
		for n := 1; n > 0; n, _ = unix.Write(fds[0], make([]byte, 64<<10)) {
		}
		reports := func(happen func(), want string) {
			var set []socket.PollFd
			for _, events := range []int16{unix.POLLOUT, unix.POLLIN, unix.POLLIN | unix.POLLOUT,
				unix.POLLPRI} {
				set = append(set, socket.PollFd{Fd: int32(fds[0]), Events: events})
			}
			k := p.Go(func() { testenv.Gives(t, 2, nil)(socket.Poll(set, -1)) })
			k.UntilParked(t, coroutine.ReasonRead)
			happen()
			k.Wait(t)
			testenv.Equal(t, fmt.Sprint(set[0].Revents, set[1].Revents, set[2].Revents,
				set[3].Revents), want)
		}
		reports(func() { unix.Write(fds[1], []byte("x")) },
			fmt.Sprint(0, unix.POLLIN, unix.POLLIN, 0))
		unix.Read(fds[0], make([]byte, 1))
		reports(func() { unix.Read(fds[1], make([]byte, 4<<20)) },
			fmt.Sprint(unix.POLLOUT, 0, unix.POLLOUT, 0))
	})
}

// TestPollStolen: readiness that another takes away before the poller looks
// does not end its wait, and does not make it miss what comes later, no matter
// how often.
func TestPollStolen(t *testing.T) {
	startLocked(t, 2) // a stealer that is handed on would be overtaken
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
					// In the turn between, the poller is woken by the event and
					// queued behind the stealer.
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

// TestPollHammer: pollers in all places wait for the same fds, and the first to
// run takes the token that comes. Nothing is lost: each token is taken.
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
			testenv.Until(t, "the tokens to be taken", func() bool {
				return taken.Load() == int64(i+1)
			})
		}
	}
	testenv.Until(t, "the last tokens to be taken", func() bool { return taken.Load() == tokens })
	ring(quit)
	testrun.WaitAll(t, tasks...)
}

// TestPollMany: two thousand fds, each of which ends the wait.
func TestPollMany(t *testing.T) {
	const n = 2000
	needFDs(t, n)
	start(t, 2)
	var fds []int
	for range n {
		fds = append(fds, eventfd(t, 0))
	}
	for _, p := range testrun.Places {
		set := in(fds...)
		for _, i := range []int{0, 1000, n - 1} {
			k := p.Park(t, coroutine.ReasonRead, func() {
				got, err := socket.Poll(set, -1)
				testenv.True(t, got == 1 && err == nil && set[i].Revents == unix.POLLIN,
					"%s: %d, %v", p.Name, got, err)
			})
			ring(fds[i])
			k.Wait(t)
			drain(fds[i])
		}
	}
}

// TestPollCrowd: more waits on one fd than the kernel lets watch it through
// nested epoll. Waits beyond that limit look now and then; all notice the
// event.
func TestPollCrowd(t *testing.T) {
	const n = 600
	needFDs(t, n)
	start(t, 2)
	quit := eventfd(t, 0)
	var tasks []*testrun.Task
	for range n {
		tasks = append(tasks, testrun.First.Go(func() {
			testenv.Gives(t, 1, nil)(socket.Poll(in(quit), -1))
		}))
	}
	resting := 0
	for _, k := range tasks {
		testenv.Until(t, "all to wait", func() bool {
			return k.Parked(coroutine.ReasonRead) || k.Parked(coroutine.ReasonSleep)
		})
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
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		fd := eventfd(t, 0)
		at := nested(t, fd, 4)
		k := p.Go(func() { testenv.Gives(t, 1, nil)(socket.Poll(in(at), -1)) })
		if p.Name != testrun.Goroutine.Name {
			k.UntilParked(t, coroutine.ReasonSleep)
		}
		ring(fd)
		k.Wait(t)
	})
}

// nested returns an epoll instance around another, and so on, depth of them
// around fd.
func nested(t testing.TB, fd, depth int) int {
	for range depth {
		ep := testenv.Must(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
		closeAll(t, ep)
		testenv.OK(t, unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd,
			&unix.EpollEvent{Events: unix.EPOLLIN}))
		fd = ep
	}
	return fd
}

// TestPollForeign: fds that Go's net and os and netco itself watch. Polling
// them takes nothing away from their owners.
func TestPollForeign(t *testing.T) {
	start(t, 2)
	c, peer := withPeer(t)
	theirs, theirPeer := netPair(t)
	r, w := pipeOfOS(t)
	for _, x := range []struct {
		name   string
		fd     int
		reader io.Reader
		writer io.Writer
		owner  testrun.Place
	}{
		{"netco", c.FD(), c, peer, testrun.First},
		{"net", rawFD(theirs), theirs, theirPeer, testrun.Goroutine},
		{"os", rawFD(r), r, w, testrun.Goroutine},
	} {
		for _, p := range testrun.Places {
			t.Run(x.name+"/"+p.Name, func(t *testing.T) {
				for range 20 {
					pollBeside(t, p, x.owner, x.fd, x.reader, x.writer)
				}
			})
		}
	}
}

// pollBeside polls an fd in place p, while its owner reads from it.
func pollBeside(t *testing.T, p, owner testrun.Place, fd int, from io.Reader, to io.Writer) {
	reader := owner.Go(func() { readsText(t, from, "y") })
	if owner.Name == testrun.First.Name {
		reader.UntilParked(t, coroutine.ReasonRead)
	}
	set := in(fd)
	set[0].Events |= unix.POLLHUP
	done := make(chan struct{})
	poller := p.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// The byte may be gone by now.
			if _, err := socket.Poll(set, time.Millisecond); err != nil {
				t.Error(err)
				return
			}
		}
	})
	to.Write([]byte("y"))
	reader.Wait(t)
	close(done)
	poller.Wait(t)
}

// TestPollContext: the end of the context ends the wait with its error, before
// it has begun and during it, and leaves nothing.
func TestPollContext(t *testing.T) {
	start(t, 2)
	testrun.Each(t, func(t *testing.T, p testrun.Place) {
		fd := eventfd(t, 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		k := p.Go(func() { testenv.Gives(t, 0, context.Canceled)(socket.PollContext(ctx, in(fd))) })
		k.UntilParked(t, coroutine.ReasonRead)
		cancel()
		k.Wait(t)
		early, cancelEarly := context.WithTimeout(context.Background(), time.Hour)
		defer cancelEarly()
		late, cancelLate := context.WithTimeout(context.Background(), 2*time.Millisecond)
		defer cancelLate()
		ring(fd)
		p.Do(t, func() {
			testenv.Gives(t, 0, context.Canceled, "cancelled, and ready")(socket.PollContext(ctx,
				in(fd)))
			testenv.Gives(t, 1, nil, "ready")(socket.PollContext(early, in(fd)))
			drain(fd)
			testenv.Gives(t, 0, context.DeadlineExceeded, "deadline")(socket.PollContext(late,
				in(fd)))
		})
		k = p.Park(t, coroutine.ReasonRead, func() {
			testenv.Gives(t, 1, nil, "without an end")(
				socket.PollContext(context.Background(), in(fd)))
		})
		ring(fd)
		k.Wait(t)
	})
}

// countFDs returns how many fds are open, the one that it counts with among
// them.
func countFDs() int { return len(testenv.Must(os.ReadDir("/proc/self/fd"))) }

// TestPollShutdown: a forced end of the scheduler ends a wait with ErrShutdown,
// both one for an event and one that the kernel has refused, and leaves no fd.
func TestPollShutdown(t *testing.T) {
	fd := eventfd(t, 0)
	for _, refused := range []bool{false, true} {
		for _, p := range testrun.Places {
			if refused && p.Name == testrun.Goroutine.Name {
				continue // has nothing to do with a scheduler
			}
			t.Run(fmt.Sprintf("%s/%v", p.Name, refused), func(t *testing.T) {
				before := countFDs()
				testrun.Start(t, 2)
				reason := coroutine.ReasonRead
				if refused {
					reason = coroutine.ReasonSleep
					defer (&script{every: map[sysx.Op]syscall.Errno{sysx.EpollCreate: unix.EMFILE},
						first: errnos{sysx.EpollCreate: repeat(10000, unix.EMFILE)}}).install(t)()
				}
				poll := func() {
					testenv.Gives(t, 0, netco.ErrShutdown)(socket.Poll(in(fd, fd), -1))
				}
				k := p.Park(t, reason, func() {
					poll()
					if p.Name != testrun.Goroutine.Name {
						poll() // is not begun any more
					}
				})
				if p.Name == testrun.Goroutine.Name {
					testenv.NoError(t, netco.Shutdown(context.Background()))
				} else {
					testrun.Force(t)
				}
				k.Wait(t)
				// Go's poller may be new. An fd of a coroutine that the end by
				// force did not wait for is closed a little later.
				testenv.Until(t, "the fds to be closed", func() bool {
					return countFDs() <= before+2
				})
			})
		}
	}
}

// TestPollFaults: interruptions do not show; a call that the kernel refuses is
// tried again and again while the fds are looked at all the same; an error of
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
				pollFaulty(t, p, c.first, c.name == "never")
			})
		}
	}

}

// pollFaulty polls while system calls fail as first says; never: for good.
func pollFaulty(t *testing.T, p testrun.Place, first map[sysx.Op][]syscall.Errno, never bool) {
	start(t, 2)
	a, b := eventfd(t, 0), eventfd(t, 0)
	// makes the fds that are made once
	p.Go(func() { socket.Poll(in(a), time.Microsecond) }).Wait(t)
	before := countFDs()
	defer (&script{first: first}).install(t)()
	p.Do(t, func() { testenv.Gives(t, 0, nil)(socket.Poll(in(a, b), 2*time.Millisecond)) })
	s := &script{first: first}
	remove := s.install(t)
	defer remove()
	k := p.Go(func() { testenv.Gives(t, 1, nil)(socket.Poll(in(a, b), -1)) })
	<-k.Started
	testenv.Until(t, "the faults to be met", func() bool {
		for op, errs := range first {
			if int(s.called[op].Load()) < min(len(errs), 3) {
				return false
			}
		}
		return true
	})
	if !never && p.Name != testrun.Goroutine.Name {
		k.UntilParked(t, coroutine.ReasonRead) // it has what it was refused
	}
	ring(b)
	k.Wait(t)
	ctx, cancel := context.WithCancel(context.Background())
	drain(b)
	s.called[sysx.EpollCreate].Store(0)
	s.called[sysx.EpollCtl].Store(0)
	k = p.Go(func() { testenv.Gives(t, 0, context.Canceled)(socket.PollContext(ctx, in(a, b))) })
	cancel()
	k.Wait(t)
	remove()
	testenv.Until(t, "the fds to be closed", func() bool { return countFDs() <= before })
}

// TestPollFails: an error of poll itself is returned.
func TestPollFails(t *testing.T) {
	start(t, 1)
	defer (&script{first: errnos{sysx.PollFDs: {unix.ENOMEM, 0, unix.EINVAL}}}).install(t)()
	fd := eventfd(t, 0)
	testrun.First.Do(t, func() {
		for _, want := range []syscall.Errno{unix.ENOMEM, unix.EINVAL} {
			n, err := socket.Poll(in(fd), time.Millisecond)
			var call *os.SyscallError
			testenv.True(t, n == 0 && errors.Is(err, want) && errors.As(err, &call) &&
				call.Syscall == "poll", "%d, %v, want %v", n, err, want)
		}
	})
}
