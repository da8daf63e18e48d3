package socket_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
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

func pipe(t testing.TB) (r, w int) {
	t.Helper()
	var p [2]int
	testenv.OK(t, unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	closeAll(t, p[0], p[1])
	return p[0], p[1]
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
		p := testenv.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
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
		fd := testenv.Must(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK))
		closeAll(t, fd)
		if random.IntN(2) == 0 {
			unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1}}, nil)
			untilReadable(t, fd)
		}
		return []int{fd}
	}},
	{"regular file", func(t *testing.T, _ *rand.Rand) []int {
		f := testenv.Closing(t, testenv.Must(os.Create(filepath.Join(t.TempDir(), "f"))))
		fd := -1
		raw, _ := f.SyscallConn()
		raw.Control(func(n uintptr) { fd = int(n) })
		return []int{fd}
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
		ep := testenv.Must(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
		closeAll(t, ep)
		unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, eventfd(t, uint(random.IntN(2))), &unix.EpollEvent{Events: unix.EPOLLIN})
		return []int{ep}
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

// TestPollAgainstKernel: for random sets of fds in random states Poll tells
// what poll(2) tells, with no timeout to wait for and with one, and leaves the
// states as they are.
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
	events := []int16{0, unix.POLLIN, unix.POLLOUT, unix.POLLPRI, unix.POLLRDHUP, unix.POLLIN | unix.POLLOUT, unix.POLLNVAL, -1,
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
				wantN, err := unix.Poll(want, 0)
				for err == unix.EINTR {
					wantN, err = unix.Poll(want, 0)
				}
				if err != nil {
					t.Error(err)
					return
				}
				timeout := []time.Duration{0, time.Microsecond, time.Millisecond, -1, time.Hour}[random.IntN(5)]
				if wantN == 0 && (timeout < 0 || timeout > time.Second) {
					timeout = 2 * time.Millisecond
				}
				if n, err := socket.Poll(got, timeout); n != wantN || err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, %d: %d, %v\n%v, want %d\n%v", p.Name, i, n, err, got, wantN, want)
					return
				}
			}
		})
	}
}

// TestPollWakes: what happens to an fd of each kind ends a wait that has begun,
// and is told as poll(2) tells it.
func TestPollWakes(t *testing.T) {
	start(t, 2)
	for _, c := range []struct {
		name string
		make func(t *testing.T) (fd int, events int16, happen func())
		want int16
	}{
		{"eventfd", func(t *testing.T) (int, int16, func()) {
			fd := eventfd(t, 0)
			return fd, unix.POLLIN, func() { ring(fd) }
		}, unix.POLLIN},
		{"data in a pipe", func(t *testing.T) (int, int16, func()) {
			r, w := pipe(t)
			return r, unix.POLLIN, func() { unix.Write(w, []byte("x")) }
		}, unix.POLLIN},
		{"room in a pipe", func(t *testing.T) (int, int16, func()) {
			r, w := pipe(t)
			unix.Write(w, make([]byte, 1<<20))
			return w, unix.POLLOUT, func() { unix.Read(r, make([]byte, 1<<20)) }
		}, unix.POLLOUT},
		{"hangup, not asked for", func(t *testing.T) (int, int16, func()) {
			var p [2]int
			unix.Pipe2(p[:], unix.O_CLOEXEC)
			closeAll(t, p[0])
			return p[0], 0, func() { unix.Close(p[1]) }
		}, unix.POLLHUP},
		{"error, not asked for", func(t *testing.T) (int, int16, func()) {
			var p [2]int
			unix.Pipe2(p[:], unix.O_CLOEXEC)
			closeAll(t, p[1])
			return p[1], 0, func() { unix.Close(p[0]) }
		}, unix.POLLERR},
		{"timerfd", func(t *testing.T) (int, int16, func()) {
			fd, _ := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
			closeAll(t, fd)
			return fd, unix.POLLIN, func() {
				unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.Timespec{Nsec: 1}}, nil)
			}
		}, unix.POLLIN},
		{"inotify", func(t *testing.T) (int, int16, func()) {
			fd, _ := unix.InotifyInit1(unix.IN_CLOEXEC)
			closeAll(t, fd)
			dir := t.TempDir()
			unix.InotifyAddWatch(fd, dir, unix.IN_CREATE)
			return fd, unix.POLLIN, func() { os.WriteFile(filepath.Join(dir, "f"), nil, 0o600) }
		}, unix.POLLIN},
		{"epoll", func(t *testing.T) (int, int16, func()) {
			ep, _ := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
			closeAll(t, ep)
			fd := eventfd(t, 0)
			unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN})
			return ep, unix.POLLIN, func() { ring(fd) }
		}, unix.POLLIN},
		{"epoll, nested", func(t *testing.T) (int, int16, func()) {
			fd := eventfd(t, 0)
			at := fd
			for range 3 { // with the two that netco adds, as deep as the kernel allows
				ep, _ := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
				closeAll(t, ep)
				unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, at, &unix.EpollEvent{Events: unix.EPOLLIN})
				at = ep
			}
			return at, unix.POLLIN, func() { ring(fd) }
		}, unix.POLLIN},
		{"terminal", func(t *testing.T) (int, int16, func()) {
			master, slave := pty(t)
			return slave, unix.POLLIN, func() { unix.Write(master, []byte("line\n")) }
		}, unix.POLLIN},
		{"netco's listener", func(t *testing.T) (int, int16, func()) {
			fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
			closeAll(t, fd)
			unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
			unix.Listen(fd, 1)
			sa, _ := unix.Getsockname(fd)
			return fd, unix.POLLIN, func() {
				if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", sa.(*unix.SockaddrInet4).Port)); err == nil {
					t.Cleanup(func() { c.Close() })
				}
			}
		}, unix.POLLIN},
	} {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				fd, events, happen := c.make(t)
				file := testenv.Must(unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_CLOEXEC, 0))
				closeAll(t, file)
				set := in(eventfd(t, 0), fd, -1, file)
				set[1].Events = events
				set[3].Events = 0 // an fd that epoll refuses, and that is never ready for nothing
				k := p.Go(func() {
					n, err := socket.Poll(set, -1)
					if n != 1 || err != nil || set[1].Revents != c.want || set[0].Revents != 0 || set[2].Revents != 0 || set[3].Revents != 0 {
						t.Errorf("%d, %v, %v", n, err, set)
					}
				})
				k.UntilParked(t, coroutine.ReasonRead)
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
	slave, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	closeAll(t, slave)
	return master, slave
}
