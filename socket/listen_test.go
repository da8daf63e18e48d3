package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestListenNetworks holds wrong networks and addresses against net's errors.
// It leaves out unixgram, of which net makes a listener that cannot accept.
func TestListenNetworks(t *testing.T) {
	t.Cleanup(blocking.Default().CloseIdle) // it made listeners that have files
	start(t, 2)
	s := serveNames(t, map[string][]record{"here.test.": addresses("127.0.0.1"),
		"elsewhere.test.": addresses("192.0.2.77"), "six.test.": addresses("2001:db8::6")})
	before := net.DefaultResolver
	net.DefaultResolver = s.net()
	defer func() { net.DefaultResolver = before }()
	dir := t.TempDir()
	everywhere(t, func(p testrun.Place) {
		for _, network := range []string{"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6", "unix",
			"unixpacket", "bogus", ""} {
			for _, address := range []string{"127.0.0.1:0", "", ":", ":0", "[::1]:0", "[::]:0",
				"0.0.0.0:0", "192.0.2.77:0", "here.test.:0", "elsewhere.test.:0", "six.test.:0",
				"none.test.:0",
				"127.0.0.1", "127.0.0.1:nosuchservice", "[::ffff:127.0.0.1]:0",
				filepath.Join(dir, "a", "b"), "[fe80::1%nosuch]:0"} {
				if strings.HasPrefix(network, "unix") && (address == "" || address[0] != '/') {
					continue // would make a socket
				}
				testenv.Equal(t, made(socket.Listen(network, address)),
					made(net.Listen(network, address)), p.Name, network, address)
			}
		}
	})
}

// TestListenContext: the context is for the look-up only.
func TestListenContext(t *testing.T) {
	s := serveNames(t, map[string][]record{"here.test.": addresses("127.0.0.1")})
	s.hold("here.test.")
	before := net.DefaultResolver
	net.DefaultResolver = s.net()
	defer func() { net.DefaultResolver = before }()
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		ctx, cancel := context.WithCancel(context.Background())
		k := p.Go(func() {
			_, err := new(socket.ListenConfig).Listen(ctx, "tcp", "here.test.:0")
			testenv.True(t, errors.Is(err, context.Canceled), "Listen: %v", err)
			_, want := new(net.ListenConfig).Listen(ctx, "tcp", "here.test.:0")
			same(t, "Listen", err, want)
			l := testenv.Must(new(socket.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"))
			l.Close()
		})
		k.UntilParked(t, coroutine.ReasonBlocking)
		cancel()
		k.Wait(t)
	})
}

// TestListenControl: the hook sees what net's sees, and its error ends the
// Listen.
func TestListenControl(t *testing.T) {
	start(t, 1)
	for _, address := range []string{"127.0.0.1:0", ":0", "[::1]:0", "localhost:0"} {
		var seen []string
		control := func(network, address string, c syscall.RawConn) error {
			seen = append(seen, network, address)
			return c.Control(func(uintptr) {})
		}
		l, err := (&socket.ListenConfig{Control: control}).Listen(context.Background(), "tcp",
			address)
		if err != nil {
			t.Error(err)
			continue
		}
		l.Close()
		got := seen
		seen = nil
		lc := net.ListenConfig{Control: control}
		lc.SetMultipathTCP(false) // else it may try twice
		n, err := lc.Listen(context.Background(), "tcp", address)
		if err != nil {
			t.Error(err)
			continue
		}
		n.Close()
		testenv.True(t, reflect.DeepEqual(got, seen), "%s: %q, want %q", address, got, seen)
	}
	refuse := func(string, string, syscall.RawConn) error {
		return errors.New("refused by control")
	}
	_, err := (&socket.ListenConfig{Control: refuse}).Listen(context.Background(), "tcp",
		"127.0.0.1:0")
	lc := net.ListenConfig{Control: refuse}
	lc.SetMultipathTCP(false)
	_, want := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	same(t, "Listen", err, want)
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
func acceptedOptions(t *testing.T, l net.Listener) (values [5]int) {
	t.Helper()
	testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	c := testenv.Closing(t, testenv.Must(l.Accept()))
	raw := testenv.Must(c.(syscall.Conn).SyscallConn())
	raw.Control(func(fd uintptr) {
		for i, o := range [...][2]int{{unix.IPPROTO_TCP, unix.TCP_NODELAY},
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT}} {
			values[i], _ = unix.GetsockoptInt(int(fd), o[0], o[1])
		}
	})
	return values
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
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					failsIn(t, "accept", err, net.ErrClosed)
					return
				}
				served[i].Add(1)
				testrun.Places[i].Run(func() { echo(c) })
			}
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
