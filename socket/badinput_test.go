package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// badNetworks are names of networks, good ones for some functions and bad for
// others, or for all.
var badNetworks = []string{
	"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "unix", "unixgram", "unixpacket",
	"", "TCP", "tcp ", " tcp", "tcp:", "tcp5", "ip", "ip4", "ip4:1", "ip4:icmp",
	"ip:nosuchprotocol", "ip6:", "unixx", "http", "tcp\x00", "💥",
}

// badHosts are hosts that no program can listen on or dial.
var badHosts = []string{
	"256.1.1.1", "1.2.3", "127.1", "0x7f.1", "0177.0.0.1", "127.0.0.1.", "[::1", "::1]", "::1",
	"[]", "[:::1]", "[::1%nosuchinterface]",
	"[fe80::1%]", "[127.0.0.1]", "*", "%", "no-such-host.invalid", "a..b", ".", "..", "-", " ",
	"host name", "host\x00name", "host\nname",
	strings.Repeat("x", 64) + ".invalid", strings.Repeat("x.", 200), "\xff\xfe", elsewhere,
}

// elsewhere is an address that no host has. To dial it takes long.
const elsewhere = "192.0.2.1"

// badPorts are no ports.
var badPorts = []string{
	"-1", "65536", "99999", "4294967296", "99999999999999999999", "+80", "8 0", " 80", "0x50",
	"1e3", "80:", "nosuchservice", "-", "\x00", "٣",
}

// badTargets are addresses of every bad sort, and a few that are good for some
// networks.
func badTargets() (all []string) {
	all = []string{"", ":", "::", "127.0.0.1", "localhost", "[::1]", "[::1]80", "127.0.0.1:80:80",
		"::1", "::1:80:", "[::1", "127.0.0.1:0", "[::1]:0", "127.0.0.1: 80",
		"@", "\x00", strings.Repeat("x", 200), ":0", "[::]:0", "0.0.0.0:0", elsewhere + ":0",
		"here.test.:0", "elsewhere.test.:0", "six.test.:0", "[::ffff:127.0.0.1]:0", "a/b"}
	for _, h := range badHosts {
		all = append(all, h+":0")
	}
	for _, p := range badPorts {
		all = append(all, "127.0.0.1:"+p, ":"+p)
	}
	return all
}

// fdsAround compares how many fds there are before and after. Net's resolver
// may close some of its own late.
func fdsAround(t *testing.T, what string, f func()) {
	t.Helper()
	before := testenv.Files()
	f()
	for end := time.Now().Add(limit); testenv.Files() > before; {
		if time.Now().After(end) {
			t.Errorf("%s: %d fds, before %d", what, testenv.Files(), before)
			return
		}
	}
}

// bothMade compares what two calls made, or their errors; after each of them
// path is removed.
func bothMade(t *testing.T, what, path string, ours, theirs func() string) {
	t.Helper()
	got := ours()
	os.Remove(path)
	want := theirs()
	os.Remove(path)
	testenv.Equal(t, got, want, what)
}

// unexpected checks that err reports a network that does not fit the call.
// Package net returns something useless there, and no error.
func unexpected(t *testing.T, what string, err error) {
	t.Helper()
	testenv.True(t, err != nil && strings.Contains(err.Error(), "unexpected address type"),
		"%s: %v", what, err)
}

// badInputPlaces runs f for each of the n entries of a table, in the places in
// turn: bad input is refused before the place matters. Unless at full length it
// runs about every fourth entry of a long table, in no pattern. No place may
// leave an fd open.
func badInputPlaces(t *testing.T, n int, f func(i int)) {
	t.Helper()
	all := n < 100 || testenv.Full()
	for j, p := range testrun.Places {
		p.Do(t, func() {
			fdsAround(t, p.Name, func() {
				for i := j; i < n; i += len(testrun.Places) {
					if all || i*2654435761>>7%4 == 0 {
						f(i)
					}
				}
			})
		})
	}
}

// TestBadInputOpening: every network with every address, to all that listens
// and dials: what is made and the errors are net's, and no fd is left.
func TestBadInputOpening(t *testing.T) {
	askNames(t, map[string][]record{"here.test.": addresses("127.0.0.1"),
		"elsewhere.test.": addresses(elsewhere), "six.test.": addresses("2001:db8::6")})
	start(t, 2)
	t.Chdir(t.TempDir()) // where some of the addresses are good names for Unix sockets
	netPair(t)           // which makes Go's poller
	var (
		dialer    socket.Dialer
		netDialer net.Dialer
		ours      socket.ListenConfig
		nets      net.ListenConfig
		table     [][2]string
	)
	ctx := context.Background()
	for _, n := range badNetworks {
		for _, a := range badTargets() {
			table = append(table, [2]string{n, a})
		}
	}
	badInputPlaces(t, len(table), func(i int) {
		n, a := table[i][0], table[i][1]
		what := func(f string) string { return fmt.Sprintf("%s(%q, %.100q)", f, n, a) }
		if strings.HasPrefix(n, "ip") { // net has raw IP, which socket leaves to NewSocket
			failsIn(t, "dial", shut(dialer.DialContext(ctx, n, a)), net.UnknownNetworkError(n))
			return
		}
		if !strings.HasPrefix(a, elsewhere) && !strings.HasSuffix(a, ".test.:0") {
			bothMade(t, what("Dial"), a,
				func() string { return describeError(shut(dialer.DialContext(ctx, n, a))) },
				func() string { return describeError(shut(netDialer.DialContext(ctx, n, a))) })
		}
		if n == "unixgram" {
			unexpected(t, what("Listen"), shut(conet.Listen(n, a)))
		} else {
			bothMade(t, what("Listen"), a,
				func() string { return made(ours.Listen(ctx, n, a)) },
				func() string { return made(nets.Listen(ctx, n, a)) })
		}
		if n == "unix" || n == "unixpacket" {
			unexpected(t, what("ListenPacket"), shut(conet.ListenPacket(n, a)))
			return
		}
		file, _, _ := strings.Cut(a, "\x00")
		bothMade(t, what("ListenPacket"), file,
			func() string { return made(ours.ListenPacket(ctx, n, a)) },
			func() string { return made(nets.ListenPacket(ctx, n, a)) })
	})
}

// TestBadInputZeroValues: Close of a zero value closes no fd. It closed fd 0.
func TestBadInputZeroValues(t *testing.T) {
	start(t, 1)
	open := sockinfo.OpenCount()
	keep := dupFD(t, 0)
	defer unix.Close(keep)
	for _, c := range []closer{
		new(socket.TCPConn), new(socket.UDPConn), new(socket.UnixConn), new(socket.TCPListener),
		new(socket.UnixListener),
		new(socket.Socket), new(socket.File),
	} {
		testenv.Fails(t, c.Close(), syscall.EINVAL, c)
		if rw, ok := c.(io.ReadWriter); ok {
			for _, err := range []error{testenv.Err(rw.Read(make([]byte, 1))),
				testenv.Err(rw.Write(make([]byte, 1)))} {
				testenv.True(t, errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed),
					"%T: %v", c, err)
			}
		}
		if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
			t.Errorf("closing a zero %T has closed fd 0", c)
			unix.Dup2(keep, 0)
		}
	}
	testenv.Equal(t, sockinfo.OpenCount(), open)
}

// badOwnCase is a call that has no counterpart in package net, and a part of
// its error.
type badOwnCase struct {
	name, want string
	do         func() error
}

// badSockets are bad uses of a Socket that is fresh.
var badSockets = []badOwnCase{
	{"Accept without Listen", "invalid argument", onSocket(func(x *socket.Socket) error {
		return err3(x.Accept())
	})},
	{"Read without peer", "transport endpoint is not connected",
		onSocket(func(x *socket.Socket) error { return testenv.Err(x.Read(make([]byte, 1))) })},
	{"Write without peer", "broken pipe",
		onSocket(func(x *socket.Socket) error { return testenv.Err(x.Write(make([]byte, 1))) })},
	{"Connect to a closed port", "connection refused", onSocket(func(x *socket.Socket) error {
		return x.Connect(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 1})
	})},
	{"Connect to another family", "invalid argument", onSocket(func(x *socket.Socket) error {
		return x.Connect(&unix.SockaddrUnix{Name: "x"})
	})},
	{"Bind to a bad port", "invalid argument", onSocket(func(x *socket.Socket) error {
		return x.Bind(&unix.SockaddrInet4{Port: -1})
	})},
	// These calls panic in x/sys/unix.
	{"Bind to nil", "", onSocket(func(x *socket.Socket) error { return x.Bind(nil) })},
	{"Connect to nil", "", onSocket(func(x *socket.Socket) error { return x.Connect(nil) })},
	{"Setsockopt", "protocol not available", onSocket(func(x *socket.Socket) error {
		return x.SetsockoptInt(unix.SOL_SOCKET, 9999, 1)
	})},
	{"Shutdown how", "invalid argument",
		onSocket(func(x *socket.Socket) error { return x.Shutdown(17) })},
	{"Getpeername", "transport endpoint is not connected",
		onSocket(func(x *socket.Socket) error { return testenv.Err(x.Getpeername()) })},
	{"second Close", "use of closed network connection", onSocket(func(x *socket.Socket) error {
		x.Close()
		return x.Close()
	})},
}

// badFDs are bad fds and files; r is the read end of a pipe.
func badFDs(t *testing.T, r int) []badOwnCase {
	const unused = 1 << 20 // no fd has that number
	fileOf := func(fd uintptr) func() error {
		return func() error { return testenv.Err(socket.FileFromFD(fd, "x")) }
	}
	adopt := func(fd int) func() error {
		return func() error { return testenv.Err(socket.AdoptSocket(fd)) }
	}
	fresh := func(family, typ, protocol int) func() error {
		return func() error { return testenv.Err(socket.NewSocket(family, typ, protocol)) }
	}
	return []badOwnCase{
		{"NewSocket family", "address family not supported", fresh(-1, unix.SOCK_STREAM, 0)},
		{"NewSocket type", "invalid argument", fresh(unix.AF_INET, 15, 0)},
		{"NewSocket protocol", "protocol not supported",
			fresh(unix.AF_INET, unix.SOCK_STREAM, 255)},
		{"AdoptSocket of no fd", "bad file descriptor", adopt(-1)},
		{"AdoptSocket of an unused fd", "bad file descriptor", adopt(unused)},
		{"AdoptSocket of a pipe", "socket operation on non-socket", adopt(r)},
		{"FileFromFD of an unused fd", "bad file descriptor", fileOf(unused)},
		{"FileFromFD of no fd", "bad file descriptor", fileOf(^uintptr(0))},
		{"NewFile of nil", "invalid argument", func() error {
			return testenv.Err(socket.NewFile(nil))
		}},
		{"NewFile of a closed one", "file already closed", func() error {
			f := os.NewFile(uintptr(dupFD(t, r)), "closed")
			f.Close()
			return testenv.Err(socket.NewFile(f))
		}},
		{"read-only write", "bad file descriptor", func() error {
			f := testenv.Must(socket.FileFromFD(uintptr(dupFD(t, r)), "the pipe"))
			defer f.Close()
			return testenv.Err(f.Write([]byte("x")))
		}},
		{"Poll of bad fds", "3 of 3 [{-1 1 0} {1048576 1 32} {-5 1 0}] <nil>", func() error {
			fds := []socket.PollFd{{Fd: -1, Events: 1}, {Fd: unused, Events: 1},
				{Fd: -5, Events: 1}}
			n, err := socket.Poll(fds, time.Hour)
			return fmt.Errorf("%d of 3 %v %v", n+2, fds, err)
		}},
	}
}

// badCalls have bad arguments for the functions that listen and poll.
var badCalls = []badOwnCase{
	{"ListenReusePort 0", "invalid argument", func() error {
		return testenv.Err(socket.ListenReusePort("tcp", "127.0.0.1:0", 0))
	}},
	{"ListenReusePort -1", "invalid argument", func() error {
		return testenv.Err(socket.ListenReusePort("tcp", "127.0.0.1:0", -1))
	}},
	{"ListenReusePort udp", "unknown network udp", func() error {
		return testenv.Err(socket.ListenReusePort("udp", "127.0.0.1:0", 1))
	}},
	{"ListenReusePort taken", "address already in use", func() error {
		l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
		defer l.Close()
		return testenv.Err(socket.ListenReusePort("tcp", l.Addr().String(), 3))
	}},
	{"ListenUDPReusePort 0", "invalid argument", func() error {
		return testenv.Err(socket.ListenUDPReusePort("udp", "127.0.0.1:0", 0))
	}},
	{"ListenUDPReusePort taken", "address already in use", func() error {
		c := testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))
		defer c.Close()
		return testenv.Err(socket.ListenUDPReusePort("udp", c.LocalAddr().String(), 2))
	}},
	{"ListenUDPReusePort -1", "invalid argument", func() error {
		return testenv.Err(socket.ListenUDPReusePort("udp", "127.0.0.1:0", -1))
	}},
	{"ListenUDPReusePort tcp", "unknown network tcp", func() error {
		return testenv.Err(socket.ListenUDPReusePort("tcp", "127.0.0.1:0", 1))
	}},
	{"Poll of too many", "invalid argument", func() error {
		var most unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur >= 1<<22 {
			return unix.EINVAL // there is no memory for more than may be open here
		}
		return testenv.Err(socket.Poll(make([]socket.PollFd, most.Cur+1), 0))
	}},
	{"PollContext that is over", "context canceled", func() error {
		return testenv.Err(socket.PollContext(testenv.Over(), nil))
	}},
}

// TestBadInputOwn: calls that package net does not have. Each error says what
// is wrong with the input; nothing panics and no fd is left.
func TestBadInputOwn(t *testing.T) {
	start(t, 2)
	r, w := rawPipe(t)
	defer unix.Close(r)
	defer unix.Close(w)
	everywhere(t, func(p testrun.Place) {
		for _, c := range slices.Concat(badFDs(t, r), badCalls, badSockets) {
			fdsAround(t, p.Name+", "+c.name, func() {
				if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, %s: %v, want %s", p.Name, c.name, err, c.want)
				}
			})
		}
	})
}

// onSocket gives f a fresh TCP socket.
func onSocket(f func(x *socket.Socket) error) func() error {
	return func() error {
		x, err := socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer x.Close()
		return f(x)
	}
}

func dupFD(t testing.TB, fd int) int {
	return testenv.Must(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0))
}
