package socket_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// limitedOn listens on a network of streams, with a limit.
func limitedOn(t *testing.T, network string, n int) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network != "tcp" {
		address = testenv.SocketPath(t, "s")
	}
	l := testenv.Closing(t, testenv.Must(conet.Listen(network, address)))
	limited := socket.LimitListener(l, n)
	if limited != l {
		t.Fatalf("a %T came back as a %T", l, limited)
	}
	return limited
}

func dialLimited(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c := testenv.Closing(t, testenv.Must(net.Dial(l.Addr().Network(), l.Addr().String())))
	c.SetDeadline(time.Now().Add(limit))
	return c
}

// untilNoRoom waits until k waits for a place.
func untilNoRoom(t *testing.T, l net.Listener, k *testrun.Task) {
	t.Helper()
	testenv.Until(t, "the Accept to wait", func() bool {
		return socket.WaitForRoom(l) == 1 && k.Parked(coroutine.ReasonAccept)
	})
}

// TestLimitListener: accepting stops at the limit and goes on when a connection
// is closed, for coroutines and goroutines.
func TestLimitListener(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "unixpacket"} {
		inPlacesOf(t, network, func(t *testing.T, p testrun.Place) {
			l := limitedOn(t, network, 2)
			pauses := sockinfo.AcceptPauses()
			for range 6 {
				dialLimited(t, l)
			}
			accepted := make(chan net.Conn, 6)
			k := p.Go(func() {
				for range 6 {
					c, err := l.Accept()
					if err != nil {
						t.Error(err)
						break
					}
					accepted <- c
				}
			})
			open := []net.Conn{testenv.Await(t, accepted, "the first"),
				testenv.Await(t, accepted, "the second")}
			for range 4 {
				untilNoRoom(t, l, k)
				if socket.Places(l) != 2 || len(accepted) != 0 {
					t.Fatalf("%d places taken, %d more accepted", socket.Places(l), len(accepted))
				}
				open[0].Close()
				open[0].Close() // gives nothing back
				open = append(open[1:], testenv.Await(t, accepted, "one more"))
			}
			k.Wait(t)
			testenv.Equal(t, sockinfo.AcceptPauses()-pauses, 4, "pauses, 4")
			for _, c := range open {
				switch c.(type) {
				case *socket.TCPConn, *socket.UnixConn:
				default:
					t.Errorf("accepted a %T", c)
				}
				f, err := c.(interface{ File() (*os.File, error) }).File()
				testenv.NoError(t, err)
				defer f.Close() // the duplicate does not count
				c.Close()
			}
			testenv.Until(t, "the places", func() bool { return socket.Places(l) == 0 })
		})
	}
}

// TestLimitListenerEnds: a wait for room that a deadline, or a Close amid
// edges, has ended leaves nothing behind. The tables of waits check its end
// itself.
func TestLimitListenerEnds(t *testing.T) {
	for name, end := range map[string]func(l net.Listener){
		"deadline": func(l net.Listener) { l.(deadliner).SetDeadline(past) },
		"closed amid edges": func(l net.Listener) {
			var closed atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				for !closed.Load() {
					socket.MarkAcceptable(l)
				}
			})
			time.Sleep(time.Millisecond) // the Accept tries again and again
			l.Close()
			closed.Store(true)
			wg.Wait()
		},
	} {
		inPlacesOf(t, name, func(t *testing.T, p testrun.Place) {
			l := limitedOn(t, "tcp", 1)
			dialLimited(t, l)
			one := testenv.Must(l.Accept())
			pauses := sockinfo.AcceptPauses()
			k := p.Go(func() { testenv.Equal(t, testenv.Err(l.Accept()) != nil, true) })
			untilNoRoom(t, l, k)
			end(l)
			k.Wait(t)
			testenv.Equal(t, socket.WaitForRoom(l), 0, "waits for room")
			testenv.Equal(t, sockinfo.AcceptPauses()-pauses, 1, "pauses")
			one.Close()
			testenv.Equal(t, socket.Places(l), 0, "places taken")
		})
	}
}

// TestLimitListenerOnce: however many coroutines close a connection, and use it
// meanwhile, its place is given back once.
func TestLimitListenerOnce(t *testing.T) {
	start(t, 2)
	l := limitedOn(t, "tcp", 3)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 600 {
			c := testenv.Must(l.Accept())
			if n := socket.Places(l); n < 1 || n > 3 {
				t.Errorf("%d places taken", n)
			}
			for i := range 3 {
				testrun.Places[i].Run(func() { c.Read(make([]byte, 1)) })
				testrun.Places[2-i].Run(func() { c.Close() })
			}
		}
	})
	for range 600 {
		c := testenv.Must(net.Dial("tcp", l.Addr().String()))
		c.Close()
	}
	wg.Wait()
	testenv.Until(t, "all places", func() bool { return socket.Places(l) == 0 })
}

// TestLimitTwice: the narrower of two limits holds, and an Accept that has a
// place under one and finds none under the other gives it back.
func TestLimitTwice(t *testing.T) {
	start(t, 2)
	for _, n := range [][2]int{{1, 2}, {2, 1}} {
		l := limitedOn(t, "tcp", n[0]).(*socket.TCPListener)
		socket.LimitListener(l, n[1])
		for range 3 {
			dialLimited(t, l)
		}
		last := testenv.Must(l.Accept())
		for range 2 {
			l.SetDeadline(time.Now().Add(10 * time.Millisecond))
			testenv.Fails(t, testenv.Err(l.Accept()), os.ErrDeadlineExceeded, "limits", n)
			l.SetDeadline(time.Time{})
			last.Close()
			last = testenv.Must(l.Accept())
		}
		last.Close()
	}
}

// otherListener is a listener of another package.
type otherListener struct{ net.Listener }

// TestLimitForeign: a listener of another package is limited too, and a wait
// for room ends by Close.
func TestLimitForeign(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		theirs := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
		l := socket.LimitListener(otherListener{theirs}, 1)
		dialLimited(t, l)
		dialLimited(t, l)
		pauses := sockinfo.AcceptPauses()
		accepted := make(chan net.Conn, 2)
		k := p.Go(func() {
			accepted <- testenv.Must(l.Accept())
			accepted <- testenv.Must(l.Accept())
		})
		c := testenv.Await(t, accepted, "the first")
		untilNoRoom(t, l, k)
		c.Close()
		c.Close()
		c = testenv.Await(t, accepted, "the second")
		k.Wait(t)
		testenv.Equal(t, socket.WaitForRoom(l), 0, "waits for room, of one that has it")
		closed := func() {
			testenv.Fails(t, testenv.Err(l.Accept()), net.ErrClosed, "net.ErrClosed")
		}
		k, other := p.Go(closed), p.Go(closed)
		other.UntilParked(t, coroutine.ReasonAccept)
		untilNoRoom(t, l, k)
		l.Close()
		testrun.WaitAll(t, k, other)
		testenv.Equal(t, socket.WaitForRoom(l), 0, "waits for room, after Close")
		testenv.Equal(t, sockinfo.AcceptPauses()-pauses, 3, "pauses")
		c.Close()
		testenv.Equal(t, socket.Places(l), 0, "places are taken")
	})
}

// badListener is one whose Accept ends its goroutine, panics, or the like.
type badListener struct {
	net.Listener
	accept func() (net.Conn, error)
}

func (l badListener) Accept() (net.Conn, error) { return l.accept() }

// TestLimitUnwound: the Accept of another package's listener that returns no
// open connection gives its place back.
func TestLimitUnwound(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		for name, accept := range map[string]func() (net.Conn, error){
			"ends":   func() (net.Conn, error) { runtime.Goexit(); return nil, nil },
			"panics": func() (net.Conn, error) { panic("Accept") },
			"fails":  func() (net.Conn, error) { return nil, net.ErrClosed },
			"is late": func() (net.Conn, error) {
				c, _ := pair(t)
				return c, c.Close()
			},
		} {
			l := socket.LimitListener(badListener{listen(t), accept}, 1)
			p.Go(func() {
				defer func() { recover() }()
				l.Accept()
			}).Wait(t)
			testenv.Equal(t, socket.Places(l), 0, "places taken after one that "+name)
		}
	})
}

func TestLimitNone(t *testing.T) {
	start(t, 1)
	for _, n := range []int{0, -1} {
		for _, l := range []net.Listener{limitedOn(t, "tcp", n),
			socket.LimitListener(otherListener{listen(t)}, n)} {
			testenv.True(t, testenv.Err(l.Accept()) != nil, "accepted under a limit of %d", n)
		}
	}
	s := &socket.Server{Handle: echoOnce, MaxConns: -1}
	testenv.True(t, s.Serve(listen(t)) != nil, "served with MaxConns -1")
}

// TestServeMaxConns: over two listeners together, no more than MaxConns are
// open, and all are served in the end; a detached connection counts until it is
// closed.
func TestServeMaxConns(t *testing.T) {
	start(t, 2)
	const most, clients = 3, 12
	var detached socket.Stream
	var mu sync.Mutex
	s := &socket.Server{MaxConns: most, Handle: func(c *socket.ServerConn) error {
		if err := echoOnce(c); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if detached == nil {
			detached = c.Detach()
		}
		return nil
	}}
	listeners := []net.Listener{listen(t), otherListener{listen(t)}, listen(t)}
	var tasks []*testrun.Task
	for i, l := range listeners {
		tasks = append(tasks, testrun.Places[i].Go(func() {
			testenv.Fails(t, s.Serve(l), socket.ErrServerClosed, "Serve")
		}))
	}
	conns := make([]net.Conn, clients)
	for i := range conns {
		conns[i] = dialLimited(t, listeners[i%len(listeners)])
	}
	served := answers(t, conns)
	var open []int
	for range most {
		open = append(open, testenv.Await(t, served, "a client to be served"))
	}
	testenv.Until(t, "accepting to pause", func() bool {
		return socket.WaitForRoom(listeners[0]) > 0 && socket.WaitForRoom(listeners[2]) > 0
	})
	if socket.Places(listeners[0]) != most || len(served) != 0 {
		t.Errorf("%d places taken, %d more served at the limit", socket.Places(listeners[0]),
			len(served))
	}
	var first socket.Stream
	testenv.Until(t, "one to be detached", func() bool {
		mu.Lock()
		defer mu.Unlock()
		first = detached
		return first != nil
	})
	first.Close() // it is not the Server's to close
	for range clients - most {
		for _, i := range open {
			conns[i].Close()
		}
		open = append(open[:0], testenv.Await(t, served, "a client to be served"))
	}
	s.Close()
	testrun.WaitAll(t, tasks...)
}

// answers has each connection echo a byte, and gives the number of each one
// that has.
func answers(t *testing.T, conns []net.Conn) <-chan int {
	served := make(chan int, len(conns))
	for i, c := range conns {
		go func() {
			io.WriteString(c, "x")
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
			served <- i
		}()
	}
	return served
}

// TestLimitWake: a place that becomes free while an Accept is about to wait for
// it is not missed. All clients have connected before, so that none wakes the
// Accept by coming.
func TestLimitWake(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		const clients = 100
		for range testenv.Rounds(8) {
			l := limitedOn(t, "unix", 1)
			var conns []net.Conn
			for range clients {
				conns = append(conns, dialLimited(t, l))
			}
			var next atomic.Pointer[socket.UnixConn]
			var closing sync.WaitGroup
			closing.Go(func() {
				for range clients {
					for next.Load() == nil {
						runtime.Gosched()
					}
					next.Swap(nil).Close()
				}
			})
			k := p.Go(func() {
				for range clients {
					c := testenv.Must(l.(*socket.UnixListener).AcceptUnix())
					next.Store(c)
				}
			})
			k.Wait(t)
			closing.Wait()
			for _, c := range conns {
				c.Close()
			}
			l.Close()
		}
	})
}

// mostConns is how many connections the Server may have, and how many fds there
// are for these and the other listener's.
const mostConns = 12

// waitedForBuffers is how often a caller has waited for a buffer.
func waitedForBuffers() (n uint64) {
	for _, p := range engine.Of(testenv.Must(netco.Default())).Processors() {
		n += p.BufferWaits()
	}
	return n
}

// outOfFiles is how often there was no fd for an accept.
func outOfFiles() (n uint64) {
	for _, p := range engine.Of(testenv.Must(netco.Default())).Processors() {
		n += p.IO().AcceptErrors[processor.AcceptFiles].Load()
	}
	return n
}

// slowEcho keeps a buffer for a while, the first one until another wants it.
func slowEcho(c *socket.ServerConn) error {
	b := socket.AcquireBuffer()
	defer b.Release()
	n, err := c.Read(b.Bytes())
	if err != nil {
		return err
	}
	for first := true; first || waitedForBuffers() == 0; first = false {
		netco.Sleep(100 * time.Microsecond)
	}
	if bytes.HasPrefix(b.Bytes()[:n], []byte("bomb")) {
		panic("a request that its handler cannot bear")
	}
	_, err = c.Write(b.Bytes()[:n])
	return err
}

// echoLines answers lines, by a Buffered that may find no buffer.
func echoLines(c net.Conn) {
	b := socket.NewBuffered(c.(*socket.TCPConn))
	defer b.Close()
	for {
		line, err := b.ReadSlice('\n')
		if err != nil {
			return
		}
		b.Write(line)
	}
}

// limited are the clients of a Server, and those of another listener, which
// starts a coroutine for each connection and turns a connection away if it
// cannot.
type limited struct {
	t             *testing.T
	server, other string
	away          atomic.Int64
}

// comesBack reports whether a line that c sends is echoed.
func comesBack(c net.Conn, line string) bool {
	io.WriteString(c, line)
	got, _ := bufio.NewReader(c).ReadString('\n')
	return got == line
}

func (l *limited) ask(address, line string) bool {
	c := dialNet(l.t, address)
	defer c.Close()
	c.SetDeadline(time.Now().Add(4 * limit))
	return comesBack(c, line)
}

func (l *limited) askOther(line string) {
	if !l.ask(l.other, line) {
		l.away.Add(1)
	}
}

// meet reaches each limit: the most connections that the Server may have take
// all fds, and one of them waits for another's buffer; then all coroutines are
// taken.
func (l *limited) meet() {
	held := make([]net.Conn, mostConns)
	for i := range held {
		held[i] = dialNet(l.t, l.server)
	}
	served := answers(l.t, held)
	for range held {
		testenv.Await(l.t, served, "a client to be served")
	}
	var waiting sync.WaitGroup
	waiting.Go(func() { l.askOther("waits for an fd\n") })
	testenv.Until(l.t, "no fd to be left", func() bool { return outOfFiles() > 0 })
	for _, c := range held {
		c.Close()
	}
	waiting.Wait()
	for more := true; more; {
		c := dialNet(l.t, l.other)
		defer c.Close()
		more = comesBack(c, "held\n")
	}
	l.away.Add(1)
}

// crowd has many clients ask at a time. The handlers of some panic.
func (l *limited) crowd() {
	const clients, rounds = 40, 3
	line := strings.Repeat("x", 3000) + "\n"
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for range rounds {
				if i == 0 {
					l.ask(l.server, "bomb\n")
				} else if !l.ask(l.server, line) {
					l.t.Error("the Server has turned a client away")
				}
			}
		})
		all.Go(func() {
			for range rounds {
				l.askOther(line)
			}
		})
	}
	all.Wait()
}

// TestAllLimits: more clients than connections, coroutines, buffers and fds
// allow, all at once. Every client of the Server is served in the end, those of
// the other listener are served or turned away, and nothing is left over.
func TestAllLimits(t *testing.T) {
	var panics, refused atomic.Int64
	startWith(t, netco.Options{Processors: 2, MaxCoroutines: 9, BufferMemory: 16 << 10,
		BufferSize: 16 << 10, OnPanic: func(netco.PanicInfo) { panics.Add(1) }})
	defer sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == sysx.Accept && sockinfo.OpenCount() >= mostConns+2 { // and the listeners
			return asked, syscall.EMFILE
		}
		return asked, 0
	})()
	pauses := sockinfo.AcceptPauses()
	server, _ := serving(t, &socket.Server{MaxConns: mostConns, Handle: slowEcho})
	other := listen(t)
	testrun.Second.Run(func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			if _, err := netco.Go(func() { echoLines(c) }); err != nil {
				testenv.Fails(t, err, netco.ErrTooManyCoroutines)
				refused.Add(1)
				c.Close()
			}
		}
	})
	clients := &limited{t: t, server: server, other: other.Addr().String()}
	clients.meet()
	clients.crowd()
	other.Close()
	testenv.Equal(t, refused.Load(), clients.away.Load(), "refused, and clients turned away")
	testenv.Equal(t, testenv.Must(netco.Default()).Refused(), uint64(refused.Load()), "counted")
	testenv.Equal(t, panics.Load(), 3, "panics")
	testenv.True(t, sockinfo.AcceptPauses() > pauses, "accepting did not pause")
	t.Logf("%d turned away; %d pauses, %d waits for buffers, %d for fds", refused.Load(),
		sockinfo.AcceptPauses()-pauses, waitedForBuffers(), outOfFiles())
}
