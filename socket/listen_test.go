package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// TestListenContext: the context ends the look-up only.
func TestListenContext(t *testing.T) {
	s := askNames(t, map[string][]record{"here.test.": addresses("127.0.0.1")})
	s.hold("here.test.")
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		ctx, cancel := context.WithCancel(context.Background())
		k := p.Park(t, coroutine.ReasonBlocking, func() {
			_, err := new(socket.ListenConfig).Listen(ctx, "tcp", "here.test.:0")
			testenv.Fails(t, err, context.Canceled)
			_, want := new(net.ListenConfig).Listen(ctx, "tcp", "here.test.:0")
			same(t, "Listen", err, want)
			testenv.NoError(t, shut(new(socket.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")))
		})
		cancel()
		k.Wait(t)
	})
}

// TestListenControl: the hook is called before the bind, and can set options;
// its error ends the call.
func TestListenControl(t *testing.T) {
	start(t, 1)
	ctx, before := context.Background(), sockinfo.OpenCount()
	var seen string
	var refusal error
	lc := socket.ListenConfig{Control: func(network, address string, c syscall.RawConn) error {
		seen = network + " " + address
		return errors.Join(refusal, c.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 12345)
		}))
	}}
	controlled := func(network string, c any) {
		testenv.Equal(t, seen, network+"4 127.0.0.1:0")
		testenv.Gives(t, 2*12345, nil)(
			unix.GetsockoptInt(rawFD(c.(syscall.Conn)), unix.SOL_SOCKET, unix.SO_RCVBUF))
		c.(io.Closer).Close()
	}
	controlled("tcp", testenv.Must(lc.Listen(ctx, "tcp", "127.0.0.1:0")))
	controlled("udp", testenv.Must(lc.ListenPacket(ctx, "udp", "127.0.0.1:0")))
	refusal = errors.New("refused by control")
	testenv.Fails(t, shut(lc.Listen(ctx, "tcp", "localhost:0")), refusal)
	testenv.Fails(t, shut(lc.ListenPacket(ctx, "udp", "localhost:0")), refusal)
	testenv.True(t, shut(lc.ListenPacket(testenv.Over(), "udp", "localhost:0")) != nil,
		"after its context")
	testenv.Equal(t, sockinfo.OpenCount(), before, "sockets open, before")
}

// TestListenKeepAlive: accepted connections have the options that net's have.
func TestListenKeepAlive(t *testing.T) {
	start(t, 1)
	for _, lc := range []net.ListenConfig{
		{}, {KeepAlive: -1}, {KeepAlive: 7 * time.Second},
		{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second,
			Interval: 4 * time.Second, Count: 5}},
		{KeepAliveConfig: net.KeepAliveConfig{Idle: 3 * time.Second}},
	} {
		lc.SetMultipathTCP(false)
		n := testenv.Must(lc.Listen(context.Background(), "tcp", "127.0.0.1:0"))
		ours := socket.ListenConfig{KeepAlive: lc.KeepAlive, KeepAliveConfig: lc.KeepAliveConfig}
		l := testenv.Must(ours.Listen(context.Background(), "tcp", "127.0.0.1:0"))
		if got, want := acceptedOptions(t, l), acceptedOptions(t, n); got != want {
			t.Errorf("%v, %v: %v, want %v", lc.KeepAlive, lc.KeepAliveConfig, got, want)
		}
		n.Close()
		l.Close()
	}
}

// acceptedOptions returns the options of a connection that l accepts.
func acceptedOptions(t *testing.T, l net.Listener) string {
	t.Helper()
	testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	return optionsOf(testenv.Must(l.Accept()))
}

// TestListenReusePort: several listeners on one port, one for each Processor,
// serve all connections between them; when one is closed the others go on.
func TestListenReusePort(t *testing.T) {
	start(t, 2)
	all := testenv.Must(socket.ListenReusePort("tcp", "127.0.0.1:0", 2))
	if len(all) != 2 || all[0].Addr().String() != all[1].Addr().String() {
		t.Fatalf("listeners on %v", all)
	}
	var served [2]atomic.Int32
	var tasks []*testrun.Task
	for i, l := range all {
		tasks = append(tasks, testrun.Places[i].Go(func() {
			acceptAll(t, l, func(c net.Conn) {
				served[i].Add(1)
				testrun.Places[i].Run(func() { echo(c) })
			})
		}))
	}
	call := func() {
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", all[0].Addr().String())))
		b := []byte("x")
		testenv.NoError(t, testenv.Err(c.Write(b)))
		testenv.NoError(t, testenv.Err(io.ReadFull(c, b)))
	}
	const calls = 64
	for range calls {
		call()
	}
	a, b := served[0].Load(), served[1].Load()
	testenv.True(t, a+b == calls && a != 0 && b != 0, "the listeners served %d and %d of %d", a, b,
		calls)
	all[1].Close()
	tasks[1].Wait(t)
	for range 10 {
		call()
	}
	if n := served[0].Load(); n != a+10 {
		t.Errorf("the one left served %d of 10", n-a)
	}
	all[0].Close()
	tasks[0].Wait(t)
}

// TestFileListenerOptions: connections of an adopted listener have net's
// options, whatever those of the socket are. They had what they inherited: as a
// rule neither TCP_NODELAY nor keep-alive.
func TestFileListenerOptions(t *testing.T) {
	start(t, 2)
	for name, options := range map[string][][3]int{
		"none set": nil,
		"others": {{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 77},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 78}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3}},
	} {
		fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		f := os.NewFile(uintptr(fd), "a listener")
		defer f.Close()
		for _, o := range options {
			testenv.OK(t, unix.SetsockoptInt(fd, o[0], o[1], o[2]))
		}
		testenv.OK(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		testenv.OK(t, unix.Listen(fd, 10))
		theirs := testenv.Must(net.FileListener(f))
		want := acceptedOptions(t, theirs)
		theirs.Close()
		for _, p := range testrun.Places {
			p.Do(t, func() {
				ours := testenv.Must(conet.FileListener(f))
				testenv.Equal(t, acceptedOptions(t, ours), want, name, p.Name)
				ours.Close()
			})
		}
	}
}

// adoptedFiles are files of every family and type that net has, in use and
// fresh, of others, and of no socket.
func adoptedFiles(t *testing.T) map[string]*os.File {
	tcp, _ := netPair(t)
	udpTo := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", "127.0.0.1:0")))
	udp := testenv.Closing(t, testenv.Must(net.Dial("udp", udpTo.LocalAddr().String())))
	tcpL := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	stream, _ := unixPair(t, "unix")
	packet, _ := unixPair(t, "unixpacket")
	gram, _ := unixPair(t, "unixgram")
	r, w := rawPipe(t)
	closed := testenv.Must(os.CreateTemp(t.TempDir(), ""))
	closed.Close()
	files := map[string]*os.File{"a pipe": os.NewFile(uintptr(r), "a pipe"),
		"a pipe's other end": os.NewFile(uintptr(w), "a pipe's other end"),
		"a folder":           testenv.Must(os.Open(t.TempDir())),
		"/dev/null":          testenv.Must(os.Open("/dev/null")), "a closed file": closed}
	for name, c := range map[string]interface{ File() (*os.File, error) }{
		"tcp": tcp, "udp with a peer": udp.(*net.UDPConn), "udp": udpTo.(*net.UDPConn),
		"tcp listener": tcpL.(*net.TCPListener), "unix listener": listenUnix(t, "unix"),
		"unix": stream, "unixpacket": packet, "unixgram": gram,
	} {
		files[name] = testenv.Must(c.File())
	}
	for name, kind := range map[string][2]int{"netlink": {unix.AF_NETLINK, unix.SOCK_RAW},
		"raw ip": {unix.AF_INET, unix.SOCK_RAW}, "fresh tcp": {unix.AF_INET, unix.SOCK_STREAM},
		"fresh udp6":       {unix.AF_INET6, unix.SOCK_DGRAM},
		"fresh unix":       {unix.AF_UNIX, unix.SOCK_STREAM},
		"fresh unixpacket": {unix.AF_UNIX, unix.SOCK_SEQPACKET},
		"fresh unixgram":   {unix.AF_UNIX, unix.SOCK_DGRAM},
	} {
		fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			files[name] = os.NewFile(uintptr(fd), name)
		}
	}
	for _, f := range files {
		testenv.Closing(t, f)
	}
	return files
}

// likeAdopted compares the result of a call for a file, or its error, with
// net's.
func likeAdopted[A, B closer](t *testing.T, what string, f *os.File, ours A, err error, theirs B,
	want error) {
	t.Helper()
	if f.Name() == "raw ip" { // is net's IPConn
		want = &net.OpError{Op: "file", Net: "file+net", Addr: fileName(f.Name()),
			Err: syscall.EPROTONOSUPPORT}
	}
	if err != nil || want != nil {
		testenv.Equal(t, adoptError(err), adoptError(want), what)
	} else {
		testenv.Equal(t, strings.ReplaceAll(fmt.Sprintf("%T", ours), "socket.", "net."),
			fmt.Sprintf("%T", theirs), what)
		if c, ok := any(ours).(net.Conn); ok {
			n := any(theirs).(net.Conn)
			testenv.Equal(t, fmt.Sprint(c.LocalAddr(), c.RemoteAddr()),
				fmt.Sprint(n.LocalAddr(), n.RemoteAddr()), what)
		}
	}
	shut(ours, err)
	if any(theirs) != nil {
		theirs.Close()
	}
}

// TestFileConns: an adopted socket is of net's type, has its addresses and
// works, for every family and type that net has.
func TestFileConns(t *testing.T) {
	start(t, 2)
	files := adoptedFiles(t)
	open, fds := sockinfo.OpenCount(), testenv.Files()
	for name, f := range files {
		everywhere(t, func(p testrun.Place) {
			what := p.Name + ", " + name
			c, err := conet.FileConn(f)
			nc, want := net.FileConn(f)
			likeAdopted(t, what+": FileConn", f, c, err, nc, want)
			if name != "raw ip" {
				l, err := conet.FileListener(f)
				nl, want := net.FileListener(f)
				likeAdopted(t, what+": FileListener", f, l, err, nl, want)
			}
			pc, err := conet.FilePacketConn(f)
			npc, want := net.FilePacketConn(f)
			likeAdopted(t, what+": FilePacketConn", f, pc, err, npc, want)
		})
	}
	testenv.Equal(t, sockinfo.OpenCount(), open, "sockets that are open")
	// the collector may have closed some
	testenv.Until(t, "the fds", func() bool { return testenv.Files() <= fds })
}

// fileName is the address in net's errors about files.
type fileName string

func (fileName) Network() string  { return "file+net" }
func (n fileName) String() string { return string(n) }

// adoptError describes an error but for the type of its address, which is the
// package's own.
func adoptError(err error) string {
	var (
		op    *net.OpError
		call  *os.SyscallError
		errno syscall.Errno
	)
	errors.As(err, &errno)
	return fmt.Sprint(err, errors.As(err, &op), errors.As(err, &call), errno)
}

// TestFileConnWorks: a connection that was a file's echoes, a listener that was
// a file's accepts.
func TestFileConnWorks(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		nl := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		f := testenv.Closing(t, testenv.Must(nl.(*net.TCPListener).File()))
		l := testenv.Closing(t, testenv.Must(conet.FileListener(f)))
		server := p.Go(func() {
			c := testenv.Must(l.Accept()).(*socket.TCPConn)
			fc := testenv.Must(c.File())
			again := testenv.Must(conet.FileConn(fc))
			fc.Close()
			c.Close()
			echo(again)
		})
		c := dialNet(t, nl.Addr().String())
		testenv.NoError(t, answered(c, "hello"))
		c.Close()
		server.Wait(t)
	})
}

// addressed are sockets of every kind, by name, with the functions that return
// their addresses.
func addressed(t *testing.T) map[string][]func() net.Addr {
	t.Helper()
	all := map[string][]func() net.Addr{}
	conn := func(name string, c net.Conn) {
		t.Cleanup(func() { c.Close() })
		all[name] = []func() net.Addr{c.LocalAddr, c.RemoteAddr}
	}
	for name, at := range map[string][2]string{
		"tcp": {"tcp", "127.0.0.1:0"}, "tcp both families": {"tcp", ":0"},
		"tcp6": {"tcp6", "[::1]:0"}, "unix": {"unix", testenv.SocketPath(t, "s")},
		"unixpacket": {"unixpacket", testenv.SocketPath(t, "p")},
	} {
		if name == "tcp6" && !haveIPv6() {
			continue
		}
		l := testenv.Closing(t, testenv.Must(conet.Listen(at[0], at[1])))
		all[name+" listener"] = []func() net.Addr{l.Addr}
		conn(name+" dialled", testenv.Must(conet.Dial(at[0], l.Addr().String())))
		conn(name+" accepted", testenv.Must(l.Accept()))
	}
	udp := testenv.Must(conet.ListenUDP("udp", loopback4))
	conn("udp", udp)
	dialled := dialTo(t, udp)
	conn("udp dialled", dialled)
	u := testenv.Must(conet.ListenPacket("unixgram", testenv.SocketPath(t, "g")))
	conn("unixgram", u.(*socket.UnixConn))
	f := testenv.Closing(t, testenv.Must(dialled.File()))
	conn("udp of a file", testenv.Must(conet.FileConn(f)))
	return all
}

// TestAddrsStay: LocalAddr, RemoteAddr and Addr give the same pointer each
// time, as net's do, whichever goroutine asks. They made another one for each
// call.
func TestAddrsStay(t *testing.T) {
	start(t, 2)
	for name, asked := range addressed(t) {
		for i, ask := range asked {
			var mu sync.Mutex
			seen := map[net.Addr]bool{}
			look := func() {
				a := ask()
				mu.Lock()
				defer mu.Unlock()
				seen[a] = true
			}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { look(); look() })
			}
			wg.Wait()
			testrun.First.Do(t, look)
			testenv.Equal(t, len(seen), 1, name, "address", i)
		}
	}
}

// TestAddrsOnceAllocation: both addresses of a connection are one allocation,
// so that a server that logs its peers pays for one.
func TestAddrsOnceAllocation(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const runs = 5
	var fresh []net.Conn
	for range 5 * (runs + 1) {
		a, b := pair(t)
		fresh = append(fresh, a, b)
	}
	if n := testenv.Allocs(runs, func() {
		fresh[0].RemoteAddr()
		fresh[0].LocalAddr()
		fresh = fresh[1:]
	}); n != 1 {
		t.Errorf("%v allocations", n)
	}
}

// TestRemoteAddrPort: it is what RemoteAddr says, for IPv4 and IPv6.
func TestRemoteAddrPort(t *testing.T) {
	start(t, 1)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		needIPv6(t, at)
		l := testenv.Closing(t, testenv.Must(conet.Listen("tcp", at)))
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
		tcp := testenv.Closing(t, testenv.Must(l.Accept())).(*socket.TCPConn)
		testenv.Equal(t, tcp.RemoteAddrPort().String(), c.LocalAddr().String())
		testenv.Equal(t, tcp.RemoteAddrPort(), tcp.RemoteAddr().(*net.TCPAddr).AddrPort())
	}
}
