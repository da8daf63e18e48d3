package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// processors returns those of the default Scheduler.
func processors(t testing.TB) []*processor.Processor {
	t.Helper()
	s := testenv.Must(netco.Default())
	return engine.Of(s).Processors()
}

// inspectAll lists the sockets of all Processors, by fd.
func inspectAll(t testing.TB) map[int]sockinfo.Info {
	t.Helper()
	all := map[int]sockinfo.Info{}
	for _, p := range processors(t) {
		sockinfo.Each(p, func(i sockinfo.Info) bool {
			if old, twice := all[i.FD]; twice {
				t.Errorf("fd %d is listed twice: %+v and %+v", i.FD, old, i)
			}
			all[i.FD] = i
			return true
		})
	}
	return all
}

// want compares the entry of an fd with w; addresses are compared by their
// text.
func want(t *testing.T, all map[int]sockinfo.Info, w sockinfo.Info) {
	t.Helper()
	got, listed := all[w.FD]
	if !listed {
		t.Errorf("fd %d is not listed: %+v", w.FD, w)
		return
	}
	for _, a := range []*net.Addr{&w.Local, &w.Remote, &got.Local, &got.Remote} {
		if *a != nil {
			*a = printed(fmt.Sprintf("%T %s %s", *a, (*a).Network(), *a))
		}
	}
	testenv.Equal(t, got, w, "listed as\n, \n")
}

// printed is an address for comparison.
type printed string

func (printed) Network() string  { return "" }
func (p printed) String() string { return string(p) }

// rawFD returns a connection's or listener's fd.
func rawFD(c syscall.Conn) (fd int) {
	raw, err := c.SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(x uintptr) { fd = int(x) })
	return fd
}

// TestInspect: each fd with a waiter is listed once, with its waiter, its place
// and its addresses; and no other fd is.
func TestInspect(t *testing.T) {
	startLocked(t, 2) // nothing moves: each is listed with its Processor
	x := &inspected{t: t}
	for _, network := range []string{"tcp", "unix", "unixpacket"} {
		x.streams(network)
	}
	x.listeners()
	x.datagrams()
	x.files()
	x.raw()
	// A Poll has an fd of its own registered, which is no socket.
	r, w := filePipe(t)
	x.begin(r)
	x.parked(testrun.First, coroutine.ReasonRead, func() {
		socket.Poll([]socket.PollFd{{Fd: int32(r.Fd()), Events: unix.POLLIN}}, -1)
	})
	x.check()

	w.Close()
	x.tasks[len(x.tasks)-1].Wait(t) // the Poll, whose fd must not be closed before
	for _, c := range x.closers {
		c.Close()
	}
	testrun.WaitAll(t, x.tasks...)
	if all := inspectAll(t); len(all) != 0 {
		t.Errorf("closed ones are listed: %+v", all)
	}
}

// inspected is the sockets of TestInspect, and the entries expected for them.
type inspected struct {
	t       *testing.T
	tasks   []*testrun.Task
	closers []io.Closer
	wants   []sockinfo.Info
}

// inspectedStream is a connection whose fd can be had.
type inspectedStream interface {
	net.Conn
	syscall.Conn
}

// parked runs f in a place until it waits, and returns its coroutine's id; 0
// for a goroutine's.
func (in *inspected) parked(p testrun.Place, reason coroutine.Reason, f func()) uint64 {
	in.t.Helper()
	k := p.Go(f)
	k.UntilParked(in.t, reason)
	in.tasks = append(in.tasks, k)
	if k.Co == nil {
		return 0
	}
	return k.Co.ID()
}

// reads is parked for a Read. Some readers get a byte, at any time: each has a
// buffer of its own.
func (in *inspected) reads(p testrun.Place, c io.Reader) uint64 {
	return in.parked(p, coroutine.ReasonRead, func() { c.Read(make([]byte, 1)) })
}

// writes is parked for Writes that nothing reads.
func (in *inspected) writes(p testrun.Place, c io.Writer) uint64 {
	return in.parked(p, coroutine.ReasonWrite, func() {
		for much := make([]byte, 100_000); ; {
			if _, err := c.Write(much); err != nil {
				return
			}
		}
	})
}

func (in *inspected) begin(c io.Closer) { in.closers = append(in.closers, c) }

func (in *inspected) expect(c inspectedStream, w sockinfo.Info) {
	in.begin(c)
	w.FD, w.Local, w.Remote = rawFD(c), c.LocalAddr(), c.RemoteAddr()
	if w.Network == "" {
		w.Network = c.LocalAddr().Network()
	}
	in.wants = append(in.wants, w)
}

func (in *inspected) streams(network string) {
	two := func() (a, b inspectedStream) {
		if network == "tcp" {
			a, b := pair(in.t)
			return a, b
		}
		a, b = unixPair(in.t, network)
		return a, b
	}
	a, b := two()
	in.expect(a, sockinfo.Info{Processor: 0, ReadWaiter: in.reads(testrun.First, a)})
	in.expect(b, sockinfo.Info{Processor: 1, ReadWaiter: in.reads(testrun.Second, b)})
	a, b = two()
	in.expect(a, sockinfo.Info{Processor: 1, WriteWaiter: in.writes(testrun.Second, a),
		ReadWaiter: in.reads(testrun.First, a)}) // across threads
	in.begin(b) // nothing has waited for it
	a, b = two()
	in.reads(testrun.Goroutine, a)
	in.expect(a, sockinfo.Info{Processor: -1})
	in.reads(testrun.Goroutine, b)
	in.expect(b, sockinfo.Info{Processor: 0, WriteWaiter: in.writes(testrun.First, b)})
}

func (in *inspected) listeners() {
	for i, network := range []string{"tcp", "unix"} {
		l := listenAny(in.t, network)
		w := sockinfo.Info{FD: rawFD(l.(syscall.Conn)), Network: network, Local: l.Addr(),
			Listener: true, Processor: -1}
		p := []testrun.Place{testrun.Second, testrun.Goroutine}[i]
		w.ReadWaiter = in.parked(p, coroutine.ReasonAccept, func() { l.Accept() })
		if i == 0 {
			w.Processor = 1
		}
		in.wants = append(in.wants, w)
		in.begin(l)
	}
}

func (in *inspected) datagrams() {
	u, c := udpTo(in.t)
	in.expect(c, sockinfo.Info{Network: "udp4", ReadWaiter: in.reads(testrun.First, c)})
	in.expect(u, sockinfo.Info{Network: "udp4", ReadWaiter: in.parked(testrun.First,
		coroutine.ReasonRead, func() { u.ReadFrom(make([]byte, 1)) })})
}

func (in *inspected) files() {
	r, w := filePipe(in.t)
	in.begin(r)
	in.begin(w)
	in.wants = append(in.wants, sockinfo.Info{FD: int(r.Fd()), Network: "file",
		Local: socket.FileName("r"), Processor: 1, ReadWaiter: in.reads(testrun.Second, r)})
}

func (in *inspected) raw() {
	raw := testenv.Must(socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0))
	in.begin(raw)
	raw.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	testenv.OK(in.t, raw.Listen(1))
	at, _ := raw.Getsockname()
	in.wants = append(in.wants, sockinfo.Info{FD: rawFD(raw), Network: "socket", Listener: true,
		ReadWaiter: in.parked(testrun.First, coroutine.ReasonRead, func() { raw.Accept() }),
		Local:      &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*unix.SockaddrInet4).Port}})
	netlink := testenv.Must(socket.NewSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE))
	in.begin(netlink)
	in.wants = append(in.wants, sockinfo.Info{FD: rawFD(netlink), Network: "socket",
		ReadWaiter: in.reads(testrun.First, netlink)})
}

// check compares the list with the expected entries. A peer's kernel that takes
// bytes late wakes a writer once more.
func (in *inspected) check() {
	var all map[int]sockinfo.Info
	testenv.Until(in.t, "the writers to be stuck", func() bool {
		all = inspectAll(in.t)
		for _, w := range in.wants {
			if w.WriteWaiter != 0 && all[w.FD].WriteWaiter == 0 {
				return false
			}
		}
		return true
	})
	for _, w := range in.wants {
		want(in.t, all, w)
		delete(all, w.FD)
	}
	if len(all) != 0 {
		in.t.Errorf("besides these are listed: %+v", all)
	}
}

// TestInspectConnecting: a connection that is being made is listed, with its
// dialler.
func TestInspectConnecting(t *testing.T) {
	start(t, 1)
	deaf, _ := testenv.Deaf(t)
	ctx, cancel := context.WithCancel(context.Background())
	k := testrun.First.Go(func() { new(socket.Dialer).DialContext(ctx, "tcp", deaf) })
	k.UntilParked(t, coroutine.ReasonConnect)
	all := inspectAll(t)
	testenv.Equal(t, len(all), 1, all)
	for _, i := range all {
		testenv.True(t, i.WriteWaiter == k.Co.ID() && i.ReadWaiter == 0 && i.Remote == nil &&
			i.Local != nil && !i.Listener && i.Network == "tcp", "%+v", i)
	}
	cancel()
	k.Wait(t)
}

// TestInspectServer: a Server's connection is idle while it holds no coroutine,
// and only then.
func TestInspectServer(t *testing.T) {
	start(t, 1)
	handling := make(chan uint64, 8)
	s := &socket.Server{Handle: func(c *socket.ServerConn) error {
		handling <- netco.Self().ID()
		_, err := c.Read(make([]byte, 10)) // it has one byte and waits for the next
		if err == nil {
			_, err = c.Read(make([]byte, 10))
		}
		return err
	}}
	address, _ := serving(t, s)
	c := dialNet(t, address)
	find := func(what string, is func(sockinfo.Info) bool) {
		t.Helper()
		testenv.Until(t, what, func() bool {
			for _, i := range inspectAll(t) {
				if !i.Listener && is(i) {
					testenv.True(t, fmt.Sprint(i.Remote) == c.LocalAddr().String() &&
						fmt.Sprint(i.Local) == address && i.Processor == 0, "%+v", i)
					return true
				}
			}
			return false
		})
	}
	idle := func(i sockinfo.Info) bool { return i.Idle && i.ReadWaiter == 0 && i.WriteWaiter == 0 }
	find("idleness", idle)
	writeAll(t, c, one)
	id := testenv.Await(t, handling, "the Handle")
	find("the Handle to wait", func(i sockinfo.Info) bool { return i.ReadWaiter == id && !i.Idle })
	writeAll(t, c, one)
	find("idleness again", idle)
}

var one = []byte("1")

// TestInspectEnds: f ends it, and may close what it is given.
func TestInspectEnds(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		waiting := map[int]*socket.TCPConn{}
		var tasks []*testrun.Task
		for i := range 10 {
			a, b := pair(t)
			for _, c := range []*socket.TCPConn{a, b} {
				k := place(i).Go(func() { c.Read(make([]byte, 1)) })
				k.UntilParked(t, coroutine.ReasonRead)
				tasks = append(tasks, k)
				waiting[c.FD()] = c
			}
		}
		first := processors(t)[0]
		p.Do(t, func() {
			for n := range 12 { // in the Processor's sockets, and in those of goroutines
				calls := 0
				sockinfo.Each(first, func(sockinfo.Info) bool {
					calls++
					return calls <= n
				})
				testenv.Equal(t, calls, n+1, "f said no at call, and was called times")
			}
			for _, p := range processors(t) {
				sockinfo.Each(p, func(i sockinfo.Info) bool {
					testenv.NoError(t, waiting[i.FD].Close())
					return true
				})
			}
		})
		testrun.WaitAll(t, tasks...)
	})
}

// TestInspectLetsOthersRun: a coroutine that lists many sockets does not keep
// its Processor for itself.
func TestInspectLetsOthersRun(t *testing.T) {
	start(t, 1)
	const sockets = 300
	var tasks []*testrun.Task
	var conns []*socket.UDPConn
	for range sockets {
		c := listenUDP(t, loopback4)
		k := testrun.First.Park(t, coroutine.ReasonRead, func() { c.Read(make([]byte, 1)) })
		conns, tasks = append(conns, c), append(tasks, k)
	}
	besideOthers(t, func(x *others) {
		listed, runs, last := 0, 0, x.turns.Load()
		sockinfo.Each(processors(t)[0], func(sockinfo.Info) bool {
			listed++
			if now := x.turns.Load(); now != last {
				runs, last = runs+1, now
			}
			return true
		})
		testenv.True(t, listed == sockets && runs >= 2,
			"%d of %d sockets listed; the other ran %d times meanwhile", listed, sockets, runs)
	})
	for i, c := range conns {
		c.Close()
		tasks[i].Wait(t)
	}
}

func serveInspected(t *testing.T, l net.Listener) {
	acceptAll(t, l, func(c net.Conn) {
		if _, err := netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			defer c.Close() // half of them close first
			buf := make([]byte, 100)
			for {
				n, err := c.Read(buf)
				if err != nil || buf[0] == 'q' {
					return
				}
				if _, err := c.Write(buf[:n]); err != nil {
					return
				}
			}
		}}); err != nil {
			c.Close()
		}
	})
}

// TestInspectHammer: sockets of all kinds come and go, read and write, in
// coroutines and goroutines, their fds being used again and again, while others
// list them. Every entry is true of its socket; and listing loses no fd and
// leaves none open.
func TestInspectHammer(t *testing.T) {
	start(t, 2)
	duration := time.Duration(float64(2*time.Second) * testenv.Scale())
	var over atomic.Bool
	l := listen(t)
	tcpPort := l.Addr().(*net.TCPAddr).Port
	u, unused := udpTo(t)
	unused.Close()
	udpPort := u.LocalAddr().(*net.UDPAddr).Port
	name := testenv.SocketPath(t, "hammer")
	ul := testenv.Must(conet.Listen("unix", name))

	var tasks []*testrun.Task

	for i, l := range []net.Listener{l, ul} {
		tasks = append(tasks, testrun.Places[i].Go(func() { serveInspected(t, l) }))
	}
	for i := range 12 {
		network := []string{"tcp", "udp4", "unix"}[i/3%3]
		address := map[string]string{"tcp": l.Addr().String(), "udp4": u.LocalAddr().String(),
			"unix": name}[network]
		tasks = append(tasks, place(i).Go(func() { client(t, network, address, uint64(i), &over) }))
	}
	var listed, shown atomic.Int64
	look := func() {
		for !over.Load() {
			for _, p := range processors(t) {
				sockinfo.Each(p, func(i sockinfo.Info) bool {
					shown.Add(1)
					if wrong := untrue(i, tcpPort, udpPort, name); wrong != "" {
						t.Errorf("%s: %+v", wrong, i)
						return false
					}
					return true
				})
			}
			listed.Add(1)
			if netco.Self().ID() == 0 {
				runtime.Gosched()
			} else {
				netco.Yield()
			}
		}
	}
	for _, p := range testrun.Places {
		tasks = append(tasks, p.Go(look))
	}
	time.Sleep(duration)
	over.Store(true)
	l.Close()
	ul.Close()
	u.Close()
	testrun.WaitAll(t, tasks...)
	t.Logf("%d lists of %d sockets", listed.Load(), shown.Load())
	testenv.Until(t, "the connections to end", func() bool { return sockinfo.OpenCount() == 0 })
}

// client makes connections, exchanges a little and closes, until over.
func client(t *testing.T, network, address string, seed uint64, over *atomic.Bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	buf := make([]byte, 100)
	for !over.Load() {
		c, err := conet.Dial(network, address)
		if err != nil {
			if network != "unix" && !over.Load() { // of unix the queue may be full
				t.Error(err)
				return
			}
			netco.Yield()
			continue
		}
		if network == "udp4" {
			c.SetReadDeadline(time.Now().Add(time.Duration(r.IntN(300)) * time.Microsecond))
		}
		for range r.IntN(4) {
			c.Write([]byte("hello"))
			c.Read(buf)
		}
		if r.IntN(2) == 0 {
			c.Write([]byte("q"))
			c.Read(buf)
		}
		c.Close()
	}
}

// untrue says which part of i cannot be true, or "".
func untrue(i sockinfo.Info, tcpPort, udpPort int, name string) string {
	if i.FD <= 2 {
		return "whose fd is that?"
	}
	switch i.Network {
	case "tcp":
		local, ok := i.Local.(*net.TCPAddr)
		remote, _ := i.Remote.(*net.TCPAddr)
		if !ok || i.Remote != nil && remote == nil {
			return "no TCP addresses"
		}
		if remote != nil && local.Port != tcpPort && remote.Port != tcpPort {
			return "no end of it is the listener's"
		}
		if i.Listener && (local.Port != tcpPort || remote != nil) {
			return "another listener"
		}
	case "udp", "udp4":
		local, ok := i.Local.(*net.UDPAddr)
		remote, _ := i.Remote.(*net.UDPAddr)
		if !ok || remote == nil && local.Port != udpPort && local.Port != 0 &&
			i.Network == "udp4" && i.ReadWaiter != 0 {
			return "no UDP addresses"
		}
		if remote != nil && remote.Port != udpPort {
			return "not the peer"
		}
	case "unix":
		local, ok := i.Local.(*net.UnixAddr)
		if !ok || local.Name != name && local.Name != "@" {
			return "no Unix address"
		}
	default:
		return "no such network here"
	}
	if i.Processor < -1 || i.Processor > 1 || i.Idle {
		return "not there, or not so"
	}
	return ""
}

// collected collects garbage until a condition holds.
func collected(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testenv.Until(t, what, func() bool {
		runtime.GC()
		return ok()
	})
}

// lostKinds make a value with an fd, whose wait needs nothing else. The test
// keeps the second result for as long as it needs it.
var lostKinds = map[string]func(t *testing.T) (lost any, keep any){
	"TCPConn, dialled": func(t *testing.T) (any, any) {
		l := listen(t)
		return testenv.Must(conet.Dial("tcp", l.Addr().String())), l
	},
	"TCPConn, accepted": func(t *testing.T) (any, any) { return lostAccepted(listen(t)) },
	"TCPListener": func(t *testing.T) (any, any) {
		return testenv.Must(conet.Listen("tcp", "127.0.0.1:0")), nil
	},
	"UDPConn": func(t *testing.T) (any, any) {
		return testenv.Must(conet.ListenPacket("udp", "127.0.0.1:0")), nil
	},
	"UDPConn, dialled": func(t *testing.T) (any, any) {
		return testenv.Must(conet.Dial("udp", "127.0.0.1:9")), nil
	},
	"UnixListener": func(t *testing.T) (any, any) {
		return testenv.Must(conet.Listen("unix", testenv.SocketPath(t, "s"))), nil
	},
	"UnixConn, dialled": func(t *testing.T) (any, any) {
		l := listenUnix(t, "unix")
		return testenv.Must(conet.Dial("unix", l.Addr().String())), l
	},
	"UnixConn, accepted": func(t *testing.T) (any, any) {
		return lostAccepted(listenUnix(t, "unixpacket"))
	},
	"UnixConn, unixgram": func(t *testing.T) (any, any) {
		return testenv.Must(conet.ListenPacket("unixgram", testenv.SocketPath(t, "g"))), nil
	},
	"FileConn": func(t *testing.T) (any, any) {
		theirs, _ := netPair(t)
		f := testenv.Must(theirs.File())
		defer f.Close()
		return testenv.Must(conet.FileConn(f)), theirs
	},
	"File": func(t *testing.T) (any, any) {
		r, w := pipeOfOS(t)
		defer r.Close()
		return testenv.Must(socket.NewFile(r)), w
	},
	"Socket": func(t *testing.T) (any, any) {
		x := testenv.Must(socket.NewSocket(unix.AF_INET, unix.SOCK_DGRAM, 0))
		testenv.OK(t, x.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		return x, nil
	},
}

// lostAccepted returns a connection that l has accepted, and the peer, and
// closes l.
func lostAccepted(l net.Listener) (any, any) {
	defer l.Close()
	peer := testenv.Must(net.Dial(l.Addr().Network(), l.Addr().String()))
	return testenv.Must(l.Accept()), peer
}

// await1 waits for something to read, until a deadline: so it is registered.
func await1(t *testing.T, x any) {
	x.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(time.Microsecond))
	var err error
	switch x := x.(type) {
	case net.Listener:
		_, err = x.Accept()
	case net.PacketConn:
		_, _, err = x.ReadFrom(make([]byte, 1))
	case io.Reader:
		_, err = x.Read(make([]byte, 1))
	}
	testenv.True(t, errors.Is(err, os.ErrDeadlineExceeded), "%T: %v", x, err)
}

// TestLost: a socket that the program has lost without a Close is closed by the
// garbage collector, as with net, be its fd registered or not. The slab of a
// Processor referred to each whole connection, and there was no cleanup: 50 of
// 50 fds stayed.
func TestLost(t *testing.T) {
	start(t, 2)
	for i, name := range slices.Sorted(maps.Keys(lostKinds)) {
		make := lostKinds[name]
		inTurnOf(t, i, name, func(t *testing.T, p testrun.Place) {
			var keep []any
			before, kept := sockinfo.OpenCount(), 0 // listeners of this package's
			for i := range 4 {
				p.Do(t, func() {
					lost, beside := make(t)
					keep = append(keep, beside)
					if _, ok := beside.(interface {
						AcceptTCP() (*socket.TCPConn, error)
					}); ok {
						kept++
					} else if _, ok := beside.(*socket.UnixListener); ok {
						kept++
					}
					if i%2 == 0 { // so it is registered
						await1(t, lost)
					}
				})
			}
			collected(t, "the lost to be closed", func() bool {
				return sockinfo.OpenCount() <= before+kept
			})
			testenv.Equal(t, sockinfo.OpenCount(), before+kept, "sockets that are kept")
			runtime.KeepAlive(keep)
		})
	}
}

// TestLostPeer: the peer of a lost connection learns of its end, and a lost
// connection gives back its place under a limit.
func TestLostPeer(t *testing.T) {
	start(t, 2)
	for _, wrapped := range []bool{false, true} {
		for _, listen := range []func(string, string) (net.Listener, error){conet.Listen,
			net.Listen} {
			l := testenv.Must(listen("tcp", "127.0.0.1:0"))
			if wrapped {
				l = outer{Listener: l}
			}
			l = socket.LimitListener(l, 1)
			for range 3 { // each needs the place of the one before
				peer := dialNet(t, l.Addr().String())
				testenv.NoError(t, collectedUntil(t, "a place", func() error {
					return testenv.Err(l.Accept())
				}))
				testenv.Fails(t, collectedUntil(t, "the peer's end of the stream", func() error {
					return testenv.Err(peer.Read(make([]byte, 1)))
				}), io.EOF)
			}
			l.Close()
		}
	}
}

// collectedUntil collects garbage until a call returns.
func collectedUntil(t *testing.T, what string, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	collected(t, what, func() bool { return len(done) > 0 })
	return <-done
}

// notLost are waits, made in the place that waits, and functions that end them.
var notLost = map[string]func(t *testing.T) (wait func() error, end func(), r coroutine.Reason){
	"Read":         acceptedToRead(func(c *socket.TCPConn) error { return readOne(c) }),
	"WaitReadable": acceptedToRead(func(c *socket.TCPConn) error { return c.WaitReadable() }),
	"WriteTo": acceptedToRead(func(c *socket.TCPConn) error {
		return testenv.Err(c.WriteTo(io.Discard))
	}),
	"Buffered": acceptedToRead(func(c *socket.TCPConn) error {
		return testenv.Err(socket.NewBuffered(c).ReadByte())
	}),
	"RawConn": acceptedToRead(func(c *socket.TCPConn) error {
		return testenv.Must(c.SyscallConn()).Read(recv(new([]byte)))
	}),
	"Accept": func(t *testing.T) (func() error, func(), coroutine.Reason) {
		l := testenv.Must(conet.Listen("tcp", "127.0.0.1:0"))
		address := l.Addr().String()
		return func() error { return shut(l.Accept()) }, func() { dialNet(t, address) },
			coroutine.ReasonAccept
	},
	"Write": func(t *testing.T) (func() error, func(), coroutine.Reason) {
		c, peer := lostAccepted(listen(t))
		return func() error { return testenv.Err(c.(net.Conn).Write(tooMuch[:32<<20])) },
			func() { go io.Copy(io.Discard, peer.(net.Conn)) }, coroutine.ReasonWrite
	},
	"File": func(t *testing.T) (func() error, func(), coroutine.Reason) {
		r, w := pipeOfOS(t)
		f := testenv.Must(socket.NewFile(r))
		return func() error { return testenv.Err(f.Read(make([]byte, 1))) },
			func() { w.Write([]byte("x")) }, coroutine.ReasonRead
	},
}

func acceptedToRead(read func(*socket.TCPConn) error) func(t *testing.T) (func() error, func(),
	coroutine.Reason) {
	return func(t *testing.T) (func() error, func(), coroutine.Reason) {
		c, peer := lostAccepted(listen(t))
		testenv.Closing(t, peer.(*net.TCPConn))
		return func() error { return read(c.(*socket.TCPConn)) }, func() {
			peer.(*net.TCPConn).Write([]byte("x"))
			peer.(*net.TCPConn).CloseWrite()
		}, coroutine.ReasonRead
	}
}

// TestWaitedForIsNotLost: a waiter keeps the socket that it waits for, although
// nothing else refers to the socket.
func TestWaitedForIsNotLost(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		var tasks []*testrun.Task
		var ends []func()
		for name, make := range notLost {
			var reason coroutine.Reason
			made := new(atomic.Bool)
			k := p.Go(func() {
				wait, end, r := make(t)
				ends, reason = append(ends, end), r
				made.Store(true)
				testenv.Fails(t, wait(), nil, name)
			})
			testenv.Until(t, "a wait", made.Load)
			k.UntilParked(t, reason)
			tasks = append(tasks, k)
		}
		for range 3 {
			runtime.GC()
		}
		for _, end := range ends {
			end()
		}
		testrun.WaitAll(t, tasks...)
		collected(t, "all to be closed", func() bool { return sockinfo.OpenCount() == 0 })
	})
}

// TestServedIsNotLost: the connections of a Server that nothing refers to any
// more, its listener being closed, are served on, while they are idle and hold
// no coroutine.
func TestServedIsNotLost(t *testing.T) {
	start(t, 2)
	l := listen(t)
	ended := make(chan error, 10)
	k := testrun.First.Go(func() {
		s := &socket.Server{Handle: echoOnce}
		s.Closed = func(_ *socket.ServerConn, err error) { ended <- err }
		s.Serve(l)
	})
	var peers []*net.TCPConn
	for range 4 {
		c := dialNet(t, l.Addr().String())
		exchange(t, c, "hello")
		peers = append(peers, c)
	}
	l.Close()
	k.Wait(t)
	testenv.Until(t, "all to be idle", func() bool { return live(t) == 0 })
	for range 3 {
		runtime.GC()
	}
	for _, c := range peers {
		exchange(t, c, "again")
		c.Close()
		testenv.Fails(t, testenv.Await(t, ended, "its end"), io.EOF)
	}
}

// TestLostDetached: a connection that Detach took from a Server may be lost as
// any other.
func TestLostDetached(t *testing.T) {
	start(t, 2)
	address, _ := serving(t, &socket.Server{Handle: func(c *socket.ServerConn) error {
		c.Detach()
		return nil
	}})
	peer := dialNet(t, address)
	peer.Write([]byte("x"))
	peer.CloseWrite()
	err := collectedUntil(t, "the peer's end of the stream", func() error {
		return testenv.Err(io.Copy(io.Discard, peer))
	})
	testenv.True(t, err == nil || errors.Is(err, unix.ECONNRESET), // it has not read what was sent
		"%v", err)
}

// TestLostAndInspected: Inspect looks at sockets while they are collected.
func TestLostAndInspected(t *testing.T) {
	start(t, 1)
	fds := testenv.Files()
	s := testenv.Must(netco.Default())
	for range 20 {
		testrun.First.Do(t, func() {
			for range 10 {
				c := testenv.Must(conet.ListenPacket("udp", "127.0.0.1:0"))
				await1(t, c)
			}
		})
		collecting := make(chan struct{})
		go func() {
			runtime.GC()
			close(collecting)
		}()
		for over := false; !over; {
			select {
			case <-collecting:
				over = true
			default:
			}
			sockinfo.Each(engine.Of(s).Processors()[0], func(info sockinfo.Info) bool {
				testenv.True(t, info.Network == "udp" && info.Local != nil, "%+v", info)
				return true
			})
		}
	}
	collected(t, "all to be closed", func() bool { return sockinfo.OpenCount() == 0 })
	testenv.Until(t, "the fds", func() bool { return testenv.Files() <= fds })
}
