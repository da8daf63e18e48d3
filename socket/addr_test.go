package socket_test

import (
	"net"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// addressed are sockets of every kind, by name, and how each is asked for its
// addresses.
func addressed(t *testing.T) map[string][]func() net.Addr {
	t.Helper()
	all := map[string][]func() net.Addr{}
	conn := func(name string, c net.Conn) {
		t.Cleanup(func() { c.Close() })
		all[name] = []func() net.Addr{c.LocalAddr, c.RemoteAddr}
	}
	for name, at := range map[string][2]string{
		"tcp": {"tcp", "127.0.0.1:0"}, "tcp both families": {"tcp", ":0"},
		"tcp6": {"tcp6", "[::1]:0"}, "unix": {"unix", unixName(t, "s")},
		"unixpacket": {"unixpacket", unixName(t, "p")},
	} {
		if name == "tcp6" && !haveIPv6() {
			continue
		}
		l := testenv.Closing(t, testenv.Must(socket.Listen(at[0], at[1])))
		all[name+" listener"] = []func() net.Addr{l.Addr}
		conn(name+" dialled", testenv.Must(socket.Dial(at[0], l.Addr().String())))
		conn(name+" accepted", testenv.Must(l.Accept()))
	}
	udp := testenv.Must(socket.ListenUDP("udp", loopback4))
	conn("udp", udp)
	dialled := dialTo(t, udp)
	conn("udp dialled", dialled)
	u := testenv.Must(socket.ListenPacket("unixgram", unixName(t, "g")))
	conn("unixgram", u.(*socket.UnixConn))
	f := testenv.Closing(t, testenv.Must(dialled.File()))
	conn("udp of a file", testenv.Must(socket.FileConn(f)))
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

// TestAddrsNoAllocation: asking again allocates nothing.
func TestAddrsNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, asked := range addressed(t) {
		for i, ask := range asked {
			if n := testenv.Allocs(100, func() { ask() }); n != 0 {
				t.Errorf("%s, address %d: %v allocations", name, i, n)
			}
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

// TestRemoteAddrPort: it is what RemoteAddr says, for IPv4 and IPv6, and makes
// nothing.
func TestRemoteAddrPort(t *testing.T) {
	start(t, 1)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l := testenv.Closing(t, testenv.Must(socket.Listen("tcp", at)))
		c := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
		tcp := testenv.Closing(t, testenv.Must(l.Accept())).(*socket.TCPConn)
		testenv.Equal(t, tcp.RemoteAddrPort().String(), c.LocalAddr().String())
		testenv.Equal(t, tcp.RemoteAddrPort(), tcp.RemoteAddr().(*net.TCPAddr).AddrPort())
		if n := testenv.Allocs(100, func() { tcp.RemoteAddrPort() }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
