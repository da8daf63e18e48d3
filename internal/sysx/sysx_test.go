package sysx_test

import (
	"net"
	"net/netip"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// done is no error.
const done = syscall.Errno(0)

func socketpair(t testing.TB) (a, b int) {
	t.Helper()
	fds := testenv.Must(unix.Socketpair(unix.AF_UNIX,
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return fds[0], fds[1]
}

// arrive waits until a connection has come to a listener, or n datagrams to a
// socket: loopback delivers when the kernel comes to it.
func arrive(t testing.TB, fd, n int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for time.Now().Before(end) {
		ready := testenv.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		if ready > 0 && (n == 1 || queued(t, fd) >= n) {
			return
		}
	}
	t.Fatalf("%d have not arrived", n)
}

// queued counts the datagrams that can be read, none of them empty, and leaves
// them there.
func queued(t testing.TB, fd int) (n int) {
	t.Helper()
	// Each read with MSG_PEEK starts where the last ended.
	testenv.OK(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEEK_OFF, 0))
	defer unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEEK_OFF, -1)
	for {
		if k, _, err := unix.Recvfrom(fd, make([]byte, 100),
			unix.MSG_PEEK|unix.MSG_DONTWAIT); err != nil || k == 0 {
			return n
		}
		n++
	}
}

// TestRecv: what each outcome of a read looks like.
func TestRecv(t *testing.T) {
	a, b := socketpair(t)
	buf := make([]byte, 4)
	check := func(what string, p []byte, got int, short bool, errno syscall.Errno) {
		t.Helper()
		n, e, en := sysx.TryRecv(a, p)
		if n != got || e != short || en != errno {
			t.Errorf("%s: %d, %v, %v, want %d, %v, %v", what, n, e, en, got, short, errno)
		}
	}
	check("nothing there", buf, 0, false, unix.EAGAIN)
	unix.Write(b, []byte("abcdef"))
	check("more there than asked for", buf, 4, false, 0)
	check("less", buf, 2, true, 0)
	unix.Write(b, []byte("abcd"))
	check("as much", buf, 4, false, 0)
	unix.Shutdown(b, unix.SHUT_WR)
	check("the end", buf, 0, true, 0)
	if n, _, errno := sysx.TryRecv(-1, buf); n != 0 || errno != unix.EBADF {
		t.Errorf("a bad fd: %d, %v", n, errno)
	}
	if _, _, errno := sysx.TryRecv(a, nil); errno != 0 {
		t.Errorf("an empty slice: %v", errno)
	}
}

// TestRecvAll: a read of a TCP connection that got all there is says so, unless
// the peer's end has come.
func TestRecvAll(t *testing.T) {
	for _, c := range []struct {
		name    string
		reports bool
		send    string
		end     bool
		room    int
		all     bool
	}{
		{"all", true, "abc", false, 8, true},
		{"just all", true, "abc", false, 3, true},
		{"part", true, "abcdef", false, 3, false},
		{"end", true, "abc", true, 8, false},
		{"not asked for", false, "abc", false, 8, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			fd, peer := tcpPair(t)
			if c.reports {
				sysx.ReportUnread(fd)
			}
			if _, _, errno := sysx.TryRecvAll(fd, make([]byte, 8)); errno != unix.EAGAIN {
				t.Errorf("without anything: %v", errno)
			}
			testenv.Must(peer.Write([]byte(c.send)))
			want := int16(unix.POLLIN)
			if c.end {
				testenv.OK(t, peer.CloseWrite())
				want = unix.POLLRDHUP
			}
			testenv.Until(t, "it has come", func() bool {
				return testenv.Poll([]unix.PollFd{{Fd: int32(fd), Events: want}}, 0) > 0
			})
			b := make([]byte, c.room)
			n, all, errno := sysx.TryRecvAll(fd, b)
			if errno != 0 || string(b[:n]) != c.send[:min(c.room, len(c.send))] || all != c.all {
				t.Errorf("%q, all: %t, %v", b[:n], all, errno)
			}
		})
	}
}

// tcpPair returns a connection's fd, and its peer.
func tcpPair(t *testing.T) (fd int, peer *net.TCPConn) {
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	peer = testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())).(*net.TCPConn))
	accepted := testenv.Closing(t, testenv.Must(l.Accept()).(*net.TCPConn))
	f := testenv.Closing(t, testenv.Must(accepted.File()))
	testenv.OK(t, unix.SetNonblock(int(f.Fd()), true))
	return int(f.Fd()), peer
}

// TestSend: the same of a write; one to a peer that has gone is EPIPE and no
// signal.
func TestSend(t *testing.T) {
	a, b := socketpair(t)
	testenv.Gives(t, 5, done)(sysx.TrySend(a, []byte("hello")))
	testenv.Gives(t, 0, done, "an empty slice")(sysx.TrySend(a, nil))
	got := make([]byte, 10)
	if n, _ := unix.Read(b, got); string(got[:n]) != "hello" {
		t.Errorf("sent %q", got[:n])
	}
	total := 0
	for range 1000 {
		n, errno := sysx.TrySend(a, make([]byte, 64<<10))
		total += n
		if errno == unix.EAGAIN {
			if n != 0 {
				t.Errorf("EAGAIN and %d bytes", n)
			}
			break
		}
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	if total == 0 || total == 1000*64<<10 {
		t.Errorf("%d bytes until it was full", total)
	}
	unix.Shutdown(b, unix.SHUT_RD)
	testenv.Fails(t, testenv.Err(sysx.TrySend(a, []byte("x"))), unix.EPIPE,
		"to a peer that does not read any more")
}

// TestMaxIO: one call moves no more than MaxIO, and a read cut off there is not
// taken for one that short the socket.
func TestMaxIO(t *testing.T) {
	a, b := socketpair(t)
	for _, fd := range []int{a, b} {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20)
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 8<<20)
	}
	big := make([]byte, 2*sysx.MaxIO)
	sent := 0
	for sent < sysx.MaxIO+1 {
		n, errno := sysx.TrySend(a, big)
		if errno == unix.EAGAIN {
			t.Skip("this kernel gives no buffers that large to this user")
		} else if errno != 0 {
			t.Fatal(errno)
		}
		if n > sysx.MaxIO {
			t.Errorf("one call sent %d", n)
		}
		sent += n
	}
	if n, short, errno := sysx.TryRecv(b, big); n != sysx.MaxIO || short || errno != 0 {
		t.Errorf("one call read %d, %v, %v, want %d, false", n, short, errno, sysx.MaxIO)
	}
}

// TestAccept: the new fd is non-blocking, closed on exec, and the peer's
// address is filled in, for both families.
func TestAccept(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		ip := netip.MustParseAddr(host)
		family, sa := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
		if ip.Is6() {
			family, sa = unix.AF_INET6, &unix.SockaddrInet6{Addr: ip.As16()}
		}
		l, err := sysx.NewSocket(family, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Logf("%s: %v", host, err)
			continue
		}
		defer sysx.CloseFD(l)
		if err := unix.Bind(l, sa); err != nil {
			t.Logf("%s: %v", host, err)
			continue
		}
		testenv.OK(t, unix.Listen(l, 1))
		var from, local sysx.RawAddr
		if ap, _ := from.AddrPort(); ap.IsValid() {
			t.Error("an address that was never filled in is valid")
		}
		if fd, errno := sysx.TryAccept(l, &from); fd >= 0 || errno != unix.EAGAIN {
			t.Errorf("with no connection: %d, %v", fd, errno)
		}
		testenv.Equal(t, local.LocalAddr(l), 0)
		at, _ := local.AddrPort()
		peer := testenv.Must(net.Dial("tcp", at.String()))
		defer peer.Close()
		arrive(t, l, 1) // Dial returns when the peer's side is connected
		fd, errno := sysx.TryAccept(l, &from)
		if errno != 0 {
			t.Fatal(errno)
		}
		defer sysx.CloseFD(fd)
		var remote sysx.RawAddr
		if errno := remote.RemoteAddr(fd); errno != 0 || remote != from {
			t.Errorf("%s: accept4 and getpeername disagree, %v", host, errno)
		}
		if ap, zone := from.AddrPort(); ap.String() != peer.LocalAddr().String() || zone != 0 ||
			ap.Addr() != ip {
			t.Errorf("%s: the peer is %v zone %d, want %v", host, ap, zone, peer.LocalAddr())
		}
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		cloexec, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if flags&unix.O_NONBLOCK == 0 || cloexec&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: flags %#x, %#x", host, flags, cloexec)
		}
	}
}

// injection is what an Injector answers to a call for ten bytes, and what
// becomes of the call.
type injection struct {
	name  string
	fail  []syscall.Errno // in place of the first tries
	limit int             // of the next
	want  int
	errno syscall.Errno
	calls int
}

// injections: an error comes in place of the call, EINTR makes it be repeated,
// a limit shortens it but not below 1.
var injections = []injection{
	{"nothing", nil, 10, 10, 0, 1},
	{"more than asked for", nil, 100, 10, 0, 1},
	{"short", nil, 3, 3, 0, 1},
	{"zero is one", nil, 0, 1, 0, 1},
	{"negative is one", nil, -5, 1, 0, 1},
	{"error", []syscall.Errno{unix.ECONNRESET}, 10, 0, unix.ECONNRESET, 1},
	{"interrupted", []syscall.Errno{unix.EINTR, unix.EINTR}, 10, 10, 0, 3},
	{"interrupted, then an error", []syscall.Errno{unix.EINTR, unix.EAGAIN}, 10, 0, unix.EAGAIN, 2},
}

// of makes a call, about which the Injector is asked.
func (i *injection) of(t *testing.T, op sysx.Op, fd int, call func() (int, syscall.Errno)) {
	t.Helper()
	calls := 0
	defer sysx.Inject(func(gotOp sysx.Op, gotFD, asked int) (int, syscall.Errno) {
		if gotOp != op || gotFD != fd || asked != 10 {
			t.Errorf("%s: asked about %d, %d, %d", i.name, gotOp, gotFD, asked)
		}
		if calls++; calls <= len(i.fail) {
			return asked, i.fail[calls-1]
		}
		return i.limit, 0
	})()
	if n, errno := call(); n != i.want || errno != i.errno || calls != i.calls {
		t.Errorf("%s: moved %d, %v in %d calls, want %d, %v in %d", i.name, n, errno, calls, i.want,
			i.errno, i.calls)
	}
}

// TestInjectErrors: the calls that move nothing return the injected error too,
// and after the Injector's removal all is as before.
func TestInjectErrors(t *testing.T) {
	fail := []error{unix.EMFILE, unix.ENOSPC, unix.ECONNREFUSED, unix.EBADF, unix.EBADF}
	calls := 0
	remove := sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
		calls++
		return asked, fail[calls-1].(syscall.Errno)
	})
	defer remove()
	events := make([]unix.EpollEvent, 1)
	got := []error{
		testenv.Err(sysx.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0)),
		sysx.Add(-1, 0, 0, 0, 0),
		sysx.StartConnect(-1, &unix.SockaddrInet4{}),
		testenv.Err(sysx.Poll(-1, events)),
		testenv.Err(sysx.Wait(-1, events)),
	}
	if !slices.Equal(got, fail) {
		t.Errorf("NewSocket, Add, StartConnect, Poll and Wait: %v, want %v", got, fail)
	}
	remove()
	a, _ := socketpair(t)
	if n, errno := sysx.TrySend(a, []byte("x")); n != 1 || errno != 0 || calls != len(fail) {
		t.Errorf("after its removal: %d, %v; asked %d times", n, errno, calls)
	}
}

// TestEvents: an fd is added for everything at once, edge-triggered, and its
// slot and generation come back with each event.
func TestEvents(t *testing.T) {
	epfd := testenv.Must(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
	defer unix.Close(epfd)
	a, b := socketpair(t)
	testenv.OK(t, sysx.Add(epfd, a, unix.EPOLLOUT, 7, -9))
	unix.Write(b, []byte("x"))
	events := make([]unix.EpollEvent, 4)
	n, errno := sysx.Wait(epfd, events)
	if n != 1 || errno != 0 || events[0].Fd != 7 || events[0].Pad != -9 ||
		events[0].Events != unix.EPOLLIN|unix.EPOLLOUT {
		t.Errorf("%d, %v, %+v", n, errno, events[0])
	}
	testenv.Gives(t, 0, done, "the edge came twice")(sysx.Poll(epfd, events))
	bell := testenv.Must(unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK))
	defer unix.Close(bell)
	sysx.Ring(bell)
	sysx.Ring(bell)
	var count [8]byte
	if n, err := unix.Read(bell, count[:]); n != 8 || err != nil || count[0] != 2 {
		t.Errorf("two rings count %v, %v", count, err)
	}
}

// TestWaitLong: goroutines go on without another P, and the caller then gets it
// back.
func TestWaitLong(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	epfd := testenv.Must(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
	defer unix.Close(epfd)
	a, b := socketpair(t)
	testenv.OK(t, sysx.Add(epfd, a, 0, 7, 0))
	events := make([]unix.EpollEvent, 4)
	for range 100 {
		go unix.Write(b, []byte("x"))
		if n, errno := sysx.WaitLong(epfd, events); n != 1 || errno != 0 || events[0].Fd != 7 {
			t.Fatalf("%d, %v, %+v", n, errno, events[0])
		}
	}
	_, errno := sysx.WaitLong(-1, events)
	testenv.Equal(t, errno, unix.EBADF, "without an epoll fd")
}

// TestBarriers: where the kernel has them, they can be had, any number of
// times.
func TestBarriers(t *testing.T) {
	const query, needed = 0, 1<<3 | 1<<4
	commands, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, query, 0, 0)
	has := errno == 0 && commands&needed == needed
	for range 2 {
		if err := sysx.EnableBarriers(); (err == nil) != has {
			t.Fatalf("membarrier(2) has commands %#x, %v: %v", commands, errno, err)
		}
	}
	if has {
		sysx.Barrier()
	}
}
