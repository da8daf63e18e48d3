package socket_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/profile"
	"github.com/netco-go/netco/socket"
)

// serving runs s on a listener of its own until the test ends; its connections'
// ends are sent to ends.
func serving(t *testing.T, s *socket.Server) (address string, ends chan error) {
	t.Helper()
	if s.Closed == nil {
		ends = reportEnds(s)
	}
	l := listen(t)
	k := testrun.First.Go(func() {
		if err := s.Serve(l); !errors.Is(err, net.ErrClosed) &&
			!errors.Is(err, socket.ErrServerClosed) && !errors.Is(err, netco.ErrShutdown) {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		s.Close()
		k.Wait(t)
	})
	return l.Addr().String(), ends
}

// echoOnce is a Handle that answers one read.
func echoOnce(c *socket.ServerConn) error {
	b := socket.AcquireBuffer()
	defer b.Release()
	n, err := c.Read(b.Bytes())
	if err != nil {
		return err
	}
	_, err = c.Write(b.Bytes()[:n])
	return err
}

func dialNet(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c := testenv.Closing(t, testenv.Must(net.Dial("tcp", address)))
	c.SetDeadline(time.Now().Add(limit))
	return c.(*net.TCPConn)
}

func exchange(t *testing.T, c net.Conn, text string) {
	t.Helper()
	testenv.Must(io.WriteString(c, text))
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("%q, %v; want %q", got, err, text)
	}
}

// gone checks that the Server has closed a client's connection and sent
// nothing.
func gone(t *testing.T, c net.Conn) {
	t.Helper()
	testenv.Gives(t, 0, io.EOF, "the client")(c.Read(make([]byte, 1)))
}

// untilIdle waits until no coroutine lives but that of Serve.
func untilIdle(t *testing.T) {
	t.Helper()
	testenv.Until(t, "all connections to be idle", func() bool { return live(t) == 1 })
}

// answer is a Handle's work: it reads n bytes and sends them back.
func answer(c *socket.ServerConn, n int) error {
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	return testenv.Err(c.Write(b))
}

// opening is an Opened that sends the connections on.
func opening(conns chan<- *socket.ServerConn) func(*socket.ServerConn) error {
	return func(c *socket.ServerConn) error { conns <- c; return nil }
}

// live returns how many coroutines live.
func live(t *testing.T) int {
	t.Helper()
	s := testenv.Must(netco.Default())
	return s.Live()
}

// TestServeNothing: a call without a Handle or a listener is a mistake.
func TestServeNothing(t *testing.T) {
	testenv.Panics(t, "without Handle", func() { new(socket.Server).Serve(nil) })
	testenv.Panics(t, "without a listener", func() {
		(&socket.Server{Handle: echoOnce}).Serve(nil)
	})
}

// TestServeIdle: idle connections have no coroutine, and each request gets one.
func TestServeIdle(t *testing.T) {
	start(t, 2)
	address, ends := serving(t, &socket.Server{Handle: echoOnce})
	var conns []*net.TCPConn
	for range 50 {
		conns = append(conns, dialNet(t, address))
	}
	for round := range 3 {
		for i, c := range conns {
			exchange(t, c, fmt.Sprint("round ", round, " connection ", i))
		}
		untilIdle(t)
	}
	for _, c := range conns {
		c.Close()
	}
	for range conns {
		testenv.Fails(t, testenv.Await(t, ends, "a connection's end"), io.EOF)
	}
}

// TestServeExactRead: a handler that reads no more than it needs, and so never
// finds the socket empty, still leaves the connection idle, and is called again
// for the rest.
func TestServeExactRead(t *testing.T) {
	start(t, 1)
	var calls atomic.Int32
	conns := make(chan *socket.ServerConn, 1)
	address, _ := serving(t, &socket.Server{
		Opened: opening(conns),
		Handle: func(c *socket.ServerConn) error {
			calls.Add(1)
			return answer(c, 4)
		},
	})
	c := dialNet(t, address)
	// data that comes while it is registered may make two events
	testenv.Await(t, conns, "the connection")
	untilIdle(t)
	exchange(t, c, "one.")
	untilIdle(t)
	exchange(t, c, "two.six.ten.")
	untilIdle(t)
	testenv.Equal(t, calls.Load(), 4, "calls for 4 requests")
}

// TestServeDataWithFIN: the end of the stream that comes in the same edge as
// data is seen.
func TestServeDataWithFIN(t *testing.T) {
	startLocked(t, 1)
	address, ends := serving(t, &socket.Server{Handle: echoOnce})
	for range 20 {
		c := dialNet(t, address)
		exchange(t, c, "warm")
		release := hog(t, 0)
		io.WriteString(c, "last")
		c.CloseWrite()
		release()
		testenv.Gives(t, "last", nil)(testenv.AsText(io.ReadAll(c)))
		testenv.Fails(t, testenv.Await(t, ends, "the end"), io.EOF)
	}
}

// TestServePlaces: requests of one connection run on one Processor, where none
// may move, and both Processors get connections.
func TestServePlaces(t *testing.T) {
	startLocked(t, 2)
	var on [2]atomic.Int32
	address, _ := serving(t, &socket.Server{Handle: func(c *socket.ServerConn) error {
		i := coroutine.Current().Executor().Host().(interface{ Index() int }).Index()
		if c.Value == nil {
			c.Value = i
			on[i].Add(1)
		} else if c.Value != i {
			t.Errorf("on Processor %d, then on %d", c.Value, i)
		}
		return echoOnce(c)
	}})
	for range 10 {
		c := dialNet(t, address)
		exchange(t, c, "a")
		exchange(t, c, "b")
	}
	testenv.True(t, on[0].Load() >= 3 && on[1].Load() >= 3, "%d and %d connections", on[0].Load(),
		on[1].Load())
}

// TestServeIdleTimeout: an idle connection is closed in time; a connection that
// is served or has something to read is not, however late its Processor is.
func TestServeIdleTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{50 * time.Millisecond, time.Nanosecond} {
		t.Run(timeout.String(), func(t *testing.T) {
			start(t, 2)
			s := &socket.Server{
				IdleTimeout: timeout,
				Handle: func(c *socket.ServerConn) error {
					netco.Sleep(timeout * 8 / 5) // busy for longer than the timeout
					return answer(c, 3)
				},
			}
			ends := reportEnds(s)
			a, c := withPeer(t)
			// before it is served: a client cannot be sure to come within the
			// timeout
			io.WriteString(c, "onetwo")
			testrun.First.Do(t, func() { testenv.NoError(t, s.ServeConn(a, nil)) })
			testenv.Fails(t, testenv.Await(t, ends, "the timeout"), os.ErrDeadlineExceeded)
			testenv.Gives(t, "onetwo", nil)(testenv.AsText(io.ReadAll(c)))
		})
	}
}

// TestServeIdleTimeoutAmidEdges: the deadline of IdleTimeout is not set while
// Handle runs, although an edge has come between setting it and waiting.
func TestServeIdleTimeoutAmidEdges(t *testing.T) {
	start(t, 1)
	s := &socket.Server{
		IdleTimeout: time.Hour,
		Handle: func(c *socket.ServerConn) error {
			testenv.True(t, !socket.IdleTimed(c), "Handle runs under the deadline of IdleTimeout")
			return answer(c, 1)
		},
	}
	a, c := withPeer(t)
	var missed atomic.Bool
	t.Cleanup(sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == sysx.PollFDs && !missed.Swap(true) {
			socket.MarkReadable(a) // the second request comes behind this check
			return asked, unix.EAGAIN
		}
		return asked, 0
	}))
	testenv.Must(io.WriteString(c, "xy"))
	testrun.First.Do(t, func() { testenv.NoError(t, s.ServeConn(a, nil)) })
	got := make([]byte, 2)
	_, err := io.ReadFull(c, got)
	testenv.Gives(t, "xy", nil)(string(got), err)
	s.Close()
	testenv.True(t, missed.Load(), "the socket was not checked between the two")
}

// TestServeSecondEdge: the goroutine poller also reports the edges of a
// connection that a goroutine has read. An edge that it reports after Handle
// has read the data does not have Handle called in vain.
func TestServeSecondEdge(t *testing.T) {
	start(t, 1)
	var calls atomic.Int32
	s := &socket.Server{Handle: func(c *socket.ServerConn) error {
		calls.Add(1)
		return echoOnce(c)
	}}
	a, c := withPeer(t)
	reader := testrun.Goroutine.Go(func() { testenv.Gives(t, 1, nil)(a.Read(make([]byte, 1))) })
	reader.UntilParked(t, coroutine.ReasonRead)
	testenv.Must(io.WriteString(c, "x"))
	reader.Wait(t)
	testrun.First.Do(t, func() { testenv.NoError(t, s.ServeConn(a, nil)) })
	exchange(t, c, "hello")
	p := engine.Of(testenv.Must(netco.Default())).Processors()[0]
	testenv.Until(t, "idleness", func() bool { return p.Watches() == 1 && live(t) == 0 })
	inject, polls := nth(sysx.PollFDs, 0, 0, 0)
	remove := sysx.Inject(inject)
	before := calls.Load()
	socket.MarkReadable(a)
	testenv.Until(t, "the edge to be met", func() bool {
		return polls.Load() > 0 || calls.Load() > before
	})
	remove()
	testenv.Equal(t, calls.Load(), before, "calls")
	s.Close()
}

// TestServeDeadline: a read deadline that the handler has set has Handle
// called, whose Read reports it. A deadline that another thread moves while the
// connection is idle counts from then on.
func TestServeDeadline(t *testing.T) {
	start(t, 2)
	conns := make(chan *socket.ServerConn, 1)
	address, ends := serving(t, &socket.Server{
		Opened: func(c *socket.ServerConn) error {
			conns <- c
			return c.SetReadDeadline(time.Now().Add(time.Hour))
		},
		Handle: echoOnce,
	})
	c := dialNet(t, address)
	exchange(t, c, "x")
	sc := testenv.Await(t, conns, "the connection")
	untilIdle(t)
	sc.SetReadDeadline(time.Now().Add(2 * time.Hour))
	untilIdle(t)
	exchange(t, c, "y")
	sc.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	failsIn(t, "read", testenv.Await(t, ends, "the deadline"), os.ErrDeadlineExceeded)
}

// TestServeClose: an idle connection is closed, on a Processor or not.
func TestServeClose(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		conns := make(chan *socket.ServerConn, 2)
		address, ends := serving(t, &socket.Server{Opened: opening(conns), Handle: echoOnce})
		for range 2 { // one on each Processor
			c := dialNet(t, address)
			exchange(t, c, "x")
			sc := testenv.Await(t, conns, "the connection")
			untilIdle(t)
			p.Do(t, func() { testenv.NoError(t, sc.Close()) })
			testenv.Fails(t, testenv.Await(t, ends, "the end"), net.ErrClosed)
			gone(t, c)
		}
	})
}

// TestServeReadElsewhere: a Read outside of Handle waits for its turn and gets
// the bytes that Handle leaves.
func TestServeReadElsewhere(t *testing.T) {
	start(t, 2)
	conns := make(chan *socket.ServerConn, 1)
	called := make(chan struct{})
	var once sync.Once
	address, _ := serving(t, &socket.Server{
		Opened: opening(conns),
		Handle: func(c *socket.ServerConn) error {
			once.Do(func() { close(called) })
			return nil // without reading: there is still something to read
		},
	})
	c := dialNet(t, address)
	sc := testenv.Await(t, conns, "the connection")
	untilIdle(t)
	k := testrun.Goroutine.Go(func() {
		readsText(t, sc, "hello")
		sc.Close()
	})
	io.WriteString(c, "hello")
	testenv.Await(t, called, "Handle")
	k.Wait(t)
}

// TestServeShutdown: Shutdown closes idle connections, waits for busy ones, and
// leaves the scheduler alone.
func TestServeShutdown(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		busy := make(chan struct{})
		var let atomic.Bool
		s := &socket.Server{Handle: func(c *socket.ServerConn) error {
			b := make([]byte, 4)
			if _, err := io.ReadFull(c, b); err != nil {
				return err
			}
			if string(b) == "wait" {
				for close(busy); !let.Load(); netco.Yield() {
				}
			}
			return testenv.Err(c.Write(b))
		}}
		address, ends := serving(t, s)
		idle, working := dialNet(t, address), dialNet(t, address)
		exchange(t, idle, "ping")
		io.WriteString(working, "wait")
		testenv.Await(t, busy, "the busy one")

		short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		p.Do(t, func() { testenv.Fails(t, s.Shutdown(short), context.DeadlineExceeded) })
		testenv.Fails(t, testenv.Await(t, ends, "the idle one's end"), socket.ErrServerClosed)
		k := p.Go(func() { testenv.NoError(t, s.Shutdown(context.Background())) })
		let.Store(true)
		k.Wait(t)
		testenv.Gives(t, "wait", nil)(testenv.AsText(io.ReadAll(working)))
		late, _ := pair(t)
		testenv.Fails(t, s.ServeConn(late, nil), socket.ErrServerClosed)
	})
}

// TestServeSchedulerShutdown: the scheduler's end closes idle connections, in
// order and by force, and waits for nothing.
func TestServeSchedulerShutdown(t *testing.T) {
	for _, from := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for end, shutdown := range map[string]func(*testing.T){
			"in order": func(t *testing.T) {
				testenv.NoError(t, netco.Shutdown(context.Background()))
			},
			"by force": func(t *testing.T) { testrun.Force(t) },
		} {
			t.Run(end+"/"+from.Name, func(t *testing.T) {
				testrun.Start(t, 2)
				s := &socket.Server{Handle: echoOnce}
				ends, l := reportEnds(s), listen(t)
				k := from.Go(func() { testenv.Fails(t, s.Serve(l), netco.ErrShutdown) })
				for range 20 {
					exchange(t, dialNet(t, l.Addr().String()), "x")
				}
				shutdown(t)
				k.Wait(t)
				// the end by force waits for some seconds only
				for range 20 {
					testenv.Fails(t, testenv.Await(t, ends, "an end"), netco.ErrShutdown)
				}
				testenv.Equal(t, len(ends), 0, "ends too many")
				untilOpen(t, 0)
			})
		}
	}
}

// TestServeHoldsRun: Run does not return while a connection is open that
// nothing but the Server knows.
func TestServeHoldsRun(t *testing.T) {
	start(t, 2)
	s := &socket.Server{Handle: echoOnce}
	ends := reportEnds(s)
	a, b := withPeer(t)
	ran := make(chan error, 1)
	go func() { ran <- netco.Run(func() { s.ServeConn(a, nil) }) }()
	for range 10 {
		exchange(t, b, "x")
		testenv.Equal(t, len(ran), 0, "Run returned, times")
	}
	b.Close()
	testenv.Await(t, ends, "the end")
	testenv.NoError(t, testenv.Await(t, ran, "Run"))
}

// TestServeDetach: a detached connection is the caller's.
func TestServeDetach(t *testing.T) {
	start(t, 2)
	mine := make(chan socket.Stream, 1)
	s := &socket.Server{Handle: func(c *socket.ServerConn) error {
		if err := echoOnce(c); err != nil {
			return err
		}
		mine <- c.Detach()
		return nil
	}}
	address, ends := serving(t, s)
	c := dialNet(t, address)
	exchange(t, c, "x")
	stream := testenv.Await(t, mine, "the connection")
	testenv.NoError(t, s.Shutdown(context.Background())) // does not wait for it
	k := testrun.Second.Go(func() {
		defer stream.Close()
		io.Copy(stream, stream)
	})
	exchange(t, c, "y")
	c.CloseWrite()
	k.Wait(t)
	testenv.Equal(t, len(ends), 0, "calls of Closed")
}

// TestServePanic: a handler that panics or ends its coroutine loses its
// connection and nothing else.
func TestServePanic(t *testing.T) {
	var panics atomic.Int32
	testenv.OK(t, netco.Start(netco.Options{Processors: 2, OnPanic: func(netco.PanicInfo) {
		panics.Add(1)
	}}))
	t.Cleanup(func() { netco.Shutdown(context.Background()) })
	address, ends := serving(t, &socket.Server{Handle: func(c *socket.ServerConn) error {
		var b [1]byte
		if _, err := c.Read(b[:]); err != nil {
			return err
		}
		switch b[0] {
		case 'p':
			panic("on purpose")
		case 'g':
			coroutine.Unwind()
		}
		return testenv.Err(c.Write(b[:]))
	}})
	good := dialNet(t, address)
	exchange(t, good, "x")
	for _, how := range []string{"p", "g"} {
		c := dialNet(t, address)
		io.WriteString(c, how)
		gone(t, c)
		testenv.NoError(t, testenv.Await(t, ends, "the end"))
	}
	exchange(t, good, "y")
	testenv.Until(t, "OnPanic", func() bool { return panics.Load() > 0 }) // after Closed
	testenv.Equal(t, panics.Load(), 1, "panics")
}

// TestServeOpened: an error of Opened closes the connection.
func TestServeOpened(t *testing.T) {
	start(t, 1)
	refused := errors.New("refused")
	address, ends := serving(t, &socket.Server{
		Opened: func(*socket.ServerConn) error { return refused },
		Handle: echoOnce,
	})
	gone(t, dialNet(t, address))
	testenv.Fails(t, testenv.Await(t, ends, "the end"), refused)
}

// closedFor checks that a client's connection has been closed or reset.
func closedFor(t *testing.T, c net.Conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d, %v: the connection is open", n, err)
	}
}

// hammered counts the calls for each connection of the hammer's Server.
type hammered struct {
	t              *testing.T
	opened, closed atomic.Int32
	mu             sync.Mutex
	ends           map[*socket.ServerConn]int // under mu
}

func (h *hammered) open(c *socket.ServerConn) error {
	h.opened.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends[c] = 0
	return nil
}

func (h *hammered) close(c *socket.ServerConn, _ error) {
	h.closed.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends[c]++
	testenv.Equal(h.t, h.ends[c], 1, "calls of Closed")
}

// meddle closes any connection, or moves its deadline.
func (h *hammered) meddle(rnd *rand.Rand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c, n := range h.ends {
		if n > 0 {
			continue
		}
		if rnd.IntN(10) == 0 {
			c.Close()
		} else {
			c.SetReadDeadline(time.Now().Add(time.Minute))
		}
		return
	}
}

// TestServeHammer: clients that speak in random pieces, close and reset at
// random, while others move deadlines and close connections from elsewhere.
// Every byte comes back in order, every connection is closed once, none is
// left.
func TestServeHammer(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	start(t, 2)
	h := &hammered{t: t, ends: map[*socket.ServerConn]int{}}
	s := &socket.Server{
		IdleTimeout: time.Minute,
		Opened:      h.open,
		Handle: func(c *socket.ServerConn) error {
			if c.Value = rand.N(3); c.Value == 0 {
				netco.Yield()
			}
			return echoOnce(c)
		},
		Closed: h.close,
	}
	address, _ := serving(t, s)
	stop := make(chan struct{})
	meddler := testrun.Goroutine.Go(func() {
		rnd := rand.New(rand.NewPCG(seed, 0))
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				h.meddle(rnd)
			}
		}
	})
	var clients sync.WaitGroup
	for id := range uint64(8) {
		clients.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, id+1))
			for range 25 {
				serveClient(t, rnd, address)
			}
		})
	}
	clients.Wait()
	close(stop)
	meddler.Wait(t)
	testenv.NoError(t, s.Shutdown(context.Background()))
	if o, c := h.opened.Load(), h.closed.Load(); o != c || o == 0 {
		t.Errorf("%d opened, %d closed", o, c)
	}
}

// TestServeShutdownWaitsForClosed: Shutdown returns when Closed has, however
// long that takes.
func TestServeShutdownWaitsForClosed(t *testing.T) {
	start(t, 2)
	var opened, closed atomic.Int32
	s := &socket.Server{
		Opened: func(*socket.ServerConn) error { opened.Add(1); return nil },
		Handle: echoOnce,
		Closed: func(*socket.ServerConn, error) {
			netco.Sleep(5 * time.Millisecond)
			closed.Add(1)
		},
	}
	address, _ := serving(t, s)
	testenv.Closing(t, testenv.Must(net.Dial("tcp", address)))
	testenv.Until(t, "the connection to be served", func() bool { return opened.Load() == 1 })
	testenv.NoError(t, s.Shutdown(context.Background()))
	testenv.Equal(t, closed.Load(), 1, "closed when Shutdown returned")
}

// serveClient is one connection of the hammer: it may be cut by the other side
// at any time.
func serveClient(t *testing.T, rnd *rand.Rand, address string) {
	c := testenv.Must(net.Dial("tcp", address))
	defer c.Close()
	c.SetDeadline(time.Now().Add(limit))
	sent := 0
	buf := make([]byte, 4096)
	for range rnd.IntN(20) {
		n := 1 + rnd.IntN(len(buf))
		fill(buf[:n], sent)
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
		if _, err := io.ReadFull(c, buf[:n]); err != nil {
			testenv.True(t, !errors.Is(err, os.ErrDeadlineExceeded), "an answer never came")
			return
		}
		if d := differs(buf[:n], sent); d != "" {
			t.Error(d)
			return
		}
		sent += n
	}
	if rnd.IntN(3) == 0 {
		c.(*net.TCPConn).SetLinger(0)
	}
}

// TestServeManyAtOnce: far more connections turn readable at once than
// coroutines begin at a time. Each is served once, and the Processor does not
// make a coroutine for each of those that wait.
func TestServeManyAtOnce(t *testing.T) {
	startLocked(t, 1)
	const n = 500
	var served atomic.Int32
	address, _ := serving(t, &socket.Server{Handle: func(c *socket.ServerConn) error {
		if served.Add(1)%7 == 0 {
			netco.Yield() // some let others begin before they end
		}
		return echoOnce(c)
	}})
	var conns []*net.TCPConn
	for range n {
		conns = append(conns, dialNet(t, address))
	}
	exchange(t, conns[n-1], "accepted") // and so all before it
	untilIdle(t)
	served.Store(0)
	p := engine.Of(testenv.Must(netco.Default())).Processors()[0]
	for range 3 {
		release := hog(t, 0)
		for i, c := range conns {
			fmt.Fprintf(c, "%03d", i)
		}
		release()
		most := uint64(0)
		for i, c := range conns {
			most = max(most, p.Live())
			var got [3]byte
			testenv.Must(io.ReadFull(c, got[:]))
			testenv.Equal(t, string(got[:]), fmt.Sprintf("%03d", i))
		}
		testenv.True(t, most <= 200, "%d coroutines at a time", most)
	}
	testenv.Equal(t, served.Load(), 3*n, "served")
}

// TestServerNames: a Server's coroutines have a name, the place where Serve was
// called, and a profiler label; other coroutines on their goroutines have none
// of these.
func TestServerNames(t *testing.T) {
	start(t, 1)
	defer profile.Labels()()
	for _, c := range []struct{ name, want string }{{"", "serve"}, {"answers", "answers"}} {
		seen := make(chan string, 8)
		see := func(*socket.ServerConn) error {
			co := coroutine.Current()
			file, _ := co.Site()
			var b bytes.Buffer
			pprof.Lookup("goroutine").WriteTo(&b, 1)
			label := strings.Contains(b.String(), fmt.Sprintf("{%q:%q}", "coroutine", c.want))
			seen <- fmt.Sprintf("%s at %s, label %v", co.Name(), filepath.Base(file), label)
			return nil
		}
		s := &socket.Server{Name: c.name, Opened: see}
		s.Handle = func(sc *socket.ServerConn) error {
			see(sc)
			return echoOnce(sc)
		}
		address, _ := serving(t, s)
		conn := dialNet(t, address)
		for range 3 {
			exchange(t, conn, "hello")
		}
		want := c.want + " at serve_test.go, label true"
		for range 4 {
			testenv.Equal(t, testenv.Await(t, seen, "a call"), want)
		}
		conn.Close()
	}
	plain := make(chan string, 1)
	netco.Go(func() { plain <- coroutine.Current().Name() })
	testenv.Equal(t, testenv.Await(t, plain, "a coroutine"), "",
		"a coroutine without a name is called")
}

// TestServerSpreads: connections that come at once are spread evenly, although
// none is registered when the next one is placed. No connection may move
// afterwards.
func TestServerSpreads(t *testing.T) {
	startLocked(t, 2)
	address, _ := serving(t, &socket.Server{Handle: echoOnce})
	ps := engine.Of(testenv.Must(netco.Default())).Processors()
	const n = 100
	before := ps[0].Registered() + ps[1].Registered()
	conns := make([]*net.TCPConn, n)
	var dialled sync.WaitGroup
	for i := range conns {
		dialled.Go(func() { conns[i] = dialNet(t, address) })
	}
	dialled.Wait()
	testenv.Until(t, "all to be registered", func() bool {
		return ps[0].Registered()+ps[1].Registered() >= before+n
	})
	if a, b := ps[0].Registered(), ps[1].Registered(); a-b > n/5 || b-a > n/5 {
		t.Errorf("%d and %d fds", a, b)
	}
	for _, c := range conns {
		exchange(t, c, "hello")
		c.Close()
	}
}

// serverCalls says how often a Server has called Opened and Closed.
type serverCalls struct{ opened, closed atomic.Int32 }

// countCalls makes s count its calls of Opened and Closed.
func countCalls(s *socket.Server) *serverCalls {
	n := new(serverCalls)
	s.Opened = func(*socket.ServerConn) error { n.opened.Add(1); return nil }
	s.Closed = func(*socket.ServerConn, error) { n.closed.Add(1) }
	return n
}

// check checks that Opened and Closed were each called so many times.
func (s *serverCalls) check(t *testing.T, want int32) {
	t.Helper()
	testenv.Equal(t, s.opened.Load(), want, "calls of Opened")
	testenv.Equal(t, s.closed.Load(), want, "calls of Closed")
}

// TestServeClosedIsOfOpened: Opened is called once for each connection, and
// then Closed, however a connection ends before its first coroutine has run. A
// connection that Close met so early had Closed without Opened, and later
// neither: a program that counts its connections by the two counted wrongly,
// and a program that had noted the connection before waited for its end for
// ever.
func TestServeClosedIsOfOpened(t *testing.T) {
	for _, c := range []struct {
		name string
		// in the coroutine that has just called ServeConn
		early func(s *socket.Server, c *socket.TCPConn)
	}{
		{"the Server is closed", func(s *socket.Server, _ *socket.TCPConn) { s.Close() }},
		{"the connection is closed", func(_ *socket.Server, c *socket.TCPConn) { c.Close() }},
		{"Shutdown of the Server", func(s *socket.Server, _ *socket.TCPConn) {
			s.Shutdown(testenv.Over())
		}},
	} {
		for home := range 2 { // where the connection is registered and gets its coroutine
			t.Run(fmt.Sprint(c.name, "/on ", home), func(t *testing.T) {
				startLocked(t, 2)
				s := &socket.Server{Handle: echoOnce}
				calls := countCalls(s)
				a, _ := withPeer(t)
				registerOn(t, a, home)
				release := func() {}
				if home == 1 {
					release = hog(t, 1)
				}
				testrun.First.Do(t, func() {
					testenv.NoError(t, s.ServeConn(a, nil))
					c.early(s, a)
				})
				release()
				emptied(t, s)
				calls.check(t, 1)
			})
		}
	}
}

// registerOn registers a connection with a Processor, by a wait that ends at
// once.
func registerOn(t *testing.T, c *socket.TCPConn, home int) {
	t.Helper()
	k := testrun.On(home).Go(func() { c.WaitReadable() })
	k.UntilParked(t, coroutine.ReasonRead)
	c.SetReadDeadline(time.Unix(1, 0))
	k.Wait(t)
	c.SetReadDeadline(time.Time{})
}

// emptied waits until a Server has no connections.
func emptied(t *testing.T, s *socket.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("connections are left: %v", err)
	}
}

// TestServeStoppedEarly: a connection's first coroutine is ended by force while
// it waits for another's Read of that connection. The connection
// ends with it and leaves the Server, whose Shutdown waited for it for ever.
func TestServeStoppedEarly(t *testing.T) {
	start(t, 2)
	s := &socket.Server{Name: "first of its connection", Handle: echoOnce}
	calls := countCalls(s)
	a, _ := withPeer(t)
	reader := testrun.First.Park(t, coroutine.ReasonRead, func() { a.Read(make([]byte, 1)) })
	testrun.First.Do(t, func() { testenv.NoError(t, s.ServeConn(a, nil)) })
	testenv.Until(t, "the first coroutine to be stopped", func() (stopped bool) {
		coroutine.Range(func(info coroutine.Info) bool {
			if info.Name == s.Name && info.State == coroutine.Waiting &&
				info.Reason == coroutine.ReasonLock {
				info.Coroutine.Handle().Stop()
				stopped = true
			}
			return !stopped
		})
		return stopped
	})
	emptied(t, s)
	reader.Wait(t)
	calls.check(t, 1)
}

// TestServeDetachOpened: Opened may take the connection from the Server, which
// went on to serve it, and closed it at its own end.
func TestServeDetachOpened(t *testing.T) {
	for _, refusal := range []error{nil, errors.New("refused")} {
		start(t, 1)
		taken := make(chan socket.Stream, 1)
		var calls atomic.Int32
		s := &socket.Server{
			Opened: func(c *socket.ServerConn) error { taken <- c.Detach(); return refusal },
			Handle: func(*socket.ServerConn) error { calls.Add(1); return nil },
			Closed: func(*socket.ServerConn, error) { calls.Add(1) },
		}
		a, peer := withPeer(t)
		testenv.OK(t, s.ServeConn(a, nil))
		own := testenv.Await(t, taken, "the connection")
		emptied(t, s)
		s.Close()
		k := testrun.First.Go(func() { echo(own) })
		exchange(t, peer, "hello")
		peer.Close()
		k.Wait(t)
		testenv.Equal(t, calls.Load(), 0, "calls for a connection that was taken")
		netco.Shutdown(context.Background())
	}
}

// outer is a listener around another, as programs have them for counting,
// logging or the PROXY protocol. Its type is not comparable.
type outer struct {
	net.Listener
	_ []string
}

// TestServeWrapped: however limited listeners are wrapped, Serve serves their
// connections, and each connection has one place under each limit. With a
// second limit around a first that wrapped a foreign listener, a connection
// came hidden in another type, and the first such connection ended Serve.
func TestServeWrapped(t *testing.T) {
	around := map[rune]func(net.Listener) net.Listener{
		'l': func(l net.Listener) net.Listener { return socket.LimitListener(l, 2) },
		'w': func(l net.Listener) net.Listener { return outer{Listener: l} },
		'e': func(l net.Listener) net.Listener {
			return struct{ *socket.TCPListener }{l.(*socket.TCPListener)}
		},
	}
	for _, layers := range []string{ // inner first: limited, wrapped, embedded
		"w", "l", "ll", "lw", "wl", "lwl", "wll", "wlwlw", "el", "lewl",
	} {
		for _, max := range []int{0, 2} {
			t.Run(fmt.Sprint(layers, "/MaxConns ", max), func(t *testing.T) {
				start(t, 2)
				all := []net.Listener{listen(t)}
				for i, layer := range layers {
					all = append(all, around[layer](all[i]))
				}
				l := all[len(all)-1]
				s := &socket.Server{Handle: echoOnce, MaxConns: max}
				k := testrun.First.Go(func() {
					testenv.Fails(t, s.Serve(l), socket.ErrServerClosed)
				})
				limits := max > 0 || slices.ContainsFunc(all[1:], socket.Limited)
				for range 3 {
					serveTwo(t, l.Addr().String(), limits)
				}
				testrun.First.Do(t, func() { s.Close() })
				k.Wait(t)
				emptied(t, s)
				for _, l := range all[1:] {
					if socket.Limited(l) {
						testenv.Until(t, "the places", func() bool { return socket.Places(l) == 0 })
					}
				}
			})
		}
	}
}

// loudConn has a Read of its own, as a TLS connection that embeds its socket
// would.
type loudConn struct{ *socket.TCPConn }

func (c loudConn) Read(p []byte) (int, error) { return c.TCPConn.Read(p) }

// wrappedListener is a listener of the user's around one of ours.
type wrappedListener struct {
	net.Listener
	wrap func(*socket.TCPConn) net.Conn
}

func (l wrappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.wrap(c.(*socket.TCPConn)), nil
}

// serveTwo has two connections served and, under a limit, a third when one of
// them is closed.
func serveTwo(t *testing.T, address string, limits bool) {
	t.Helper()
	first, second := dialNet(t, address), dialNet(t, address)
	defer first.Close()
	defer second.Close()
	exchange(t, first, "hello")
	exchange(t, second, "hello")
	if !limits {
		return
	}
	third := dialNet(t, address)
	defer third.Close()
	third.Write([]byte("x"))
	third.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	b := make([]byte, 1)
	testenv.Gives(t, 0, os.ErrDeadlineExceeded, "over the limit")(third.Read(b))
	third.SetReadDeadline(time.Now().Add(limit))
	first.Close()
	testenv.Gives(t, 1, nil, "a place is free")(third.Read(b))
}

// names checks that err contains what.
func names(t *testing.T, err error, what string) {
	t.Helper()
	testenv.True(t, err != nil && strings.Contains(strings.ToLower(err.Error()),
		strings.ToLower(what)), "%v; want an error that names %s", err, what)
}

// TestServeRefuses: a Server that was given a listener whose connections it
// cannot serve, for TLS or of package net, waited for a connection and ended
// with the first one; and it served a type around a connection past that type's
// own Read.
func TestServeRefuses(t *testing.T) {
	overTLS := func(l net.Listener) net.Listener { return tls.NewListener(l, new(tls.Config)) }
	for name, l := range map[string]func(t *testing.T) net.Listener{
		"tls": func(t *testing.T) net.Listener { return overTLS(listen(t)) },
		"limited tls": func(t *testing.T) net.Listener {
			return socket.LimitListener(overTLS(listen(t)), 1)
		},
		"net":          netListen,
		"tls over net": func(t *testing.T) net.Listener { return overTLS(netListen(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			bad := l(t)
			ended := make(chan error, 1)
			go func() { ended <- (&socket.Server{Handle: echoOnce}).Serve(bad) }()
			err := testenv.Await(t, ended, "the refusal") // without a connection
			names(t, err, "listener")
			if name != "net" {
				names(t, err, "netco/tls") // the cure
			}
			if c, err := bad.Accept(); err == nil {
				c.Close()
				t.Error("the listener is open")
			}
		})
	}
	t.Run("a listener of such", func(t *testing.T) {
		start(t, 1)
		for want, wrap := range map[string]func(*socket.TCPConn) net.Conn{
			"loudConn":  func(c *socket.TCPConn) net.Conn { return loudConn{c} },
			"netco/tls": func(c *socket.TCPConn) net.Conn { return tls.Server(c, new(tls.Config)) },
		} {
			address, ends := serveWrapped(t, wrap)
			c := dialNet(t, address)
			names(t, testenv.Await(t, ends, "the refusal"), want)
			closedFor(t, c)
		}
	})
	t.Run("ServeConn", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		names(t, (&socket.Server{Handle: echoOnce}).ServeConn(loudConn{c}, nil), "loudConn")
		closedFor(t, peer)
	})
	t.Run("NewBuffered", func(t *testing.T) {
		start(t, 1)
		c, packets := first(withPeer(t)), first(unixPair(t, "unixgram"))
		for _, bad := range []socket.Stream{loudConn{c}, &loudConn{c}, nil, packets} {
			func() {
				defer func() { names(t, fmt.Errorf("%v", recover()), "NewBuffered") }()
				socket.NewBuffered(bad)
			}()
		}
	})
	t.Run("not what it can serve", func(t *testing.T) {
		start(t, 1)
		address, _ := serveWrapped(t, func(c *socket.TCPConn) net.Conn { return c })
		exchange(t, dialNet(t, address), "served")
	})
}

func netListen(t *testing.T) net.Listener {
	t.Helper()
	return testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
}

// serveWrapped serves connections of a wrappedListener.
func serveWrapped(t *testing.T, wrap func(*socket.TCPConn) net.Conn) (address string,
	ends chan error) {
	t.Helper()
	l := listen(t)
	s := &socket.Server{Handle: echoOnce}
	ends = make(chan error, 1)
	testrun.First.Go(func() { ends <- s.Serve(&wrappedListener{l, wrap}) })
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), ends
}

// nth returns an Injector for one kind of call that lets pass calls through and
// then fails so many.
func nth(op sysx.Op, pass, failures int, errno syscall.Errno) (inject sysx.Injector,
	asked *atomic.Int32) {
	asked = new(atomic.Int32)
	return func(o sysx.Op, _, n int) (int, syscall.Errno) {
		if o == op {
			if i := int(asked.Add(1)) - 1; i >= pass && i < pass+failures {
				return n, errno
			}
		}
		return n, 0
	}, asked
}

// untilRest waits until the one listener waits, and so many connections of a
// Server are idle: all are registered, and none is about to be read.
func untilRest(t *testing.T, conns int) {
	t.Helper()
	s := testenv.Must(netco.Default())
	testenv.Until(t, "rest", func() bool {
		listeners, idle := 0, 0
		for _, p := range engine.Of(s).Processors() {
			sockinfo.Each(p, func(i sockinfo.Info) bool {
				if i.Listener && i.ReadWaiter != 0 {
					listeners++
				}
				if i.Idle {
					idle++
				}
				return true
			})
		}
		return listeners == 1 && idle == conns
	})
}

// failsAs checks that err wraps errno in net's form, with this text.
func failsAs(t *testing.T, err error, errno syscall.Errno, text string) {
	t.Helper()
	var op *net.OpError
	testenv.True(t, errors.Is(err, errno) && errors.As(err, &op) && err.Error() == text,
		"%v, want %s", err, text)
}

// besideFaults runs f beside a connection of s which must go on, and checks
// that f has left no more fds than those and that no end but those f took is
// reported.
func besideFaults(t *testing.T, s *socket.Server, left int,
	f func(address string, ends chan error)) {
	t.Helper()
	start(t, 2)
	address, ends := serving(t, s)
	other := dialNet(t, address)
	exchange(t, other, "before")
	untilRest(t, 1)
	fds := testenv.Files()
	f(address, ends)
	exchange(t, other, "after")
	testenv.Until(t, "the victims' fds to be closed", func() bool {
		return testenv.Files() <= fds+left
	})
	testenv.Equal(t, len(ends), 0, "ends too many")
}

// TestServerReadFault: a read error of one connection ends that connection, is
// reported once, by Handle's Read and by Closed, in net's form, and leaves no
// fd. Others go on.
func TestServerReadFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ECONNRESET, unix.ETIMEDOUT, unix.ENOBUFS,
		unix.EHOSTUNREACH} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			s := &socket.Server{Handle: echoOnce}
			besideFaults(t, s, 0, func(address string, ends chan error) {
				victim := dialNet(t, address)
				inject, _ := nth(sysx.Recv, 0, 1, errno)
				remove := sysx.Inject(inject)
				defer remove()
				victim.Write([]byte("x"))
				err := testenv.Await(t, ends, "the end")
				remove()
				failsAs(t, err, errno, fmt.Sprintf("read tcp %s->%s: read: %v", address,
					victim.LocalAddr(), errno))
				// the victim had not been read
				if _, err := io.ReadAll(victim); err != nil && !errors.Is(err, unix.ECONNRESET) {
					t.Errorf("the victim: %v", err)
				}
				victim.Close()
			})
		})
	}
}

// TestServerRegisterFault: a connection cannot be registered with epoll. It is
// closed, Closed has the reason, once; the others and the listener go on.
func TestServerRegisterFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOSPC, unix.ENOMEM} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(unix.ErrnoName(errno), timeout), func(t *testing.T) {
				s := &socket.Server{Handle: echoOnce, IdleTimeout: timeout}
				besideFaults(t, s, 2, func(address string, ends chan error) {
					inject, _ := nth(sysx.EpollCtl, 0, 3, errno)
					defer sysx.Inject(inject)()
					for range 3 {
						victim := dialNet(t, address)
						err := testenv.Await(t, ends, "the end")
						testenv.Fails(t, err, errno)
						testenv.Equal(t, fmt.Sprint(err), "epoll_ctl: "+errno.Error())
						gone(t, victim)
						victim.Close()
					}
					exchange(t, dialNet(t, address), "the next")
				})
			})
		}
	}
}

// TestListenerRegisterFault: the listener itself cannot be registered. Serve
// returns the error, in net's form, and has closed the listener.
func TestListenerRegisterFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOSPC, unix.ENOMEM} {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(unix.ErrnoName(errno)+"/"+network, func(t *testing.T) {
				start(t, 2)
				fds := testenv.Files()
				l := listenAny(t, network)
				inject, _ := nth(sysx.EpollCtl, 0, 1, errno)
				defer sysx.Inject(inject)()
				testrun.First.Do(t, func() {
					failsAs(t, (&socket.Server{Handle: echoOnce}).Serve(l), errno,
						fmt.Sprintf("accept %s %s: epoll_ctl: %v", network, l.Addr(), errno))
				})
				testenv.Fails(t, testenv.Err(l.Accept()), net.ErrClosed, "the listener")
				testenv.Until(t, "the fds", func() bool { return testenv.Files() <= fds })
			})
		}
	}
}

// TestAcceptBacksOff: for want of an fd or of memory accept is tried after 1
// ms, 2, 4 and so on up to 100, counted anew after a success; it does not spin,
// and the connections that are there are served meanwhile.
func TestAcceptBacksOff(t *testing.T) {
	for k, errno := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM} {
		tries, least := 9, (1+2+4+8+16+32+64+100+100)*time.Millisecond
		if k > 0 { // they are treated alike
			tries, least = 5, (1+2+4+8+16)*time.Millisecond
		}
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			start(t, 1)
			address, _ := serving(t, &socket.Server{Handle: echoOnce})
			first := dialNet(t, address)
			exchange(t, first, "before")
			for round := range 2 {
				inject, tried := nth(sysx.Accept, 0, tries, errno)
				remove := sysx.Inject(inject)
				began := time.Now()
				next := dialNet(t, address)
				for int(tried.Load()) < tries {
					exchange(t, first, "meanwhile")
					time.Sleep(time.Millisecond)
				}
				exchange(t, next, "at last")
				took := time.Since(began)
				remove()
				testenv.True(t, took >= least, "round %d: %d tries in %v, want them to take %v",
					round, tries+1, took, least)
			}
		})
	}
}

// TestHangupWithData: the end of the connection, or its reset, comes in the
// same event as the last data, because the Processor was busy. All of the data
// is read first, in whatever pieces, then the end is reported, once for what is
// not EOF.
func TestHangupWithData(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, reset := range []bool{false, true} {
			for _, most := range []int{1 << 20, 7} { // by one call
				for _, size := range []int{1 << 20, 100, 1} { // of the reader's buffer
					t.Run(fmt.Sprint(network, " reset ", reset, " ", most, " ", size),
						func(t *testing.T) { hangUpWithData(t, network, reset, most, size) })
				}
			}
		}
	}
}

func hungUp(fd int) bool {
	return testenv.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}, 0) > 0
}

func hangUpWithData(t *testing.T, network string, reset bool, most, size int) {
	const total = 5000
	startLocked(t, 1)
	c, peer := netcoPair(t, network)
	fd := diffFD(c)
	end := io.EOF
	if reset {
		end = unix.ECONNRESET
	}
	reader := testrun.First.Park(t, coroutine.ReasonRead, func() {
		var got []byte
		buf := make([]byte, size)
		var err error
		for n := 0; err == nil; got = append(got, buf[:n]...) {
			n, err = c.Read(buf)
		}
		testenv.Fails(t, err, end, "the end")
		if d := differs(got, 0); len(got) != total || d != "" {
			t.Errorf("%d bytes of %d %s", len(got), total, d)
		}
		testenv.Fails(t, testenv.Err(c.Read(buf)), io.EOF, "after the end")
	})
	defer sysx.Inject(func(op sysx.Op, at, asked int) (int, syscall.Errno) {
		if op == sysx.Recv && at == fd {
			return min(asked, most), 0
		}
		return asked, 0
	})()
	release := hog(t, 0)
	testenv.Must(unix.Write(diffFD(peer), pattern(total)))
	testenv.Until(t, "the data", func() bool { return queuedOr0(fd) == total })
	switch {
	case reset && network == "tcp":
		peer.(diffTCP).SetLinger(0)
	case reset: // so it is one that has not read everything
		unix.Write(fd, []byte("unread"))
	}
	peer.Close()
	testenv.Until(t, "the end", func() bool { return hungUp(fd) })
	release()
	reader.Wait(t)
}
