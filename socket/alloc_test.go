package socket_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
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

// echoAfter echoes; before is called ahead of each read.
func echoAfter(c *socket.TCPConn, before func()) error {
	var b [64]byte
	for {
		before()
		n, err := c.Read(b[:])
		if err != nil {
			return err
		}
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
	}
}

func echoUnderDeadlines(c *socket.TCPConn) error {
	return echoAfter(c, func() { c.SetDeadline(time.Now().Add(time.Minute)) })
}

func echoBytes(c *socket.TCPConn) error { return echoAfter(c, func() {}) }

// echoEights answers from a Buffered, eight bytes at a time.
func echoEights(c *socket.TCPConn) error {
	b := socket.NewBuffered(c)
	for {
		p, err := b.Peek(8)
		if err != nil {
			return err
		}
		b.Write(append(b.AvailableBuffer(), p...))
		b.Discard(8)
	}
}

// noMallocs checks that n messages allocate next to nothing, once some have
// gone.
func noMallocs(t *testing.T, n int, messages func(n int)) {
	t.Helper()
	messages(200)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty sync.Pools
	runtime.GC()
	messages(200)
	// A new thread of the Go runtime is some seven, and the client's system
	// calls may want one or two.
	if m := fewestMallocs(40, func() { messages(n) }); m > 40 {
		t.Errorf("%d allocations for %d messages", m, n)
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
		{"coroutine", 2000, testrun.First, echoBytes},
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
		{"Buffered", 1000, testrun.First, echoEights},
		{"Buffered, goroutine", 1000, testrun.Goroutine, echoEights},
		{"Server", 1000, testrun.Goroutine, func(c *socket.TCPConn) error {
			s := &socket.Server{Handle: echoOnce}
			ended := reportEnds(s)
			testenv.MustOK(s.ServeConn(c))
			return <-ended
		}},
	} {
		t.Run(k.name, func(t *testing.T) {
			start(t, 2)
			l := listen(t)
			fd := rawClient(t, l)
			c := testenv.Closing(t, testenv.Must(l.AcceptTCP()))
			if k.name == "watched elsewhere" { // the first to wait decides which Processor watches
				reader := testrun.First.Go(func() {
					var b [64]byte
					n := testenv.Must(c.Read(b[:]))
					testenv.Must(c.Write(b[:n]))
				})
				trips(t, fd, 1)
				reader.Wait(t)
			}
			server := k.place.Go(func() { testenv.Fails(t, k.serve(c), io.EOF) })
			noMallocs(t, k.messages, func(n int) { trips(t, fd, n) })
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
	testenv.TurnsOrder(t) // one thread orders them
	start(t, 1)
	seen := map[*socket.Buffer]bool{} // by coroutines of one Processor
	var peers []*net.TCPConn
	var tasks []*testrun.Task
	for range 100 {
		c, peer := withPeer(t)
		peers = append(peers, peer)
		tasks = append(tasks, testrun.First.Go(func() {
			defer c.Close()
			for c.WaitReadable() == nil {
				b := socket.AcquireBuffer()
				seen[b] = true
				n, err := c.Read(b.Bytes())
				c.Write(b.Bytes()[:n])
				b.Release()
				if err != nil {
					return
				}
			}
		}))
	}
	for range 3 {
		for _, peer := range peers {
			exchange(t, peer, "hello")
		}
	}
	testrun.First.Do(t, func() { testenv.Equal(t, len(seen), 1, "buffers, one busy at a time") })
	for _, peer := range peers {
		peer.Close()
	}
	testrun.WaitAll(t, tasks...)
}

// TestNoAllocationAtOnce: what promises to allocate nothing does not, whether
// it waits or not.
func TestNoAllocationAtOnce(t *testing.T) {
	testenv.NoRace(t)
	all := maps.Clone(allocFree)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		for name, make := range udpAllocFree {
			all["udp "+at+" "+name] = func(t *testing.T) func() error {
				return make(newAllocSockets(t, at))
			}
		}
	}
	for _, pieces := range []int{2, 100, 2000} {
		all[fmt.Sprint(pieces, " Buffers")] = func(t *testing.T) func() error {
			c, v, all := withSink(t), new(socket.Buffers), make([][]byte, pieces)
			return func() error {
				for i := range all {
					all[i] = tile[i : i+20]
				}
				*v = all
				return testenv.Err(v.WriteTo(c))
			}
		}
	}
	for name, make := range all {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			f := make(t)
			check := func() {
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				var failed error
				n := testenv.Allocs(200, func() {
					if err := f(); err != nil {
						failed = err
					}
				})
				testenv.True(t, n == 0 && failed == nil, "%v allocations, %v", n, failed)
			}
			testrun.First.Do(t, check)
			if strings.HasPrefix(name, "Unix") || strings.HasPrefix(name, "addresses") {
				testrun.Goroutine.Do(t, check)
			}
		})
	}
}

// allocFree make operations, each of which is done again and again.
var allocFree = map[string]func(t *testing.T) func() error{
	"Poll": func(t *testing.T) func() error {
		set := in(eventfd(t, 1), eventfd(t, 0))
		return func() error { return testenv.Err(socket.Poll(set, -1)) }
	},
	"Unix datagrams without a sender's name": func(t *testing.T) func() error {
		a := testenv.Closing(t,
			testenv.Must(socket.ListenUnixgram("unixgram", unixAt("unixgram", ""))))
		b := testenv.Closing(t,
			testenv.Must(socket.DialUnix("unixgram", nil, a.LocalAddr().(*net.UnixAddr))))
		msg, buf := make([]byte, 100), make([]byte, 200)
		return func() error {
			b.Write(msg)
			if n, _, err := a.ReadFromUnix(buf); n != len(msg) || err != nil {
				return io.ErrShortBuffer
			}
			b.Write(msg)
			return testenv.Err(a.Read(buf))
		}
	},
	"a File whose reader waits": func(t *testing.T) func() error {
		r, w := filePipe(t)
		testrun.First.Go(func() {
			for b := make([]byte, 10); testenv.Err(r.Read(b)) == nil; {
			}
		})
		msg := []byte("hello")
		return func() error {
			_, err := w.Write(msg)
			netco.Yield()
			return err
		}
	},
	"addresses that were asked for": func(t *testing.T) func() error {
		all := addressed(t)
		return func() error {
			for _, asked := range all {
				for _, ask := range asked {
					ask()
				}
			}
			return nil
		}
	},
	"RemoteAddrPort": func(t *testing.T) func() error {
		c, _ := pair(t)
		return func() error { c.RemoteAddrPort(); return nil }
	},
}

// allocSockets are two sockets, d connected to c, and what they send.
type allocSockets struct {
	c, d     *socket.UDPConn
	to, peer netip.AddrPort // where c and d are
	buf, oob []byte
}

func newAllocSockets(t *testing.T, at string) *allocSockets {
	pc := testenv.Closing(t, testenv.Must(socket.ListenPacket("udp", at)))
	x := &allocSockets{c: pc.(*socket.UDPConn), buf: make([]byte, 100), oob: make([]byte, 100)}
	self := reachable(x.c)
	x.d = testenv.Closing(t, testenv.Must(socket.DialUDP("udp", nil, self)))
	x.to, x.peer = self.AddrPort(), portOf(x.d)
	return x
}

// reachable is the address under which a socket can be reached.
func reachable(c net.PacketConn) *net.UDPAddr {
	at := udpAddr(c)
	if at.IP.IsUnspecified() {
		at.IP = loopback4.IP
	}
	return at
}

// udpAllocFree are ways to send and receive.
var udpAllocFree = map[string]func(x *allocSockets) func() error{
	"connected": func(x *allocSockets) func() error {
		return func() error {
			return cmp.Or(testenv.Err(x.d.Write(x.buf)), testenv.Err(x.c.Read(x.buf)))
		}
	},
	"msg connected": func(x *allocSockets) func() error {
		return func() error {
			if _, _, err := x.d.WriteMsgUDP(x.buf, nil, nil); err != nil {
				return err
			}
			_, _, _, _, err := x.c.ReadMsgUDPAddrPort(x.buf, x.oob)
			return err
		}
	},
	"under a deadline": func(x *allocSockets) func() error {
		return func() error {
			x.d.SetReadDeadline(time.Now().Add(time.Minute))
			return cmp.Or(testenv.Err(x.c.WriteToUDPAddrPort(x.buf, x.peer)),
				testenv.Err(x.d.Read(x.buf)))
		}
	},
	"batch": func(x *allocSockets) func() error {
		x.c.SetGRO(true)
		var out, in [4]socket.Message
		for i := range out {
			out[i] = socket.Message{Buf: make([]byte, 60), SegmentSize: 30 * (i % 2), Addr: x.to}
			in[i] = socket.Message{Buf: make([]byte, 2000), OOB: make([]byte, 40)}
		}
		return func() error {
			_, err := x.c.WriteBatch(out[:])
			for got, n := 0, 0; got < 4*60 && err == nil; {
				n, err = x.c.ReadBatch(in[:])
				for i := range n {
					got += in[i].N
				}
			}
			return err
		}
	},
}

// TestUDPNoAllocationWaiting: a datagram that is waited for, answered and
// waited for again allocates nothing.
func TestUDPNoAllocationWaiting(t *testing.T) {
	testenv.NoRace(t)
	start(t, 2)
	a, b := listenUDP(t, loopback4), listenUDP(t, loopback4)
	// No helpers of testing in the loops: each takes a lock of testing's, for
	// which two threads wait now and then, and what waits is left behind.
	server := testrun.First.Go(func() {
		ms, n, err := room(8, 64, 0), 0, error(nil)
		for err == nil {
			if n, err = b.ReadBatch(ms); err == nil {
				_, err = b.WriteBatch(ms[:n])
			}
		}
		testenv.Fails(t, err, net.ErrClosed)
	})
	to, buf := portOf(b), make([]byte, 64)
	noMallocs(t, 2000, func(n int) {
		testrun.Second.Do(t, func() {
			var err error
			for i := 0; i < n && err == nil; i++ {
				if _, err = a.WriteToUDPAddrPort(buf, to); err == nil {
					_, _, err = a.ReadFromUDPAddrPort(buf)
				}
			}
			testenv.NoError(t, err)
		})
	})
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

// allocsRow is a way to send a datagram to oneself and to receive it, on our
// socket and on net's. Each is spelt out for both: through an interface net's
// methods are not inlined, and allocate more. What was not sent makes the read
// fail at its deadline.
type allocsRow struct {
	name         string
	most         float64
	ours, theirs func() error
}

// TestDatagramAllocationsBesideNet: no method that moves a datagram allocates
// more often than net's does, nor than the most that stands beside it.
// ReadFrom, ReadFromUDP and ReadMsgUDP allocated an address that was kept and,
// apart from it, its bytes.
func TestDatagramAllocationsBesideNet(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		if at == "[::1]:0" && !haveIPv6() {
			continue
		}
		a := testenv.Closing(t, testenv.Must(socket.ListenPacket("udp", at)))
		b := testenv.Closing(t, testenv.Must(net.ListenPacket("udp", at)))
		for _, r := range udpAllocRows(a.(*socket.UDPConn), b.(*net.UDPConn)) {
			compareAllocs(t, at+" "+r.name, r)
		}
	}
	dir := t.TempDir()
	to := &net.UnixAddr{Name: filepath.Join(dir, "o"), Net: "unixgram"}
	a := testenv.Closing(t, testenv.Must(socket.ListenUnixgram("unixgram", to)))
	to = &net.UnixAddr{Name: filepath.Join(dir, "t"), Net: "unixgram"}
	b := testenv.Closing(t, testenv.Must(net.ListenUnixgram("unixgram", to)))
	for _, r := range unixAllocRows(a, b) {
		compareAllocs(t, r.name, r)
	}
}

// udpAllocs are sockets of both packages, and where they are.
type udpAllocs struct {
	c            *socket.UDPConn
	n            *net.UDPConn
	cTo, nTo     *net.UDPAddr
	cPort, nPort netip.AddrPort
	buf, oob     []byte
}

func udpAllocRows(c *socket.UDPConn, n *net.UDPConn) []allocsRow {
	c.SetReadDeadline(time.Now().Add(limit))
	n.SetReadDeadline(time.Now().Add(limit))
	port := func(a *net.UDPAddr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }
	e := &udpAllocs{c: c, n: n, cTo: reachable(c), nTo: reachable(n), buf: make([]byte, 64),
		oob: make([]byte, 64)}
	e.cPort, e.nPort = port(e.cTo), port(e.nTo)
	return append(e.rows(), e.messages()...)
}

func (e *udpAllocs) rows() []allocsRow {
	return []allocsRow{
		{"WriteTo, ReadFrom", 1, func() (err error) {
			e.c.WriteTo(e.buf, e.cTo)
			_, keptAddr, err = e.c.ReadFrom(e.buf)
			return err
		}, func() (err error) {
			e.n.WriteTo(e.buf, e.nTo)
			_, keptAddr, err = e.n.ReadFrom(e.buf)
			return err
		}},
		{"WriteToUDP, ReadFromUDP", 1, func() error {
			e.c.WriteToUDP(e.buf, e.cTo)
			_, from, err := e.c.ReadFromUDP(e.buf)
			lastPort = from.Port
			return err
		}, func() error {
			e.n.WriteToUDP(e.buf, e.nTo)
			_, from, err := e.n.ReadFromUDP(e.buf)
			lastPort = from.Port
			return err
		}},
		{"WriteToUDP, ReadFromUDP, kept", 1, func() (err error) {
			e.c.WriteToUDP(e.buf, e.cTo)
			_, keptUDP, err = e.c.ReadFromUDP(e.buf)
			return err
		}, func() (err error) {
			e.n.WriteToUDP(e.buf, e.nTo)
			_, keptUDP, err = e.n.ReadFromUDP(e.buf)
			return err
		}},
		{"WriteToUDPAddrPort, ReadFromUDPAddrPort", 0, func() error {
			e.c.WriteToUDPAddrPort(e.buf, e.cPort)
			_, _, err := e.c.ReadFromUDPAddrPort(e.buf)
			return err
		}, func() error {
			e.n.WriteToUDPAddrPort(e.buf, e.nPort)
			_, _, err := e.n.ReadFromUDPAddrPort(e.buf)
			return err
		}},
	}
}

func (e *udpAllocs) messages() []allocsRow {
	return []allocsRow{
		{"WriteMsgUDP, ReadMsgUDP", 1, func() (err error) {
			e.c.WriteMsgUDP(e.buf, nil, e.cTo)
			_, _, _, keptUDP, err = e.c.ReadMsgUDP(e.buf, e.oob)
			return err
		}, func() (err error) {
			e.n.WriteMsgUDP(e.buf, nil, e.nTo)
			_, _, _, keptUDP, err = e.n.ReadMsgUDP(e.buf, e.oob)
			return err
		}},
		{"WriteMsgUDPAddrPort, ReadMsgUDPAddrPort", 0, func() error {
			e.c.WriteMsgUDPAddrPort(e.buf, nil, e.cPort)
			_, _, _, _, err := e.c.ReadMsgUDPAddrPort(e.buf, e.oob)
			return err
		}, func() error {
			e.n.WriteMsgUDPAddrPort(e.buf, nil, e.nPort)
			_, _, _, _, err := e.n.ReadMsgUDPAddrPort(e.buf, e.oob)
			return err
		}},
		{"WriteToUDP, Read", 0, func() error {
			e.c.WriteToUDP(e.buf, e.cTo)
			_, err := e.c.Read(e.buf)
			return err
		}, func() error {
			e.n.WriteToUDP(e.buf, e.nTo)
			_, err := e.n.Read(e.buf)
			return err
		}},
	}
}

func unixAllocRows(c *socket.UnixConn, n *net.UnixConn) []allocsRow {
	c.SetReadDeadline(time.Now().Add(limit))
	n.SetReadDeadline(time.Now().Add(limit))
	buf, oob := make([]byte, 64), make([]byte, 64)
	cTo, nTo := c.LocalAddr().(*net.UnixAddr), n.LocalAddr().(*net.UnixAddr)
	return []allocsRow{
		{"WriteTo, ReadFrom", 2, func() (err error) {
			c.WriteTo(buf, cTo)
			_, keptAddr, err = c.ReadFrom(buf)
			return err
		}, func() (err error) {
			n.WriteTo(buf, nTo)
			_, keptAddr, err = n.ReadFrom(buf)
			return err
		}},
		{"WriteToUnix, ReadFromUnix", 2, func() error {
			c.WriteToUnix(buf, cTo)
			_, from, err := c.ReadFromUnix(buf)
			lastName = from.Name
			return err
		}, func() error {
			n.WriteToUnix(buf, nTo)
			_, from, err := n.ReadFromUnix(buf)
			lastName = from.Name
			return err
		}},
		{"WriteMsgUnix, ReadMsgUnix", 2, func() (err error) {
			c.WriteMsgUnix(buf, nil, cTo)
			_, _, _, keptUnix, err = c.ReadMsgUnix(buf, oob)
			return err
		}, func() (err error) {
			n.WriteMsgUnix(buf, nil, nTo)
			_, _, _, keptUnix, err = n.ReadMsgUnix(buf, oob)
			return err
		}},
		{"WriteToUnix, Read", 0, func() error {
			c.WriteToUnix(buf, cTo)
			_, err := c.Read(buf)
			return err
		}, func() error {
			n.WriteToUnix(buf, nTo)
			_, err := n.Read(buf)
			return err
		}},
	}
}

// compareAllocs fails if ours allocates more often than net's function, or
// than most, on a goroutine or in a coroutine.
func compareAllocs(t *testing.T, name string, r allocsRow) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	run := func(f func() error) func() { return func() { testenv.NoError(t, f()) } }
	want := testing.AllocsPerRun(50, run(r.theirs))
	for _, p := range []testrun.Place{testrun.Goroutine, testrun.First} {
		p.Do(t, func() {
			if got := testenv.Allocs(50, run(r.ours)); got > r.most || got > want {
				t.Errorf("%s, %s: %v allocations, at most %v, net's %v", name, p.Name, got, r.most,
					want)
			}
		})
	}
}
