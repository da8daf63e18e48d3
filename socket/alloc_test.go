package socket_test

import (
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// rawClient is a client that makes system calls and nothing else, so that what
// is allocated is the server's.
func rawClient(t testing.TB, l *socket.TCPListener) (fd int) {
	t.Helper()
	fd = testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { unix.Close(fd) })
	port := l.Addr().(*net.TCPAddr).Port
	testenv.OK(t, unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	return fd
}

func echoUnderDeadlines(c *socket.TCPConn) error {
	var b [64]byte
	for {
		c.SetDeadline(time.Now().Add(time.Minute))
		n, err := c.Read(b[:])
		if err != nil {
			return err
		}
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
	}
}

func echoBytes(c *socket.TCPConn) error {
	var b [64]byte
	for {
		n, err := c.Read(b[:])
		if err != nil {
			return err
		}
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
	}
}

// TestNoAllocation: a message that comes and goes allocates nothing, in any of
// the ways to serve it.
func TestNoAllocation(t *testing.T) {
	testenv.NoRace(t)

	for _, k := range []struct {
		name     string
		messages int
		place    testrun.Place
		serve    func(c *socket.TCPConn) error
	}{
		{"coroutine", 4000, testrun.First, echoBytes},
		{"goroutine", 1000, testrun.Goroutine, echoBytes},
		{"deadlines", 1000, testrun.First, echoUnderDeadlines},
		{"deadlines, goroutine", 1000, testrun.Goroutine, echoUnderDeadlines},
		{"borrowed buffer", 1000, testrun.First, func(c *socket.TCPConn) error {
			for {
				if err := answerBorrowed(c); err != nil {
					return err
				}
			}
		}},
		{"watched elsewhere", 1000, testrun.Second, echoBytes},
	} {
		t.Run(k.name, func(t *testing.T) {
			start(t, 2)
			l := listen(t)
			fd := rawClient(t, l)
			c := testenv.Closing(t, testenv.Must(l.AcceptTCP()))
			if k.name == "watched elsewhere" { // the first to wait decides which Processor watches
				reader := testrun.First.Go(func() {
					var b [64]byte
					n, err := c.Read(b[:])
					if err == nil {
						c.Write(b[:n])
					}
				})
				trips(t, fd, 1)
				reader.Wait(t)
			}
			server := k.place.Go(func() {
				testenv.Fails(t, k.serve(c), io.EOF)
			})
			trips(t, fd, 200)
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty sync.Pools
			runtime.GC()
			trips(t, fd, 200)
			// A new thread of the Go runtime is some seven, and the client's
			// system calls may want one or two.
			if n := fewestMallocs(40, func() { trips(t, fd, k.messages) }); n > 40 {
				t.Errorf("%d allocations for %d messages", n, k.messages)
			}
			unix.Shutdown(fd, unix.SHUT_WR)
			server.Wait(t)
		})
	}
}

// fewestMallocs returns how often the process allocates while f runs, the
// fewest of some runs if it is more than enough: a machine that has no time for
// its threads makes the Go runtime start more of them, once.
func fewestMallocs(enough uint64, f func()) uint64 {
	fewest := ^uint64(0)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if fewest = min(fewest, after.Mallocs-before.Mallocs); fewest <= enough {
			break
		}
	}
	return fewest
}

// trips sends and receives n messages.
func trips(t *testing.T, fd, n int) {
	var b [64]byte
	for range n {
		testenv.Must(unix.Write(fd, b[:]))
		for got := 0; got < len(b); {
			m, err := unix.Read(fd, b[got:])
			if err == unix.EINTR {
				continue
			}
			if m <= 0 || err != nil {
				t.Fatal(m, err)
			}
			got += m
		}
	}
}

// TestNoBufferPerIdleConnection: a hundred connections that wait in
// WaitReadable share one buffer.
func TestNoBufferPerIdleConnection(t *testing.T) {
	start(t, 1)
	l := listen(t)
	seen := map[*socket.Buffer]bool{}
	const conns = 100
	var fds []int
	for range conns {
		fds = append(fds, rawClient(t, l))
		c := testenv.Must(l.AcceptTCP())
		testrun.First.Go(func() {
			defer c.Close()
			for c.WaitReadable() == nil {
				b := socket.AcquireBuffer()
				seen[b] = true
				n, err := c.Read(b.Bytes())
				if err == nil {
					_, err = c.Write(b.Bytes()[:n])
				}
				b.Release()
				if err != nil {
					return
				}
			}
		})
	}
	for range 3 {
		for _, fd := range fds {
			trips(t, fd, 1)
		}
	}
	testrun.First.Do(t, func() {
		testenv.Equal(t, len(seen), 1)
	})
	for _, fd := range fds {
		unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	testenv.Until(t, "the connections to end", func() bool { return socket.OpenCount() == 1 })
}

// TestUDPNoAllocation: none of the methods that promise it allocates, whether
// it waits or not.
func TestUDPNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		for name, make := range allocFree {
			t.Run(at+" "+name, func(t *testing.T) {
				start(t, 1)
				x := newAllocSockets(t, at)
				f := make(x)
				testrun.First.Do(t, func() {
					defer debug.SetGCPercent(debug.SetGCPercent(-1))
					if n := testing.AllocsPerRun(200, f); n > 0 || x.failed != nil {
						t.Errorf("%v allocations, %v", n, x.failed)
					}
				})
			})
		}
	}
}

// allocSockets are two sockets, d connected to c, and what they send.
type allocSockets struct {
	c, d     *socket.UDPConn
	self     *net.UDPAddr   // where c is
	to, peer netip.AddrPort // where c and d are
	buf, oob []byte
	failed   error
}

func newAllocSockets(t *testing.T, at string) *allocSockets {
	pc, err := socket.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	x := &allocSockets{c: pc.(*socket.UDPConn), buf: make([]byte, 100), oob: make([]byte, 100)}
	t.Cleanup(func() { x.c.Close() })
	x.self = udpAddr(x.c)
	if x.self.IP.IsUnspecified() {
		x.self.IP = loopback4.IP
	}
	if x.d, err = socket.DialUDP("udp", nil, x.self); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.d.Close() })
	x.to, x.peer = x.self.AddrPort(), portOf(x.d)
	return x
}

func (x *allocSockets) must(err error) {
	if err != nil {
		x.failed = err
	}
}

// allocFree make functions that send and receive one way or another.
var allocFree = map[string]func(x *allocSockets) func(){
	"connected": func(x *allocSockets) func() {
		return func() {
			_, err := x.d.Write(x.buf)
			x.must(err)
			_, err = x.c.Read(x.buf)
			x.must(err)
		}
	},
	"msg connected": func(x *allocSockets) func() {
		return func() {
			_, _, err := x.d.WriteMsgUDP(x.buf, nil, nil)
			x.must(err)
			_, _, _, _, err = x.c.ReadMsgUDPAddrPort(x.buf, x.oob)
			x.must(err)
		}
	},
	"under a deadline": func(x *allocSockets) func() {
		return func() {
			x.d.SetReadDeadline(time.Now().Add(time.Minute))
			_, err := x.c.WriteToUDPAddrPort(x.buf, x.peer)
			x.must(err)
			_, err = x.d.Read(x.buf)
			x.must(err)
		}
	},
	"batch": func(x *allocSockets) func() {
		x.c.SetGRO(true)
		var out, in [4]socket.Message
		for i := range out {
			out[i] = socket.Message{Buf: make([]byte, 60), SegmentSize: 30 * (i % 2), Addr: x.to}
			in[i] = socket.Message{Buf: make([]byte, 2000), OOB: make([]byte, 40)}
		}
		return func() {
			_, err := x.c.WriteBatch(out[:])
			x.must(err)
			for got := 0; got < 4*60 && x.failed == nil; {
				n, err := x.c.ReadBatch(in[:])
				x.must(err)
				for i := range n {
					got += in[i].N
				}
			}
		}
	},
}

// TestUDPNoAllocationWaiting: a datagram that is waited for, answered and
// waited for again allocates nothing.
func TestUDPNoAllocationWaiting(t *testing.T) {
	testenv.NoRace(t)
	start(t, 2)
	a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
	server := testrun.First.Go(func() {
		ms := make([]socket.Message, 8)
		for i := range ms {
			ms[i].Buf = make([]byte, 64)
		}
		for {
			n, err := b.ReadBatch(ms)
			if err != nil {
				return
			}
			testenv.NoError(t, testenv.Err(b.WriteBatch(ms[:n])))
		}
	})
	to := portOf(b)
	client := func(trips int) {
		testrun.Second.Do(t, func() {
			buf := make([]byte, 64)
			for range trips {
				testenv.NoError(t, testenv.Err(a.WriteToUDPAddrPort(buf, to)))
				if _, _, err := a.ReadFromUDPAddrPort(buf); err != nil {
					t.Error(err)
				}
			}
		})
	}
	client(200)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	client(200)
	if n := fewestMallocs(60, func() { client(2000) }); n > 60 {
		t.Errorf("%d allocations for 2000 round trips", n)
	}
	b.Close()
	server.Wait(t)
}

// What datagrams leave behind; package variables, so that addresses escape.
var (
	keptAddr net.Addr
	keptUDP  *net.UDPAddr
	keptUnix *net.UnixAddr
	lastPort int
	lastName string
)

// TestDatagramAllocationsBesideNet: no method that moves a datagram allocates
// more often than net's does, nor than the most that stands beside it.
// ReadFrom, ReadFromUDP and ReadMsgUDP allocated an address that was kept and,
// apart from it, its bytes.
func TestDatagramAllocationsBesideNet(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	buf, oob := make([]byte, 64), make([]byte, 64)
	failed := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		if at == "[::1]:0" && !haveIPv6() {
			continue
		}
		a := testenv.Closing(t, testenv.Must(socket.ListenPacket("udp", at)))
		ours := a.(*socket.UDPConn)
		b := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", at)))
		theirs := b.(*net.UDPConn)
		to := func(c net.PacketConn) *net.UDPAddr {
			u := udpAddr(c)
			if u.IP.IsUnspecified() {
				u.IP = loopback4.IP
			}
			return u
		}
		ourUDP, theirUDP := to(ours), to(theirs)
		ourPort, theirPort := netip.MustParseAddrPort(ourUDP.String()),
			netip.MustParseAddrPort(theirUDP.String())
		// Each is spelt out for both: through an interface net's methods are
		// not inlined, and allocate more.
		rows := []struct {
			name         string
			most         float64
			ours, theirs func()
		}{
			{"WriteTo, ReadFrom", 1, func() {
				_, err := ours.WriteTo(buf, ourUDP)
				failed(err)
				_, keptAddr, err = ours.ReadFrom(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteTo(buf, theirUDP)
				failed(err)
				_, keptAddr, err = theirs.ReadFrom(buf)
				failed(err)
			}},
			{"WriteToUDP, ReadFromUDP", 1, func() {
				_, err := ours.WriteToUDP(buf, ourUDP)
				failed(err)
				_, from, err := ours.ReadFromUDP(buf)
				failed(err)
				lastPort = from.Port
			}, func() {
				_, err := theirs.WriteToUDP(buf, theirUDP)
				failed(err)
				_, from, err := theirs.ReadFromUDP(buf)
				failed(err)
				lastPort = from.Port
			}},
			{"WriteToUDP, ReadFromUDP, kept", 1, func() {
				_, err := ours.WriteToUDP(buf, ourUDP)
				failed(err)
				_, keptUDP, err = ours.ReadFromUDP(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteToUDP(buf, theirUDP)
				failed(err)
				_, keptUDP, err = theirs.ReadFromUDP(buf)
				failed(err)
			}},
			{"WriteToUDPAddrPort, ReadFromUDPAddrPort", 0, func() {
				_, err := ours.WriteToUDPAddrPort(buf, ourPort)
				failed(err)
				_, _, err = ours.ReadFromUDPAddrPort(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteToUDPAddrPort(buf, theirPort)
				failed(err)
				_, _, err = theirs.ReadFromUDPAddrPort(buf)
				failed(err)
			}},
			{"WriteMsgUDP, ReadMsgUDP", 1, func() {
				_, _, err := ours.WriteMsgUDP(buf, nil, ourUDP)
				failed(err)
				_, _, _, keptUDP, err = ours.ReadMsgUDP(buf, oob)
				failed(err)
			}, func() {
				_, _, err := theirs.WriteMsgUDP(buf, nil, theirUDP)
				failed(err)
				_, _, _, keptUDP, err = theirs.ReadMsgUDP(buf, oob)
				failed(err)
			}},
			{"WriteMsgUDPAddrPort, ReadMsgUDPAddrPort", 0, func() {
				_, _, err := ours.WriteMsgUDPAddrPort(buf, nil, ourPort)
				failed(err)
				_, _, _, _, err = ours.ReadMsgUDPAddrPort(buf, oob)
				failed(err)
			}, func() {
				_, _, err := theirs.WriteMsgUDPAddrPort(buf, nil, theirPort)
				failed(err)
				_, _, _, _, err = theirs.ReadMsgUDPAddrPort(buf, oob)
				failed(err)
			}},
			{"WriteToUDP, Read", 0, func() {
				_, err := ours.WriteToUDP(buf, ourUDP)
				failed(err)
				_, err = ours.Read(buf)
				failed(err)
			}, func() {
				_, err := theirs.WriteToUDP(buf, theirUDP)
				failed(err)
				_, err = theirs.Read(buf)
				failed(err)
			}},
		}
		for _, r := range rows {
			compareAllocs(t, at+" "+r.name, r.most, r.ours, r.theirs)
		}
	}
}

// TestUnixgramAllocationsBesideNet is TestDatagramAllocationsBesideNet for
// unixgram.
func TestUnixgramAllocationsBesideNet(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	buf, oob := make([]byte, 64), make([]byte, 64)
	failed := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	ourName := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "o"), Net: "unixgram"}
	theirName := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "t"), Net: "unixgram"}
	ours := testenv.Closing(t, testenv.Must(socket.ListenUnixgram("unixgram", ourName)))
	theirs := testenv.Closing(t, testenv.Must(net.ListenUnixgram("unixgram", theirName)))
	for _, r := range []struct {
		name         string
		most         float64
		ours, theirs func()
	}{
		{"WriteTo, ReadFrom", 2, func() {
			_, err := ours.WriteTo(buf, ourName)
			failed(err)
			_, keptAddr, err = ours.ReadFrom(buf)
			failed(err)
		}, func() {
			_, err := theirs.WriteTo(buf, theirName)
			failed(err)
			_, keptAddr, err = theirs.ReadFrom(buf)
			failed(err)
		}},
		{"WriteToUnix, ReadFromUnix", 2, func() {
			_, err := ours.WriteToUnix(buf, ourName)
			failed(err)
			_, from, err := ours.ReadFromUnix(buf)
			failed(err)
			lastName = from.Name
		}, func() {
			_, err := theirs.WriteToUnix(buf, theirName)
			failed(err)
			_, from, err := theirs.ReadFromUnix(buf)
			failed(err)
			lastName = from.Name
		}},
		{"WriteMsgUnix, ReadMsgUnix", 2, func() {
			_, _, err := ours.WriteMsgUnix(buf, nil, ourName)
			failed(err)
			_, _, _, keptUnix, err = ours.ReadMsgUnix(buf, oob)
			failed(err)
		}, func() {
			_, _, err := theirs.WriteMsgUnix(buf, nil, theirName)
			failed(err)
			_, _, _, keptUnix, err = theirs.ReadMsgUnix(buf, oob)
			failed(err)
		}},
		{"WriteToUnix, Read", 0, func() {
			_, err := ours.WriteToUnix(buf, ourName)
			failed(err)
			_, err = ours.Read(buf)
			failed(err)
		}, func() {
			_, err := theirs.WriteToUnix(buf, theirName)
			failed(err)
			_, err = theirs.Read(buf)
			failed(err)
		}},
	} {
		compareAllocs(t, r.name, r.most, r.ours, r.theirs)
	}
}

// compareAllocs fails if ours allocates more often than net's function, or
// than most, on a goroutine or in a coroutine.
func compareAllocs(t *testing.T, name string, most float64, ours, theirs func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	want := testing.AllocsPerRun(50, theirs)
	check := func(where string) {
		if got := testenv.Allocs(50, ours); got > most || got > want {
			t.Errorf("%s, %s: %v allocations, at most %v, net's %v", name, where, got, most, want)
		}
	}
	check("goroutine")
	testrun.First.Do(t, func() { check("coroutine") })
}
