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
	ends = make(chan error, 1<<12)
	if s.Closed == nil {
		s.Closed = func(_ *socket.ServerConn, err error) { ends <- err }
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

// live returns how many coroutines live.
func live(t *testing.T) int {
	t.Helper()
	s := testenv.Must(netco.Default())
	return s.Live()
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
		// the one that accepts
		testenv.Until(t, "all connections to be idle", func() bool { return live(t) == 1 })
	}
	for _, c := range conns {
		c.Close()
	}
	for range conns {
		if err := testenv.Await(t, ends, "a connection's end"); err != io.EOF {
			t.Errorf("ended by %v", err)
		}
	}
}

// TestServeExactRead: a handler that reads just what it needs, and so never
// finds the socket empty, still leaves the connection idle, and is called again
// for what is there.
func TestServeExactRead(t *testing.T) {
	start(t, 1)
	var calls atomic.Int32
	opened := make(chan struct{})
	address, _ := serving(t, &socket.Server{
		Opened: func(*socket.ServerConn) error { close(opened); return nil },
		Handle: func(c *socket.ServerConn) error {
			calls.Add(1)
			var b [4]byte
			if _, err := io.ReadFull(c, b[:]); err != nil {
				return err
			}
			_, err := c.Write(b[:])
			return err
		},
	})
	c := dialNet(t, address)
	// data that comes while it is registered may make two events
	testenv.Await(t, opened, "the connection")
	testenv.Until(t, "idle", func() bool { return live(t) == 1 })
	exchange(t, c, "one.")
	testenv.Until(t, "idle", func() bool { return live(t) == 1 })
	exchange(t, c, "two.six.ten.")
	testenv.Until(t, "idle", func() bool { return live(t) == 1 })
	if n := calls.Load(); n != 4 {
		t.Errorf("%d calls for 4 requests", n)
	}
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
		if got, err := io.ReadAll(c); string(got) != "last" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := testenv.Await(t, ends, "the end"); err != io.EOF {
			t.Errorf("ended by %v", err)
		}
	}
}

// TestServePlaces: requests of one connection run on one Processor, and both
// Processors get connections.
func TestServePlaces(t *testing.T) {
	start(t, 2)
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
	if on[0].Load() < 3 || on[1].Load() < 3 {
		t.Errorf("%d and %d connections", on[0].Load(), on[1].Load())
	}
}

// TestServeIdleTimeout: an idle connection is closed in time, one that is
// served or has something to read is not, however late its Processor is.
func TestServeIdleTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{50 * time.Millisecond, time.Nanosecond} {
		t.Run(timeout.String(), func(t *testing.T) {
			start(t, 2)
			ends := make(chan error, 1)
			s := &socket.Server{
				IdleTimeout: timeout,
				Handle: func(c *socket.ServerConn) error {
					netco.Sleep(timeout * 8 / 5) // busy for longer than the timeout
					var b [3]byte
					if _, err := io.ReadFull(c, b[:]); err != nil {
						return err
					}
					_, err := c.Write(b[:])
					return err
				},
				Closed: func(_ *socket.ServerConn, err error) { ends <- err },
			}
			a, c := withPeer(t)
			// before it is served: a client cannot be sure to come within the
			// timeout
			io.WriteString(c, "onetwo")
			testrun.First.Do(t, func() {
				testenv.NoError(t, s.ServeConn(a))
			})
			if err := testenv.Await(t, ends, "the timeout"); !errors.Is(err,
				os.ErrDeadlineExceeded) {
				t.Errorf("ended by %v", err)
			}
			if got, err := io.ReadAll(c); string(got) != "onetwo" || err != nil {
				t.Errorf("the client reads %q, %v", got, err)
			}
		})
	}
}

// TestServeDeadline: a read deadline that the handler has set calls it, its
// Read reports it; moved by another thread while idle it counts from then on.
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
	testenv.Until(t, "idle", func() bool { return live(t) == 1 })
	sc.SetReadDeadline(time.Now().Add(2 * time.Hour))
	testenv.Until(t, "idle again", func() bool { return live(t) == 1 })
	exchange(t, c, "y")
	sc.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	err := testenv.Await(t, ends, "the deadline")
	var op *net.OpError
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("ended by %v", err)
	}
}

// TestServeClose: an idle connection is closed, on a Processor or not.
func TestServeClose(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			conns := make(chan *socket.ServerConn, 2)
			address, ends := serving(t, &socket.Server{
				Opened: func(c *socket.ServerConn) error { conns <- c; return nil },
				Handle: echoOnce,
			})
			for range 2 { // one on each Processor
				c := dialNet(t, address)
				exchange(t, c, "x")
				sc := testenv.Await(t, conns, "the connection")
				testenv.Until(t, "idle", func() bool { return live(t) == 1 })
				p.Do(t, func() {
					testenv.NoError(t, sc.Close())
				})
				if err := testenv.Await(t, ends, "the end"); !errors.Is(err, net.ErrClosed) {
					t.Errorf("ended by %v", err)
				}
				if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("the client reads %d, %v", n, err)
				}
			}
		})
	}
}

// TestServeReadElsewhere: a Read outside of Handle waits for its turn and sees
// what Handle leaves.
func TestServeReadElsewhere(t *testing.T) {
	start(t, 2)
	conns := make(chan *socket.ServerConn, 1)
	called := make(chan struct{})
	address, _ := serving(t, &socket.Server{
		Opened: func(c *socket.ServerConn) error { conns <- c; return nil },
		Handle: func(c *socket.ServerConn) error {
			select {
			case <-called:
			default:
				close(called)
			}
			return nil // without reading: there is still something to read
		},
	})
	c := dialNet(t, address)
	sc := testenv.Await(t, conns, "the connection")
	testenv.Until(t, "idle", func() bool { return live(t) == 1 })
	k := testrun.Goroutine.Go(func() {
		buf := make([]byte, 8)
		if n, err := sc.Read(buf); string(buf[:n]) != "hello" || err != nil {
			t.Errorf("%q, %v", buf[:n], err)
		}
		sc.Close()
	})
	io.WriteString(c, "hello")
	testenv.Await(t, called, "Handle")
	k.Wait(t)
}

// TestServeShutdown: Shutdown closes what is idle, waits for what is busy, and
// leaves the scheduler alone.
func TestServeShutdown(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		busy, let := make(chan struct{}), make(chan struct{})
		s := &socket.Server{Handle: func(c *socket.ServerConn) error {
			var b [4]byte
			if _, err := io.ReadFull(c, b[:]); err != nil {
				return err
			}
			if string(b[:]) == "wait" {
				close(busy)
				for open := true; open; netco.Yield() {
					select {
					case <-let:
						open = false
					default:
					}
				}
			}
			_, err := c.Write(b[:])
			return err
		}}
		address, ends := serving(t, s)
		idle, working := dialNet(t, address), dialNet(t, address)
		exchange(t, idle, "ping")
		io.WriteString(working, "wait")
		testenv.Await(t, busy, "the busy one")

		short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		p.Do(t, func() {
			if err := s.Shutdown(short); err != context.DeadlineExceeded {
				t.Errorf("Shutdown: %v", err)
			}
		})
		if err := testenv.Await(t, ends, "the idle one's end"); err != socket.ErrServerClosed {
			t.Errorf("ended by %v", err)
		}
		k := p.Go(func() {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
		close(let)
		k.Wait(t)
		if got, err := io.ReadAll(working); string(got) != "wait" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := s.ServeConn(func() socket.Stream {
			a, _ := pair(t)
			return a
		}()); err != socket.ErrServerClosed {
			t.Errorf("ServeConn: %v", err)
		}
	})
}

// TestServeSchedulerShutdown: the scheduler's end closes idle connections, in
// order and by force, and waits for nothing.
func TestServeSchedulerShutdown(t *testing.T) {
	for _, forced := range []bool{false, true} {
		for _, from := range []testrun.Place{testrun.First, testrun.Goroutine} {
			t.Run(fmt.Sprint(forced, "/", from.Name), func(t *testing.T) {
				startAlone(t, 2)
				var ends atomic.Int32
				s := &socket.Server{Handle: echoOnce, Closed: func(_ *socket.ServerConn,
					err error) {
					if !errors.Is(err, netco.ErrShutdown) {
						t.Errorf("ended by %v", err)
					}
					ends.Add(1)
				}}
				l := listen(t)
				k := from.Go(func() {
					if err := s.Serve(l); !errors.Is(err, netco.ErrShutdown) {
						t.Errorf("Serve: %v", err)
					}
				})
				for range 20 {
					exchange(t, dialNet(t, l.Addr().String()), "x")
				}
				if forced {
					force(t)
				} else {
					testenv.NoError(t, netco.Shutdown(context.Background()))
				}
				k.Wait(t)
				// the end by force waits for some seconds only
				testenv.Until(t, "all to be closed", func() bool { return ends.Load() >= 20 })
				if n := ends.Load(); n != 20 {
					t.Errorf("%d of 20 were closed", n)
				}
				noneOpen(t)
			})
		}
	}
}

// TestServeHoldsRun: Run does not return while a connection is open that
// nothing but the Server knows.
func TestServeHoldsRun(t *testing.T) {
	start(t, 2)
	ends := make(chan error, 1)
	s := &socket.Server{Handle: echoOnce, Closed: func(_ *socket.ServerConn, err error) {
		ends <- err
	}}
	a, b := withPeer(t)
	ran := make(chan error, 1)
	go func() { ran <- netco.Run(func() { s.ServeConn(a) }) }()
	for range 10 {
		exchange(t, b, "x")
		select {
		case err := <-ran:
			t.Fatalf("Run returned: %v", err)
		default:
		}
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
	if err := s.Shutdown(context.Background()); err != nil { // does not wait for it
		t.Error(err)
	}
	k := testrun.Second.Go(func() {
		defer stream.Close()
		io.Copy(stream, stream)
	})
	exchange(t, c, "y")
	c.CloseWrite()
	k.Wait(t)
	select {
	case err := <-ends:
		t.Errorf("Closed was called: %v", err)
	default:
	}
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
		_, err := c.Write(b[:])
		return err
	}})
	good := dialNet(t, address)
	exchange(t, good, "x")
	for _, how := range []string{"p", "g"} {
		c := dialNet(t, address)
		io.WriteString(c, how)
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if err := testenv.Await(t, ends, "the end"); err != nil {
			t.Errorf("ended by %v", err)
		}
	}
	exchange(t, good, "y")
	// after Closed
	testenv.Until(t, "the panic to be told of", func() bool { return panics.Load() > 0 })
	if panics.Load() != 1 {
		t.Errorf("%d panics", panics.Load())
	}
}

// TestServeOpened: an error of Opened closes the connection.
func TestServeOpened(t *testing.T) {
	start(t, 1)
	refused := errors.New("refused")
	address,
		ends := serving(t, &socket.Server{Handle: echoOnce, Opened: func(*socket.ServerConn) error {
		return refused
	}})
	c := dialNet(t, address)
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
	if err := testenv.Await(t, ends, "the end"); err != refused {
		t.Errorf("ended by %v", err)
	}
}

// TestServeBadListener: a listener of another package's connections is refused,
// with its connection closed.
func TestServeBadListener(t *testing.T) {
	start(t, 1)
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	c := dialNet(t, l.Addr().String())
	if err := (&socket.Server{Handle: echoOnce}).Serve(l); err == nil {
		t.Error("no error")
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
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
	var (
		mu     sync.Mutex
		known  = map[*socket.ServerConn]int{}
		opened atomic.Int32
		closed atomic.Int32
	)
	s := &socket.Server{
		IdleTimeout: time.Minute,
		Opened: func(c *socket.ServerConn) error {
			opened.Add(1)
			mu.Lock()
			defer mu.Unlock()
			known[c] = 0
			return nil
		},
		Handle: func(c *socket.ServerConn) error {
			if c.Value = rand.N(3); c.Value == 0 {
				netco.Yield()
			}
			return echoOnce(c)
		},
		Closed: func(c *socket.ServerConn, _ error) {
			closed.Add(1)
			mu.Lock()
			defer mu.Unlock()
			if known[c]++; known[c] != 1 {
				t.Errorf("closed %d times", known[c])
			}
		},
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
			}
			mu.Lock()
			for c, n := range known { // any
				if n == 0 {
					if rnd.IntN(10) == 0 {
						c.Close()
					} else {
						c.SetReadDeadline(time.Now().Add(time.Minute))
					}
					break
				}
			}
			mu.Unlock()
		}
	})
	var clients sync.WaitGroup
	for id := range 8 {
		clients.Add(1)
		go func() {
			defer clients.Done()
			rnd := rand.New(rand.NewPCG(seed, uint64(id)+1))
			for range 25 {
				serveClient(t, rnd, address)
			}
		}()
	}
	clients.Wait()
	close(stop)
	meddler.Wait(t)
	testenv.NoError(t, s.Shutdown(context.Background()))
	if o, c := opened.Load(), closed.Load(); o != c || o == 0 {
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
	if closed.Load() != 1 {
		t.Errorf("%d closed when Shutdown returned", closed.Load())
	}
}

// serveClient is one connection of the hammer: it may be cut by the other side
// at any time.
func serveClient(t *testing.T, rnd *rand.Rand, address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
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
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("an answer never came")
			}
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

// TestServeAllocs: a request on an idle connection allocates nothing.
func TestServeAllocs(t *testing.T) {
	testenv.NoRace(t)
	start(t, 1)
	l := listen(t)
	s := &socket.Server{Handle: echoOnce}
	k := testrun.First.Go(func() { s.Serve(l) })
	fd := rawClient(t, l)
	buf := make([]byte, 64)
	once := func() {
		unix.Write(fd, buf)
		unix.Read(fd, buf)
	}
	for range 100 {
		once()
	}
	if n := testing.AllocsPerRun(1000, once); n > 0 {
		t.Errorf("%v allocations", n)
	}
	s.Close()
	k.Wait(t)
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
	testenv.Until(t, "all to be idle", func() bool { return live(t) == 1 })
	served.Store(0)
	s := testenv.Must(netco.Default())
	p := engine.Of(s).Processors()[0]
	for range 3 {
		release := hog(t, 0)
		for i, c := range conns {
			fmt.Fprintf(c, "%03d", i)
		}
		release()
		most := uint64(0)
		for i, c := range conns {
			most = max(most, p.Coroutines().Live.Load())
			var got [3]byte
			if _, err := io.ReadFull(c, got[:]); err != nil ||
				string(got[:]) != fmt.Sprintf("%03d", i) {
				t.Fatalf("connection %d: %q, %v", i, got, err)
			}
		}
		if most > 200 {
			t.Errorf("%d coroutines at a time", most)
		}
	}
	if got := served.Load(); got != 3*n {
		t.Errorf("%d served of %d", got, 3*n)
	}
}

// TestServerNames: who looks at a Server's coroutines sees what they are: a
// name, where Handle stands, a profiler label; and what else runs on their
// goroutines has none of it.
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
			if got := testenv.Await(t, seen, "a call"); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		conn.Close()
	}
	plain := make(chan string, 1)
	netco.Go(func() { plain <- coroutine.Current().Name() })
	if got := testenv.Await(t, plain, "a coroutine"); got != "" {
		t.Errorf("a coroutine without a name is called %q", got)
	}
}

// TestServerSpreads: connections that come at once are spread evenly, although
// none is registered when the next is placed.
func TestServerSpreads(t *testing.T) {
	start(t, 2)
	address, _ := serving(t, &socket.Server{Handle: echoOnce})
	s := testenv.Must(netco.Default())
	count := func() (a, b int) {
		return engine.Of(s).Processors()[0].Registered(), engine.Of(s).Processors()[1].Registered()
	}
	a, b := count()
	const n = 100
	before := a + b
	conns := make([]net.Conn, n)
	var dialled []*testrun.Task
	for i := range conns {
		dialled = append(dialled, testrun.Goroutine.Go(func() {
			c, err := net.DialTimeout("tcp", address, 10*time.Second)
			if err != nil {
				t.Error(err)
				return
			}
			conns[i] = c
		}))
	}
	testrun.WaitAll(t, dialled...)
	testenv.Until(t, "all to be registered", func() bool {
		a, b := count()
		return a+b >= before+n
	})
	if a, b = count(); a-b > n/5 || b-a > n/5 {
		t.Errorf("%d and %d fds", a, b)
	}
	for _, c := range conns {
		if c != nil {
			exchange(t, c, "hello")
			c.Close()
		}
	}
}

// TestServeClosedIsOfOpened: Closed is called once for each connection that
// Opened was called for, and for no other, however a connection ends before its
// first coroutine has run. One that Close met so early had Closed without
// Opened, so that a program that counts its connections by the two counted
// below zero.
func TestServeClosedIsOfOpened(t *testing.T) {
	for _, c := range []struct {
		name   string
		opened int32
		// in the coroutine that has just called ServeConn
		early func(s *socket.Server, c *socket.TCPConn)
	}{
		{"the Server is closed", 0, func(s *socket.Server, _ *socket.TCPConn) { s.Close() }},
		{"the connection is closed", 0, func(_ *socket.Server, c *socket.TCPConn) { c.Close() }},
		{"Shutdown of the Server", 1, func(s *socket.Server, _ *socket.TCPConn) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			s.Shutdown(ctx)
		}},
	} {
		for home := range 2 { // where the connection is registered and gets its coroutine
			t.Run(c.name, func(t *testing.T) {
				startLocked(t, 2)
				var opened, closed atomic.Int32
				s := &socket.Server{
					Opened: func(*socket.ServerConn) error { opened.Add(1); return nil },
					Handle: echoOnce,
					Closed: func(*socket.ServerConn, error) { closed.Add(1) },
				}
				a, _ := withPeer(t)
				registerOn(t, a, home)
				release := func() {}
				if home == 1 {
					release = hog(t, 1)
				}
				testrun.First.Do(t, func() {
					testenv.NoError(t, s.ServeConn(a))
					c.early(s, a)
				})
				release()
				emptied(t, s)
				if opened.Load() != c.opened || closed.Load() != c.opened {
					t.Errorf("Opened was called %d times and Closed %d, want %d", opened.Load(),
						closed.Load(), c.opened)
				}
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

// TestServeStoppedBeforeOpened: a connection's first coroutine is ended by
// force while it waits for another's Read of that connection. The connection
// ends with it and leaves the Server, whose Shutdown waited for it for ever.
func TestServeStoppedBeforeOpened(t *testing.T) {
	start(t, 2)
	var opened, closed atomic.Int32
	s := &socket.Server{
		Name:   "first of its connection",
		Opened: func(*socket.ServerConn) error { opened.Add(1); return nil },
		Handle: echoOnce,
		Closed: func(*socket.ServerConn, error) { closed.Add(1) },
	}
	a, _ := withPeer(t)
	reader := testrun.First.Go(func() { a.Read(make([]byte, 1)) })
	reader.UntilParked(t, coroutine.ReasonRead)
	testrun.First.Do(t, func() {
		testenv.NoError(t, s.ServeConn(a))
	})
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
	if opened.Load() != 0 || closed.Load() != 0 {
		t.Errorf("Opened was called %d times and Closed %d", opened.Load(), closed.Load())
	}
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
		testenv.OK(t, s.ServeConn(a))
		own := testenv.Await(t, taken, "the connection")
		emptied(t, s)
		s.Close()
		k := testrun.First.Go(func() { echo(own) })
		exchange(t, peer, "hello")
		peer.Close()
		k.Wait(t)
		if calls.Load() != 0 {
			t.Errorf("%d calls for a connection that was taken", calls.Load())
		}
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
// connections, and each of them has one place under each limit. With a second
// limit around a first that wrapped no listener of this package, a connection
// came hidden in another type, and the first of them ended Serve.
func TestServeWrapped(t *testing.T) {
	limited := func(l net.Listener) net.Listener { return socket.LimitListener(l, 2) }
	wrapped := func(l net.Listener) net.Listener { return outer{Listener: l} }
	embedded := func(l net.Listener) net.Listener {
		return struct{ *socket.TCPListener }{l.(*socket.TCPListener)}
	}
	type layers []func(net.Listener) net.Listener
	for _, c := range []struct {
		name   string
		layers layers
	}{
		{"wrapped", layers{wrapped}},
		{"limited", layers{limited}},
		{"limited twice", layers{limited, limited}},
		{"limited, wrapped", layers{limited, wrapped}},
		{"wrapped, limited", layers{wrapped, limited}},
		{"limited, wrapped, limited", layers{limited, wrapped, limited}},
		{"wrapped, limited twice", layers{wrapped, limited, limited}},
		{"wrapped, limited, wrapped, limited, wrapped", layers{wrapped, limited, wrapped, limited,
			wrapped}},
		{"embedded, limited", layers{embedded, limited}},
		{"limited, embedded, wrapped, limited", layers{limited, embedded, wrapped, limited}},
	} {
		for _, max := range []int{0, 2} {
			t.Run(c.name, func(t *testing.T) {
				start(t, 2)
				var l net.Listener = listen(t)
				limits := max > 0
				var all []net.Listener
				for _, layer := range c.layers {
					l = layer(l)
					all = append(all, l)
					limits = limits || socket.Limited(l)
				}
				s := &socket.Server{Handle: echoOnce, MaxConns: max}
				k := testrun.First.Go(func() {
					if err := s.Serve(l); !errors.Is(err, socket.ErrServerClosed) {
						t.Errorf("Serve: %v", err)
					}
				})
				for range 3 {
					first, second := dialNet(t, l.Addr().String()), dialNet(t, l.Addr().String())
					exchange(t, first, "hello")
					exchange(t, second, "hello")
					if limits {
						third := dialNet(t, l.Addr().String())
						third.Write([]byte("x"))
						third.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
						if n, err := third.Read(make([]byte, 1)); err == nil {
							t.Errorf("%d bytes from one more than the limit", n)
						}
						third.SetReadDeadline(time.Now().Add(limit))
						first.Close()
						if _, err := third.Read(make([]byte, 1)); err != nil {
							t.Errorf("it gets no place when another is closed: %v", err)
						}
						third.Close()
					}
					first.Close()
					second.Close()
				}
				testrun.First.Go(func() { s.Close() }).Wait(t)
				k.Wait(t)
				emptied(t, s)
				for _, l := range all {
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

// TestServeRefuses: a Server that was given a listener whose connections it
// cannot serve, for TLS or of package net, waited for a connection and ended
// with the first one; and it served a type around a connection past that type's
// own Read.
func TestServeRefuses(t *testing.T) {
	for name, l := range map[string]func(t *testing.T) net.Listener{
		"tls": func(t *testing.T) net.Listener {
			return tls.NewListener(listen(t), new(tls.Config))
		},
		"limited tls": func(t *testing.T) net.Listener {
			return socket.LimitListener(tls.NewListener(listen(t), new(tls.Config)), 1)
		},
		"net": func(t *testing.T) net.Listener { return netListen(t) },
		"tls over net": func(t *testing.T) net.Listener {
			return tls.NewListener(netListen(t), new(tls.Config))
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			bad := l(t)
			ended := make(chan error, 1)
			go func() { ended <- (&socket.Server{Handle: echoOnce}).Serve(bad) }()
			err := testenv.Await(t, ended, "the refusal") // without a connection
			if err == nil || !strings.Contains(err.Error(), "listener") &&
				!strings.Contains(err.Error(), "Listener") {
				t.Errorf("%v; want an error that names the listener", err)
			}
			if err != nil && name != "net" && !strings.Contains(err.Error(), "netco/tls") {
				t.Errorf("%v; want an error that names the cure", err)
			}
			if c, err := bad.Accept(); err == nil {
				c.Close()
				t.Error("the listener is open")
			}
		})
	}
	t.Run("a listener of such", serveRefusesAListenerOfSuch)
	t.Run("ServeConn", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		if err := (&socket.Server{Handle: echoOnce}).ServeConn(loudConn{c}); err == nil ||
			!strings.Contains(err.Error(), "loudConn") {
			t.Errorf("%v; want an error that names the type", err)
		}
		if n, err := peer.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("%d, %v: the connection is open", n, err)
		}
	})
	t.Run("NewBuffered", func(t *testing.T) {
		start(t, 1)
		c, _ := withPeer(t)
		for _, bad := range []socket.Stream{loudConn{c}, &loudConn{c}, nil} {
			func() {
				defer func() {
					if p, ok := recover().(string); !ok || !strings.Contains(p, "NewBuffered") {
						t.Errorf("NewBuffered(%T): %v", bad, p)
					}
				}()
				socket.NewBuffered(bad)
			}()
		}
	})
	t.Run("not what it can serve", func(t *testing.T) {
		start(t, 1)
		address, _ := serveWrapped(t, func(c *socket.TCPConn) net.Conn { return c })
		c := dialNet(t, address)
		exchange(t, c, "served")
	})
}

func serveRefusesAListenerOfSuch(t *testing.T) {
	for want, wrap := range map[string]func(*socket.TCPConn) net.Conn{
		"loudConn":  func(c *socket.TCPConn) net.Conn { return loudConn{c} },
		"netco/tls": func(c *socket.TCPConn) net.Conn { return tls.Server(c, new(tls.Config)) },
	} {
		t.Run(want, func(t *testing.T) {
			start(t, 1)
			address, ends := serveWrapped(t, wrap)
			c := dialNet(t, address)
			if err := testenv.Await(t, ends, "the refusal"); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%v; want an error that names the type, or the cure", err)
			}
			if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("%d, %v: the connection is open", n, err)
			}
		})
	}
}

func netListen(t *testing.T) net.Listener {
	t.Helper()
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	return l
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

// nth returns an Injector for one kind of call that lets some pass and then
// fails so many.
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

// untilRest waits until the one listener is waited for, and so many connections
// of a Server are idle: all are registered, and none is about to be read.
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

// TestServerReadFault: an error of one connection ends that one, is reported
// once, by Handle's Read and by Closed, in net's form, and leaves no fd. Others
// go on.
func TestServerReadFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ECONNRESET, unix.ETIMEDOUT, unix.ENOBUFS,
		unix.EHOSTUNREACH} {
		t.Run(unix.ErrnoName(errno), func(t *testing.T) {
			start(t, 2)
			address, ends := serving(t, &socket.Server{Handle: echoOnce})
			other := dialNet(t, address)
			exchange(t, other, "before")
			untilRest(t, 1)
			fds := testenv.Files()
			victim := dialNet(t, address)
			local := victim.LocalAddr().String()
			inject, _ := nth(sysx.Recv, 0, 1, errno)
			remove := sysx.Inject(inject)
			defer remove()
			victim.Write([]byte("x"))
			err := testenv.Await(t, ends, "the end")
			remove()
			want := fmt.Sprintf("read tcp %s->%s: read: %v", address, local, errno)
			var op *net.OpError
			if err == nil || err.Error() != want || !errors.Is(err, errno) || !errors.As(err, &op) {
				t.Errorf("%v, want %s", err, want)
			}
			// it had not been read
			if _, err := io.ReadAll(victim); err != nil && !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("the victim: %v", err)
			}
			victim.Close()
			exchange(t, other, "after")
			testenv.Until(t, "the victim's fds to be closed", func() bool {
				return testenv.Files() <= fds
			})
			select {
			case err := <-ends:
				t.Errorf("told of once more: %v", err)
			default:
			}
		})
	}
}

// TestServerRegisterFault: a connection cannot be registered with epoll. It is
// closed, Closed has the reason, once; the others and the listener go on.
func TestServerRegisterFault(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOSPC, unix.ENOMEM} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(unix.ErrnoName(errno), timeout), func(t *testing.T) {
				start(t, 2)
				address, ends := serving(t, &socket.Server{Handle: echoOnce, IdleTimeout: timeout})
				other := dialNet(t, address)
				exchange(t, other, "before")
				untilRest(t, 1)
				fds := testenv.Files()
				inject, _ := nth(sysx.EpollCtl, 0, 3, errno)
				remove := sysx.Inject(inject)
				defer remove()
				for range 3 {
					victim := dialNet(t, address)
					if err := testenv.Await(t, ends, "the end"); !errors.Is(err, errno) ||
						err.Error() != "epoll_ctl: "+errno.Error() {
						t.Errorf("ended by %v", err)
					}
					if _, err := victim.Read(make([]byte, 1)); err != io.EOF {
						t.Errorf("the victim: %v", err)
					}
					victim.Close()
				}
				exchange(t, dialNet(t, address), "the next")
				exchange(t, other, "after")
				testenv.Until(t, "the victims' fds to be closed", func() bool {
					return testenv.Files() <= fds+2
				})
				if n := len(ends); n != 0 {
					t.Errorf("%d ends too many", n)
				}
			})
		}
	}
}

// TestListenerRegisterFault: the listener itself cannot be registered. Serve
// returns that, in net's form, and has closed it.
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
					err := (&socket.Server{Handle: echoOnce}).Serve(l)
					want := fmt.Sprintf("accept %s %s: epoll_ctl: %v", network, l.Addr(), errno)
					var op *net.OpError
					if err == nil || err.Error() != want || !errors.Is(err, errno) ||
						!errors.As(err, &op) {
						t.Errorf("%v, want %s", err, want)
					}
				})
				if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the listener is not closed: %v", err)
				}
				if n := testenv.Files(); n > fds {
					t.Errorf("%d fds, before %d", n, fds)
				}
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
				}
				exchange(t, next, "at last")
				took := time.Since(began)
				remove()
				if took < least {
					t.Errorf("round %d: %d tries in %v, want them to take %v", round, tries+1,
						took, least)
				}
			}
		})
	}
}

// TestHangupWithData: the end of the connection, or its reset, comes in the
// same event as the last data, because the Processor was busy. All of the data
// is read first, in whatever pieces, then the end is reported, once for what is
// not EOF.
func TestHangupWithData(t *testing.T) {
	const total = 5000
	for _, network := range []string{"tcp", "unix"} {
		for _, reset := range []bool{false, true} {
			for _, most := range []int{1 << 20, 7} { // by one call
				for _, size := range []int{1 << 20, 100, 1} { // of the reader's buffer
					t.Run(fmt.Sprint(network, " reset ", reset, " ", most, " ", size),
						func(t *testing.T) {
							startLocked(t, 1)
							c, peer := netcoPair(t, network)
							fd := socket.FDOf(c.(socket.Stream))
							reader := testrun.First.Go(func() {
								got := make([]byte, 0, 2*total)
								buf := make([]byte, size)
								for {
									n, err := c.Read(buf)
									got = append(got, buf[:n]...)
									if err != nil {
										if end := errors.Is(err, unix.ECONNRESET); end != reset ||
											!end && err != io.EOF {
											t.Errorf("the end is %v", err)
										}
										break
									}
								}
								if d := differs(got, 0); len(got) != total || d != "" {
									t.Errorf("%d bytes of %d %s", len(got), total, d)
								}
								if _, err := c.Read(buf); err != io.EOF {
									t.Errorf("after the end: %v", err)
								}
							})
							reader.UntilParked(t, coroutine.ReasonRead)
							defer sysx.Inject(func(op sysx.Op, at, asked int) (int, syscall.Errno) {
								if op == sysx.Recv && at == fd {
									return min(asked, most), 0
								}
								return asked, 0
							})()
							release := hog(t, 0)
							testenv.Must(unix.Write(socket.FDOf(peer.(socket.Stream)),
								pattern(total)))
							testenv.Until(t, "the data", func() bool {
								return queuedOr0(fd) == total
							})
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
						})
				}
			}
		}
	}
}

func hungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, _ := unix.Poll(p, 0)
	return n > 0
}
