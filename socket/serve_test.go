package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
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
		if err := s.Serve(l); !errors.Is(err, net.ErrClosed) && !errors.Is(err, socket.ErrServerClosed) && !errors.Is(err, netco.ErrShutdown) {
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
				if err := s.ServeConn(a); err != nil {
					t.Error(err)
				}
			})
			if err := testenv.Await(t, ends, "the timeout"); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("ended by %v", err)
			}
			if got, err := io.ReadAll(c); string(got) != "onetwo" || err != nil {
				t.Errorf("the client reads %q, %v", got, err)
			}
		})
	}
}

// TestServeDeadline: a read deadline that the handler has set calls it, its
// Read tells; moved by another thread while idle it counts from then on.
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

// TestServeClose: somebody closes an idle connection, on a Processor or not.
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
					if err := sc.Close(); err != nil {
						t.Error(err)
					}
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
		if err := s.ServeConn(func() socket.Stream { a, _ := pair(t); return a }()); err != socket.ErrServerClosed {
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
				s := &socket.Server{Handle: echoOnce, Closed: func(_ *socket.ServerConn, err error) {
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
				} else if err := netco.Shutdown(context.Background()); err != nil {
					t.Error(err)
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

// TestServeHoldsRun: Run does not return while a connection is open that nobody
// but the Server knows.
func TestServeHoldsRun(t *testing.T) {
	start(t, 2)
	ends := make(chan error, 1)
	s := &socket.Server{Handle: echoOnce, Closed: func(_ *socket.ServerConn, err error) { ends <- err }}
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
	if err := testenv.Await(t, ran, "Run"); err != nil {
		t.Error(err)
	}
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
	testenv.OK(t, netco.Start(netco.Options{Processors: 2, OnPanic: func(netco.PanicInfo) { panics.Add(1) }}))
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
	address, ends := serving(t, &socket.Server{Handle: echoOnce, Opened: func(*socket.ServerConn) error { return refused }})
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
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
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
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
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
	p := s.Processors()[0]
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
			if _, err := io.ReadFull(c, got[:]); err != nil || string(got[:]) != fmt.Sprintf("%03d", i) {
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
