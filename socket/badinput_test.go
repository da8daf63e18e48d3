package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
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
		"@", "\x00", strings.Repeat("x", 200)}
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

// bothErrors compares the errors of two calls and closes what they opened, and
// removes path after each. Neither may leave an fd.
func bothErrors(t *testing.T, what, path string, ours, theirs func() (closer, error)) {
	t.Helper()
	fdsAround(t, what, func() { withNet(t, what, path, ours, theirs) })
}

// badInputPlaces spreads a table over the places: what is refused is refused
// before it matters where.
func badInputPlaces(t *testing.T, n int, f func(i int)) {
	t.Helper()
	for j, p := range testrun.Places {
		p.Do(t, func() {
			for i := j; i < n; i += len(testrun.Places) {
				f(i)
			}
		})
	}
}

// TestBadInputOpening: every network with every address, to all that listens
// and dials: the errors are net's and no fd is left.
func TestBadInputOpening(t *testing.T) {
	noSuchHost(t)
	start(t, 2)
	t.Chdir(t.TempDir()) // where some of the addresses are good names for Unix sockets
	netPair(t)           // which makes Go's poller
	var dialer socket.Dialer
	netDialer := net.Dialer{}
	ctx := context.Background()
	type entry struct{ network, address string }
	var table []entry
	for _, n := range badNetworks {
		for _, a := range badTargets() {
			table = append(table, entry{n, a})
		}
	}
	badInputPlaces(t, len(table), func(i int) {
		n, a := table[i].network, table[i].address
		what := func(f string) string { return fmt.Sprintf("%s(%q, %.100q)", f, n, a) }
		if strings.HasPrefix(n, "ip") {
			return // net has sockets for raw IP, which package socket leaves to NewSocket
		}
		if !strings.HasPrefix(a, elsewhere) {
			bothErrors(t, what("Dial"), a,
				func() (closer, error) { return opened(dialer.DialContext(ctx, n, a)) },
				func() (closer, error) { return opened(netDialer.DialContext(ctx, n, a)) })
		}
		if n == "unixgram" { // of which net makes a net.Listener that cannot accept
			if _, err := socket.Listen(n, a); err == nil ||
				!strings.Contains(err.Error(), "unexpected address type") {
				t.Errorf("%s: %v", what("Listen"), err)
			}
		} else {
			bothErrors(t, what("Listen"), a,
				func() (closer, error) {
					return opened(new(socket.ListenConfig).Listen(ctx, n, a))
				},
				func() (closer, error) { return opened(new(net.ListenConfig).Listen(ctx, n, a)) })
		}
		if n == "unix" || n == "unixpacket" { // of which it makes a net.PacketConn that is none
			if _, err := socket.ListenPacket(n, a); err == nil ||
				!strings.Contains(err.Error(), "unexpected address type") {
				t.Errorf("%s: %v", what("ListenPacket"), err)
			}
			return
		}
		file, _, _ := strings.Cut(a, "\x00")
		bothErrors(t, what("ListenPacket"), file,
			func() (closer, error) {
				return opened(new(socket.ListenConfig).ListenPacket(ctx, n, a))
			},
			func() (closer, error) { return opened(new(net.ListenConfig).ListenPacket(ctx, n, a)) })
	})
}

// TestBadInputAddresses: addresses of package net that are none, to all that
// takes them.
func TestBadInputAddresses(t *testing.T) {
	start(t, 2)
	ips := []net.IP{nil, {}, {1, 2, 3}, make(net.IP, 15), make(net.IP, 17), net.IPv4(192, 0, 2, 1),
		net.ParseIP("2001:db8::1"), net.IPv4bcast}
	ports := []int{0, -1, 65536, 1 << 40}
	badInputPlaces(t, len(ips)*len(ports), func(i int) {
		ip, port := ips[i/len(ports)], ports[i%len(ports)]
		for _, n := range []string{"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "", "unix"} {
			what := func(f string) string {
				return fmt.Sprintf("%s(%q, %v:%d)", f, n, []byte(ip), port)
			}
			tcpAt, udpAt := &net.TCPAddr{IP: ip, Port: port}, &net.UDPAddr{IP: ip, Port: port}
			bothErrors(t, what("ListenTCP"), "",
				func() (closer, error) { return opened(socket.ListenTCP(n, tcpAt)) },
				func() (closer, error) { return opened(net.ListenTCP(n, tcpAt)) })
			bothErrors(t, what("ListenUDP"), "",
				func() (closer, error) { return opened(socket.ListenUDP(n, udpAt)) },
				func() (closer, error) { return opened(net.ListenUDP(n, udpAt)) })
			bothErrors(t, what("DialUDP"), "",
				func() (closer, error) { return opened(socket.DialUDP(n, nil, udpAt)) },
				func() (closer, error) { return opened(net.DialUDP(n, nil, udpAt)) })
			bothErrors(t, what("DialUDP from"), "",
				func() (closer, error) {
					return opened(socket.DialUDP(n, udpAt, &net.UDPAddr{Port: 9}))
				},
				func() (closer, error) {
					return opened(net.DialUDP(n, udpAt, &net.UDPAddr{Port: 9}))
				})
			bothErrors(t, what("DialTCP from"), "",
				func() (closer, error) {
					return opened(socket.DialTCP(n, tcpAt, &net.TCPAddr{Port: 1}))
				},
				func() (closer, error) {
					return opened(net.DialTCP(n, tcpAt, &net.TCPAddr{Port: 1}))
				})
		}
	})
}

// TestBadInputFiles: files that are no sockets, or none of the right kind, or
// closed.
func TestBadInputFiles(t *testing.T) {
	startFiles(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	closed, _ := os.Open("/dev/null")
	closed.Close()
	dir, _ := os.Open(t.TempDir())
	defer dir.Close()
	files := []*os.File{r, w, os.Stderr, closed, dir}
	for _, kind := range [][3]int{
		{unix.AF_INET, unix.SOCK_STREAM, 0}, {unix.AF_INET6, unix.SOCK_DGRAM, 0},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0},
		{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, {unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		{unix.AF_NETLINK, unix.SOCK_RAW, 0},
	} {
		fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, kind[2])
		if err != nil {
			continue
		}
		f := os.NewFile(uintptr(fd), fmt.Sprint("socket ", kind))
		defer f.Close()
		files = append(files, f)
	}
	for _, f := range files {
		for name, do := range map[string][2]func() (closer, error){
			"FileConn": {
				func() (closer, error) { return opened(socket.FileConn(f)) },
				func() (closer, error) { return opened(net.FileConn(f)) }},
			"FileListener": {
				func() (closer, error) { return opened(socket.FileListener(f)) },
				func() (closer, error) { return opened(net.FileListener(f)) }},
			"FilePacketConn": {
				func() (closer, error) { return opened(socket.FilePacketConn(f)) },
				func() (closer, error) { return opened(net.FilePacketConn(f)) }},
		} {
			fdsAround(t, name, func() {
				var texts [2]string // the addresses in them are of types that are no other's
				for i := range do {
					c, err := do[i]()
					if err == nil {
						c.Close()
					}
					var op *net.OpError
					var call *os.SyscallError
					texts[i] = fmt.Sprint(err, errors.As(err, &op), errors.As(err, &call))
				}
				testenv.Equal(t, texts[0], texts[1], name, "of", f.Name())
			})
		}
	}
}

// TestBadInputInUse: names and ports that are taken, by net or by this package.
func TestBadInputInUse(t *testing.T) {
	start(t, 2)
	dir := filepath.Dir(unixName(t, "x"))
	byOurs := listen(t)
	byTheirs := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	udpTaken := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0")))
	unixTaken := testenv.Closing(t, testenv.Must(socket.Listen("unix", filepath.Join(dir, "s"))))
	everywhere(t, func(p testrun.Place) {
		for _, l := range []struct{ network, address string }{
			{"tcp", byOurs.Addr().String()}, {"tcp4", byTheirs.Addr().String()},
			{"unix", unixTaken.Addr().String()}, {"unixpacket", unixTaken.Addr().String()},
		} {
			bothErrors(t, "Listen "+l.network, "",
				func() (closer, error) { return opened(socket.Listen(l.network, l.address)) },
				func() (closer, error) { return opened(net.Listen(l.network, l.address)) })
		}
		for _, l := range []struct{ network, address string }{
			{"udp", udpTaken.LocalAddr().String()}, {"udp4", udpTaken.LocalAddr().String()},
			{"unixgram", unixTaken.Addr().String()},
		} {
			bothErrors(t, "ListenPacket "+l.network, "",
				func() (closer, error) { return opened(socket.ListenPacket(l.network, l.address)) },
				func() (closer, error) { return opened(net.ListenPacket(l.network, l.address)) })
		}
		from := byOurs.Addr()
		bothErrors(t, "Dial from a port in use", "",
			func() (closer, error) {
				return opened((&socket.Dialer{LocalAddr: from}).Dial("tcp",
					byTheirs.Addr().String()))
			},
			func() (closer, error) {
				return opened((&net.Dialer{LocalAddr: from}).Dial("tcp", byTheirs.Addr().String()))
			})
		bothErrors(t, "a Control that fails", "",
			func() (closer, error) {
				return opened((&socket.ListenConfig{Control: refuse}).Listen(context.Background(),
					"tcp", "127.0.0.1:0"))
			},
			func() (closer, error) {
				return opened((&net.ListenConfig{Control: refuse}).Listen(context.Background(),
					"tcp", "127.0.0.1:0"))
			})
	})
}

func refuse(string, string, syscall.RawConn) error { return syscall.EXDEV }

// TestBadInputZeroValues: what was made by no call is not closed. It used to be
// fd 0 that was.
func TestBadInputZeroValues(t *testing.T) {
	start(t, 1)
	open := socket.OpenCount()
	keep := dupFD(t, 0)
	defer unix.Close(keep)
	for _, c := range []closer{
		new(socket.TCPConn), new(socket.UDPConn), new(socket.UnixConn), new(socket.TCPListener),
		new(socket.UnixListener),
		new(socket.Socket), new(socket.File),
	} {
		testenv.Fails(t, c.Close(), syscall.EINVAL, c)
		if rw, ok := c.(io.ReadWriter); ok {
			_, rerr := rw.Read(make([]byte, 1))
			_, werr := rw.Write(make([]byte, 1))
			if closed := func(err error) bool {
				return errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrClosed)
			}; !closed(rerr) || !closed(werr) {
				t.Errorf("%T: Read: %v, Write: %v", c, rerr, werr)
			}
		}
		if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
			t.Errorf("closing a zero %T has closed fd 0", c)
			unix.Dup2(keep, 0)
		}
	}
	testenv.Equal(t, socket.OpenCount(), open)
}

// TestBadInputOwn: what has no counterpart in package net. Each error says what
// is wrong; nothing panics and no fd is left.
func TestBadInputOwn(t *testing.T) {
	startFiles(t)
	r, w := rawPipe(t)
	defer unix.Close(r)
	defer unix.Close(w)
	unused := 1 << 20 // no fd has that number
	cases := []struct {
		name, want string
		do         func() error
	}{
		{"NewSocket family", "address family not supported", func() error {
			_, err := socket.NewSocket(-1, unix.SOCK_STREAM, 0)
			return err
		}},
		{"NewSocket type", "invalid argument", func() error {
			_, err := socket.NewSocket(unix.AF_INET, 15, 0)
			return err
		}},
		{"NewSocket protocol", "protocol not supported", func() error {
			_, err := socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 255)
			return err
		}},
		{"AdoptSocket of no fd", "bad file descriptor", func() error {
			_, err := socket.AdoptSocket(-1)
			return err
		}},
		{"AdoptSocket of an unused fd", "bad file descriptor", func() error {
			_, err := socket.AdoptSocket(unused)
			return err
		}},
		{"AdoptSocket of a pipe", "socket operation on non-socket", func() error {
			_, err := socket.AdoptSocket(r)
			return err
		}},
		{"FileFromFD of an unused fd", "bad file descriptor", func() error {
			_, err := socket.FileFromFD(uintptr(unused), "x")
			return err
		}},
		{"FileFromFD of no fd", "bad file descriptor", func() error {
			_, err := socket.FileFromFD(^uintptr(0), "x")
			return err
		}},
		{"NewFile of nil", "invalid argument", func() error {
			_, err := socket.NewFile(nil)
			return err
		}},
		{"NewFile of a closed one", "file already closed", func() error {
			f := os.NewFile(uintptr(dupFD(t, r)), "closed")
			f.Close()
			_, err := socket.NewFile(f)
			return err
		}},
		{"ListenReusePort 0", "invalid argument", func() error {
			_, err := socket.ListenReusePort("tcp", "127.0.0.1:0", 0)
			return err
		}},
		{"ListenReusePort udp", "unknown network udp", func() error {
			_, err := socket.ListenReusePort("udp", "127.0.0.1:0", 1)
			return err
		}},
		{"ListenReusePort taken", "address already in use", func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			defer l.Close()
			_, err = socket.ListenReusePort("tcp", l.Addr().String(), 3)
			return err
		}},
		{"ListenUDPReusePort -1", "invalid argument", func() error {
			_, err := socket.ListenUDPReusePort("udp", "127.0.0.1:0", -1)
			return err
		}},
		{"ListenUDPReusePort tcp", "unknown network tcp", func() error {
			_, err := socket.ListenUDPReusePort("tcp", "127.0.0.1:0", 1)
			return err
		}},
		{"Poll of too many", "invalid argument", func() error {
			var most unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur >= 1<<22 {
				return unix.EINVAL // there is no memory for more than may be open here
			}
			_, err := socket.Poll(make([]socket.PollFd, most.Cur+1), 0)
			return err
		}},
		{"PollContext that is over", "context canceled", func() error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := socket.PollContext(ctx, nil)
			return err
		}},
		{"Poll of bad fds", "3 of 3 [{-1 1 0} {1048576 1 32} {-5 1 0}] <nil>", func() error {
			fds := []socket.PollFd{{Fd: -1, Events: 1}, {Fd: int32(unused), Events: 1},
				{Fd: -5, Events: 1}}
			n, err := socket.Poll(fds, time.Hour)
			return fmt.Errorf("%d of 3 %v %v", n+2, fds, err)
		}},
		{"Accept without Listen", "invalid argument", onSocket(func(x *socket.Socket) error {
			_, _, err := x.Accept()
			return err
		})},
		{"Read without peer", "transport endpoint is not connected",
			onSocket(func(x *socket.Socket) error {
				_, err := x.Read(make([]byte, 1))
				return err
			})},
		{"Write without peer", "broken pipe", onSocket(func(x *socket.Socket) error {
			_, err := x.Write(make([]byte, 1))
			return err
		})},
		{"Connect to nobody", "connection refused", onSocket(func(x *socket.Socket) error {
			return x.Connect(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 1})
		})},
		{"Connect to another family", "invalid argument", onSocket(func(x *socket.Socket) error {
			return x.Connect(&unix.SockaddrUnix{Name: "x"})
		})},
		{"Bind to a bad port", "invalid argument", onSocket(func(x *socket.Socket) error {
			return x.Bind(&unix.SockaddrInet4{Port: -1})
		})},
		{"Setsockopt", "protocol not available", onSocket(func(x *socket.Socket) error {
			return x.SetsockoptInt(unix.SOL_SOCKET, 9999, 1)
		})},
		{"Shutdown how", "invalid argument", onSocket(func(x *socket.Socket) error {
			return x.Shutdown(17)
		})},
		{"Getpeername", "transport endpoint is not connected",
			onSocket(func(x *socket.Socket) error { _, err := x.Getpeername(); return err })},
		{"second Close", "use of closed network connection", onSocket(func(x *socket.Socket) error {
			x.Close()
			return x.Close()
		})},
		{"read-only write", "bad file descriptor", func() error {
			f, err := socket.FileFromFD(uintptr(dupFD(t, r)), "the pipe")
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write([]byte("x"))
			return err
		}},
	}
	everywhere(t, func(p testrun.Place) {
		for _, c := range cases {
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
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
	}
	return n
}

// TestNilSockaddr: Bind and Connect of a nil address return an error; they
// panic in x/sys/unix.
func TestNilSockaddr(t *testing.T) {
	start(t, 1)
	for name, f := range map[string]func(x *socket.Socket) error{
		"Bind":    func(x *socket.Socket) error { return x.Bind(nil) },
		"Connect": func(x *socket.Socket) error { return x.Connect(nil) },
	} {
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%s(nil) panics: %v", name, v)
				}
			}()
			if err := onSocket(f)(); err == nil {
				t.Errorf("%s(nil) succeeds", name)
			}
		}()
	}
}
