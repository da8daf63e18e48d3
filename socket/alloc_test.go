package socket_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
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

// echoByCopies copies c to itself, five messages at a time.
func echoByCopies(c *socket.TCPConn) error {
	five := &io.LimitedReader{R: c}
	for {
		five.N = 5 * 64
		if n, err := c.ReadFrom(five); n == 0 || err != nil {
			return cmp.Or(err, io.EOF)
		}
	}
}

// TestNoAllocation: a message that comes and goes allocates nothing, in any of
// the ways to serve it.
func TestNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	for _, k := range []struct {
		name  string
		place testrun.Place
		serve func(c *socket.TCPConn) error
	}{
		{"coroutine", testrun.First, echoBytes},
		{"goroutine", testrun.Goroutine, echoBytes},
		{"deadlines", testrun.First, echoUnderDeadlines},
		{"deadlines, goroutine", testrun.Goroutine, echoUnderDeadlines},
		{"borrowed buffer", testrun.First, func(c *socket.TCPConn) error {
			for {
				if err := answerBorrowed(c); err != nil {
					return err
				}
			}
		}},
		{"watched elsewhere", testrun.Second, echoBytes},
		{"Buffered", testrun.First, echoEights},
		{"Buffered, goroutine", testrun.Goroutine, echoEights},
		{"copy", testrun.First, echoByCopies},
		{"Server", testrun.Goroutine, func(c *socket.TCPConn) error {
			s := &socket.Server{Handle: echoOnce}
			ended := reportEnds(s)
			testenv.MustOK(s.ServeConn(c, nil))
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
			trips(t, fd, 100)
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty sync.Pools
			runtime.GC()
			trips(t, fd, 100)
			// A new thread of the Go runtime allocates some seven times, and
			// the client's system calls may need one or two threads.
			if m := fewestMallocs(40, func() { trips(t, fd, 400) }); m > 40 {
				t.Errorf("%d allocations for 400 messages", m)
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

// allocOp is an operation to repeat, and how often one run of it may allocate.
type allocOp struct {
	most float64
	make func(t *testing.T) func() error
}

// TestAllocations: no operation allocates more often than its entry allows,
// whether it waits or not. For datagrams that is as often as net's methods do.
// ReadFrom, ReadFromUDP and ReadMsgUDP allocated an address that was kept and,
// apart from it, its bytes.
func TestAllocations(t *testing.T) {
	testenv.NoRace(t)
	all := maps.Clone(allocOps)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		for name, op := range udpAllocOps {
			all["udp "+at+" "+name] = allocOp{op.most, func(t *testing.T) func() error {
				return op.make(newAllocSockets(t, at))
			}}
		}
	}
	for name, op := range unixAllocOps {
		all["unixgram "+name] = allocOp{op.most, func(t *testing.T) func() error {
			at := unixAt("unixgram", testenv.SocketPath(t, "s"))
			c := testenv.Closing(t, testenv.Must(conet.ListenUnixgram("unixgram", at)))
			c.SetReadDeadline(time.Now().Add(limit)) // if something was not sent
			return op.make(t, c, at)
		}}
	}
	for _, pieces := range []int{2, 100, 2000} {
		all[fmt.Sprint(pieces, " Buffers")] = allocOp{0, func(t *testing.T) func() error {
			c, v, all := withSink(t), new(socket.Buffers), make([][]byte, pieces)
			return func() error {
				for i := range all {
					all[i] = tile[i : i+20]
				}
				*v = all
				return testenv.Err(v.WriteTo(c))
			}
		}}
	}
	for name, op := range all {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			f := op.make(t)
			check := func() {
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				var failed error
				n := testenv.Allocs(100, func() {
					if err := f(); err != nil {
						failed = err
					}
				})
				testenv.True(t, n <= op.most && failed == nil, "%v allocations, %v", n, failed)
			}
			testrun.First.Do(t, check)
			if !strings.Contains(name, "waits") {
				testrun.Goroutine.Do(t, check)
			}
		})
	}
}

var allocOps = map[string]allocOp{
	"Poll": {0, func(t *testing.T) func() error {
		set := in(eventfd(t, 1), eventfd(t, 0))
		return func() error { return testenv.Err(socket.Poll(set, -1)) }
	}},
	"a Poll that waits": {1, func(t *testing.T) func() error {
		set := in(eventfd(t, 0))
		return func() error { return testenv.Err(socket.Poll(set, time.Microsecond)) }
	}},
	"a File whose reader waits": {0, func(t *testing.T) func() error {
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
	}},
	"addresses that were asked for": {0, func(t *testing.T) func() error {
		all := addressed(t)
		return func() error {
			for _, asked := range all {
				for _, ask := range asked {
					ask()
				}
			}
			return nil
		}
	}},
	"RemoteAddrPort": {0, func(t *testing.T) func() error {
		c, _ := pair(t)
		return func() error { c.RemoteAddrPort(); return nil }
	}},
}

// allocSockets are two sockets, d connected to c, and what they send.
type allocSockets struct {
	c, d     *socket.UDPConn
	at       *net.UDPAddr   // where d is
	to, peer netip.AddrPort // where c and d are
	buf, oob []byte
}

func newAllocSockets(t *testing.T, at string) *allocSockets {
	needIPv6(t, at)
	pc := testenv.Closing(t, testenv.Must(conet.ListenPacket("udp", at)))
	x := &allocSockets{c: pc.(*socket.UDPConn), buf: make([]byte, 100), oob: make([]byte, 100)}
	self := udpAddr(x.c)
	if self.IP.IsUnspecified() {
		self.IP = loopback4.IP
	}
	x.d = testenv.Closing(t, testenv.Must(conet.DialUDP("udp", nil, self)))
	x.at, x.to, x.peer = udpAddr(x.d), self.AddrPort(), portOf(x.d)
	x.d.SetReadDeadline(time.Now().Add(limit)) // if something was not sent
	return x
}

// kept is the address that a datagram came from; a package variable, so that it
// escapes.
var kept any

// udpAllocOps are ways to send and receive.
var udpAllocOps = map[string]struct {
	most float64
	make func(x *allocSockets) func() error
}{
	"connected": {0, func(x *allocSockets) func() error {
		return func() error {
			return cmp.Or(testenv.Err(x.d.Write(x.buf)), testenv.Err(x.c.Read(x.buf)))
		}
	}},
	"msg connected": {0, func(x *allocSockets) func() error {
		return func() error {
			if _, _, err := x.d.WriteMsgUDP(x.buf, nil, nil); err != nil {
				return err
			}
			_, _, _, _, err := x.c.ReadMsgUDPAddrPort(x.buf, x.oob)
			return err
		}
	}},
	"WriteTo, ReadFrom": {1, func(x *allocSockets) func() error {
		return func() (err error) {
			x.c.WriteTo(x.buf, x.at)
			_, kept, err = x.d.ReadFrom(x.buf)
			return err
		}
	}},
	"WriteToUDP, ReadFromUDP": {1, func(x *allocSockets) func() error {
		return func() (err error) {
			x.c.WriteToUDP(x.buf, x.at)
			_, kept, err = x.d.ReadFromUDP(x.buf)
			return err
		}
	}},
	"WriteMsgUDP, ReadMsgUDP": {1, func(x *allocSockets) func() error {
		return func() (err error) {
			x.c.WriteMsgUDP(x.buf, nil, x.at)
			_, _, _, kept, err = x.d.ReadMsgUDP(x.buf, x.oob)
			return err
		}
	}},
	"WriteToUDPAddrPort, ReadFromUDPAddrPort": {0, func(x *allocSockets) func() error {
		return func() error {
			x.c.WriteToUDPAddrPort(x.buf, x.peer)
			return err3(x.d.ReadFromUDPAddrPort(x.buf))
		}
	}},
	"WriteMsgUDPAddrPort, ReadMsgUDPAddrPort": {0, func(x *allocSockets) func() error {
		return func() error {
			x.c.WriteMsgUDPAddrPort(x.buf, nil, x.peer)
			_, _, _, _, err := x.d.ReadMsgUDPAddrPort(x.buf, x.oob)
			return err
		}
	}},
	"under a deadline": {0, func(x *allocSockets) func() error {
		return func() error {
			x.d.SetReadDeadline(time.Now().Add(time.Minute))
			return cmp.Or(testenv.Err(x.c.WriteToUDPAddrPort(x.buf, x.peer)),
				testenv.Err(x.d.Read(x.buf)))
		}
	}},
	"batch": {0, func(x *allocSockets) func() error {
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
	}},
	"a batch whose reader waits, as does the answer's": {0, func(x *allocSockets) func() error {
		ms := room(8, 64, 0)
		testrun.First.Go(func() {
			for n, err := 0, error(nil); err == nil; {
				if n, err = x.c.ReadBatch(ms); err == nil {
					_, err = x.c.WriteBatch(ms[:n])
				}
			}
		})
		return func() error {
			return cmp.Or(testenv.Err(x.d.Write(x.buf)), testenv.Err(x.d.Read(x.buf)))
		}
	}},
}

// unixAllocOps are ways to send to oneself, at a path, and to receive.
var unixAllocOps = map[string]struct {
	most float64
	make func(t *testing.T, c *socket.UnixConn, at *net.UnixAddr) func() error
}{
	"without a sender's name": {0, func(t *testing.T, c *socket.UnixConn,
		at *net.UnixAddr) func() error {
		from := testenv.Closing(t, testenv.Must(conet.DialUnix("unixgram", nil, at)))
		buf := make([]byte, 64)
		return func() error {
			return cmp.Or(writeOne(from), err3(c.ReadFromUnix(buf)), writeOne(from),
				testenv.Err(c.Read(buf)))
		}
	}},
	"WriteTo, ReadFrom": {2, func(_ *testing.T, c *socket.UnixConn, at *net.UnixAddr) func() error {
		buf := make([]byte, 64)
		return func() (err error) {
			c.WriteTo(buf, at)
			_, kept, err = c.ReadFrom(buf)
			return err
		}
	}},
	"WriteToUnix, ReadFromUnix": {2, func(_ *testing.T, c *socket.UnixConn,
		at *net.UnixAddr) func() error {
		buf := make([]byte, 64)
		return func() (err error) {
			c.WriteToUnix(buf, at)
			_, kept, err = c.ReadFromUnix(buf)
			return err
		}
	}},
	"WriteToUnix, Read": {0, func(_ *testing.T, c *socket.UnixConn, at *net.UnixAddr) func() error {
		buf := make([]byte, 64)
		return func() error {
			return cmp.Or(testenv.Err(c.WriteToUnix(buf, at)), testenv.Err(c.Read(buf)))
		}
	}},
	"WriteMsgUnix, ReadMsgUnix": {2, func(_ *testing.T, c *socket.UnixConn,
		at *net.UnixAddr) func() error {
		buf, oob := make([]byte, 64), make([]byte, 64)
		return func() (err error) {
			c.WriteMsgUnix(buf, nil, at)
			_, _, _, kept, err = c.ReadMsgUnix(buf, oob)
			return err
		}
	}},
}
