package socket_test

import (
	"net"
	"path/filepath"
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
		"tcp6": {"tcp6", "[::1]:0"},
		"unix": {"unix", filepath.Join(t.TempDir(), "s")}, "unixpacket": {"unixpacket",
			filepath.Join(t.TempDir(), "p")},
	} {
		if name == "tcp6" && !haveIPv6() {
			continue
		}
		l, err := socket.Listen(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		all[name+" listener"] = []func() net.Addr{l.Addr}
		c := testenv.Must(socket.Dial(at[0], l.Addr().String()))
		conn(name+" dialled", c)
		if c, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		conn(name+" accepted", c)
	}
	pc, err := socket.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn("udp", pc.(*socket.UDPConn))
	c := testenv.Must(socket.Dial("udp", pc.LocalAddr().String()))
	conn("udp dialled", c)
	u := testenv.Must(socket.ListenPacket("unixgram", filepath.Join(t.TempDir(), "g")))
	conn("unixgram", u.(*socket.UnixConn))
	f := testenv.Closing(t, testenv.Must(c.(*socket.UDPConn).File()))
	if c, err = socket.FileConn(f); err != nil {
		t.Fatal(err)
	}
	conn("udp of a file", c)
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
			var first net.Addr
			seen := map[net.Addr]bool{}
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 3 {
						a := ask()
						mu.Lock()
						first, seen[a] = a, true
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			testrun.First.Go(func() { seen[ask()] = true }).Wait(t)
			if len(seen) != 1 {
				t.Errorf("%s, address %d: %d different ones of %v", name, i, len(seen), first)
			}
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
	l := testenv.Closing(t, testenv.Must(socket.Listen("tcp", "127.0.0.1:0")))
	const runs = 5
	var fresh []net.Conn
	for range 2 * 5 * (runs + 1) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if c, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fresh = append(fresh, c)
	}
	if n := testenv.Allocs(runs, func() {
		fresh[0].RemoteAddr()
		fresh[0].LocalAddr()
		fresh = fresh[1:]
	}); n != 1 {
		t.Errorf("%v allocations", n)
	}
}
