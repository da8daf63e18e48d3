package timer

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
)

// TestMain checks that no test leaves a timerfd behind.
func TestMain(m *testing.M) {
	before := timerfds()
	code := m.Run()
	if after := timerfds(); code == 0 && after != before {
		fmt.Fprintf(os.Stderr, "%d timerfds before the tests, %d after\n", before, after)
		code = 1
	}
	os.Exit(code)
}

func timerfds() (n int) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "timerfd") {
			n++
		}
	}
	return n
}

func monotonic(t testing.TB) int64 {
	var ts unix.Timespec
	testenv.OK(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	return ts.Nano()
}

func open(t testing.TB) *FD {
	t.Helper()
	f, err := Open()
	testenv.OK(t, err)
	t.Cleanup(func() {
		testenv.NoError(t, f.Close())
	})
	return f
}

// poller is an epoll with one FD in it, edge-triggered.
type poller struct {
	t  testing.TB
	ep int
}

func newPoller(t testing.TB, f *FD) *poller {
	t.Helper()
	ep := testenv.Must(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
	t.Cleanup(func() { unix.Close(ep) })
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET&math.MaxUint32, Fd: int32(f.Fd())}
	testenv.OK(t, unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, f.Fd(), &ev))
	return &poller{t, ep}
}

// wait reports whether an edge came within ms milliseconds, and the time after.
func (p *poller) wait(ms int) (edge bool, now int64) {
	p.t.Helper()
	for {
		var evs [4]unix.EpollEvent
		n, err := unix.EpollWait(p.ep, evs[:], ms)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n > 1 {
			p.t.Fatalf("epoll_wait: %d events, %v", n, err)
		}
		return n == 1, monotonic(p.t)
	}
}

// remaining returns the time until f fires by the kernel's account, 0 if it is
// not armed.
func remaining(t testing.TB, f *FD) int64 {
	t.Helper()
	var spec unix.ItimerSpec
	testenv.OK(t, unix.TimerfdGettime(f.Fd(), &spec))
	return spec.Value.Nano()
}

const (
	patience = 20_000 // milliseconds for an edge that must come
	ms       = int64(1e6)
)

// Every arming that expires is a new edge, though nothing is ever read from the
// FD.
func TestEachExpiryIsAnEdge(t *testing.T) {
	f := open(t)
	p := newPoller(t, f)
	now := monotonic(t)
	for i := range 50 {
		deadline := now + ms/2
		switch i % 5 {
		case 1:
			deadline = now // fires at once
		case 2:
			deadline = -7
		case 3:
			deadline = 0
		}
		testenv.OK(t, f.Arm(deadline, now))
		edge, after := p.wait(patience)
		if !edge {
			t.Fatalf("arming %d: no edge", i)
		}
		if after < deadline {
			t.Fatalf("arming %d: edge %d ns early", i, deadline-after)
		}
		if again, _ := p.wait(0); again {
			t.Fatalf("arming %d: two edges", i)
		}
		_, now = p.wait(0)
	}
	testenv.Equal(t, f.Settimes(), 50, "settimes for 50 expiries")
}

func TestArmMakesASyscallOnlyIfNeeded(t *testing.T) {
	base := monotonic(t) + 3600*second // a made-up now: nothing expires during the test
	for _, tt := range []struct {
		name string
		arms [][2]int64 // deadline, now; relative to base
		want uint64
	}{
		{"first", [][2]int64{{100, 0}}, 1},
		{"same again", [][2]int64{{100, 0}, {100, 1}}, 1},
		{"later", [][2]int64{{100, 0}, {200, 1}, {150, 2}, {math.MaxInt64 - base, 3}}, 1},
		{"earlier", [][2]int64{{100, 0}, {50, 1}, {49, 2}}, 3},
		{"armed one has passed", [][2]int64{{100, 0}, {300, 101}}, 2},
		{"armed one is now", [][2]int64{{100, 0}, {300, 100}}, 2},
		{"armed one is next", [][2]int64{{100, 0}, {300, 99}}, 1},
		{"due, then a later one", [][2]int64{{0, 0}, {300, 1}}, 2},
		{"due twice", [][2]int64{{0, 0}, {-5, 1}}, 2},
	} {
		f := open(t)
		for _, a := range tt.arms {
			testenv.OK(t, f.Arm(base+a[0], base+a[1]))
		}
		testenv.Equal(t, f.Settimes(), tt.want, tt.name, "settimes")
	}
}

// With a clock of the caller's own, a deadline up to its now fires at once, and
// no deadline is zero or negative to the kernel.
func TestForeignClock(t *testing.T) {
	clock := monotonic(t)
	for _, tt := range []struct{ deadline, now int64 }{
		{clock + 1800*second, clock + 3600*second},
		{0, -5},
		{-1, -5},
	} {
		f := open(t)
		p := newPoller(t, f)
		if err := f.Arm(tt.deadline, tt.now); err != nil {
			t.Errorf("Arm(%d, %d): %v", tt.deadline, tt.now, err)
		} else if edge, _ := p.wait(patience); !edge {
			t.Errorf("Arm(%d, %d): no edge", tt.deadline, tt.now)
		}
	}
}

// Regression test against libco (timers over 40-60 s are cut short) and libgo
// (sleeps over 7 s broke, later they spun): the kernel holds the whole of a
// long deadline, and nothing fires before it.
func TestLongDeadlines(t *testing.T) {
	f := open(t)
	p := newPoller(t, f)
	for _, d := range []int64{8 * second, 41 * second, 61 * second, 30 * day, 30 * year,
		100 * year} {
		f.armed = 0 // so that a longer one is armed
		now := monotonic(t)
		testenv.OK(t, f.Arm(now+d, now))
		if left := remaining(t, f); left > d || left < d-5*second {
			t.Errorf("%d s asked for, %d s remain", d/second, left/second)
		}
		if edge, _ := p.wait(1); edge {
			t.Errorf("an edge long before %d s", d/second)
		}
	}
	f.armed = 0
	now := monotonic(t)
	testenv.OK(t, f.Arm(math.MaxInt64, now))
	if left := remaining(t, f); left < 60*year {
		t.Errorf("math.MaxInt64: %d s remain", left/second)
	}
	if edge, _ := p.wait(1); edge {
		t.Error("math.MaxInt64: an edge at once")
	}
	if err := f.Arm(now+ms, now); err != nil { // a near one replaces it
		t.Fatal(err)
	}
	edge, _ := p.wait(patience)
	testenv.True(t, edge, "no edge for a near deadline after a far one")
}

// Regression test against C++ netco, whose timers followed the wall clock:
// setting the date fired them, or held them back.
func TestNetcoCppWallClock(t *testing.T) {
	f := open(t)
	info := testenv.Must(os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd())))
	want := fmt.Sprintf("clockid: %d\n", unix.CLOCK_MONOTONIC)
	testenv.True(t, strings.Contains(string(info), want), "fdinfo %q, want %q in it", info, want)
}

func TestFlags(t *testing.T) {
	f := open(t)
	if fl, err := unix.FcntlInt(uintptr(f.Fd()), unix.F_GETFL, 0); err != nil ||
		fl&unix.O_NONBLOCK == 0 {
		t.Errorf("not non-blocking: %#x, %v", fl, err)
	}
	fl, err := unix.FcntlInt(uintptr(f.Fd()), unix.F_GETFD, 0)
	testenv.True(t, err == nil && fl&unix.FD_CLOEXEC != 0, "not close-on-exec: %#x, %v", fl, err)
}

func TestClose(t *testing.T) {
	f := testenv.Must(Open())
	now := monotonic(t)
	testenv.OK(t, errors.Join(f.Arm(now+second, now), f.Close()))
	testenv.Equal(t, f.Fd(), -1, "Fd N after Close")
	testenv.Fails(t, f.Close(), os.ErrClosed, "second Close")
	testenv.Fails(t, f.Arm(now+2*second, now), os.ErrClosed, "Arm after Close")
}

// A failed settime is not taken for an armed one.
func TestArmFails(t *testing.T) {
	r, w, err := os.Pipe() // a descriptor that is no timerfd
	testenv.OK(t, err)
	defer r.Close()
	defer w.Close()
	f := &FD{fd: int(r.Fd())}
	for range 2 {
		err := f.Arm(100, 0)
		var sys *os.SyscallError
		testenv.True(t, errors.As(err, &sys) && sys.Syscall == "timerfd_settime" &&
			errors.Is(err, unix.EINVAL), "Arm of a pipe: %v", err)
	}
}

// TestLoop drives a Heap and an FD together: ten thousand timers within 50 ms,
// none early, few wake-ups for nothing.
func TestLoop(t *testing.T) {
	const n = 10000
	var h Heap
	f := open(t)
	p := newPoller(t, f)
	ran := 0
	timers := make([]Timer, n)
	start := monotonic(t)
	for i := range timers {
		when := start + int64(i*7919%n)*50*ms/n
		timers[i].F = func(_ any, now int64) {
			testenv.True(t, now >= when, "Timer %d ran %d ns early", i, when-now)
			ran++
		}
		h.Set(&timers[i], when)
	}
	turns := uint64(0)
	for now := start; ; {
		h.Expire(now, 500)
		when, ok := h.Next()
		if !ok {
			break
		}
		testenv.OK(t, f.Arm(when, now))
		var edge bool
		if edge, now = p.wait(patience); !edge {
			t.Fatalf("no edge with %d of %d run", ran, n)
		}
		turns++
	}
	testenv.True(t, ran == n, "%d of %d ran", ran, n)
	testenv.True(t, f.Settimes() <= turns+1, "%d settimes in %d turns", f.Settimes(), turns)
}

func TestArmAllocatesNothing(t *testing.T) {
	f := open(t)
	now := monotonic(t)
	far := now + 3600*second
	if n := testing.AllocsPerRun(1000, func() {
		far-- // earlier each time: a syscall each time
		testenv.OK(t, f.Arm(far, now))
	}); n != 0 || f.Settimes() < 1000 {
		t.Errorf("%v allocations per Arm, %d settimes", n, f.Settimes())
	}
}
