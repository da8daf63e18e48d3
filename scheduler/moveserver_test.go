package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	stdsync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// begin starts the default Scheduler and returns its Processors.
func begin(t *testing.T, o netco.Options) []*processor.Processor {
	t.Helper()
	testenv.OK(t, netco.Start(o))
	found := make(chan *processor.Processor, 1)
	if _, err := netco.Go(func() { found <- processor.Current() }); err != nil {
		t.Fatal(err)
	}
	return (<-found).Group().Members()
}

// shuffle moves connections at random until it is stopped.
func shuffle(procs []*processor.Processor) (stop func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-over:
				return
			}
			switch rand.IntN(32) {
			case 0:
				procs[0].Group().Share()
			case 1:
				procs[0].Group().EndSharing()
			}
			if from, to := procs[rand.IntN(len(procs))], procs[rand.IntN(len(procs))]; from != to {
				from.Give(to, 1+rand.IntN(8))
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// shared is a lock for which coroutines of echo wait now and then.
var shared sync.Mutex

// echo writes back all that it reads. Now and then it sets a deadline, sleeps,
// waits for a lock, or blocks outside netco.
func echo(c net.Conn) error {
	var buf [8 << 10]byte
	for {
		if rand.IntN(8) == 0 {
			c.SetReadDeadline(time.Now().Add(time.Duration(rand.IntN(500)) * time.Microsecond))
		}
		n, err := c.Read(buf[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.SetReadDeadline(time.Time{})
			continue
		}
		if err != nil {
			return err
		}
		switch rand.IntN(64) {
		case 0:
			netco.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		case 1:
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		case 2:
			func() {
				shared.Lock()
				defer shared.Unlock() // Yield may end the coroutine
				netco.Yield()
			}()
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// oneConn sends data to an echo server over one connection while goesOn returns
// true, and checks each byte that comes back.
func oneConn(address string, goesOn func() bool) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(testenv.Limit))
	for range rand.IntN(40) {
		if !goesOn() {
			break
		}
		if err := exchange(c); err != nil {
			return err
		}
		if rand.IntN(4) == 0 {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		}
	}
	if rand.IntN(2) == 0 { // otherwise just close the connection
		c.(*net.TCPConn).CloseWrite()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			return fmt.Errorf("%d bytes and %v at the end", n, err)
		}
	}
	return nil
}

var errOther = errors.New("what came back is something else")

// exchange sends a few bytes, sometimes many, and reads them back meanwhile.
func exchange(c net.Conn) error {
	size := 1 + rand.IntN(64)
	if rand.IntN(8) == 0 {
		size = rand.IntN(200 << 10)
	}
	sent, got := make([]byte, size), make([]byte, size)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		wrote <- err
	}()
	_, err := io.ReadFull(c, got)
	if err == nil && !bytes.Equal(sent, got) {
		err = errOther
	}
	if err != nil {
		c.Close()
	}
	return errors.Join(err, <-wrote)
}

// echoServers are the ways to serve. Each serves until the listener is closed.
var echoServers = []struct {
	name  string
	stops bool // ends connections at any moment
	serve func(l net.Listener)
}{
	{"coroutines", false, func(l net.Listener) { serveBy("coroutines", l, echo) }},
	{"coroutines that are stopped", true, func(l net.Listener) {
		serveBy("coroutines", l, stopped)
	}},
	{"Server", false, func(l net.Listener) {
		serveBy("Server", l, func(c net.Conn) error {
			if rand.IntN(8) == 0 {
				return echo(c) // until the connection ends
			}
			return echoOnce(c)
		})
	}},
	{"Server with timeouts", false, func(l net.Listener) {
		s := &socket.Server{IdleTimeout: time.Hour, Handle: func(c *socket.ServerConn) error {
			return echoOnce(c)
		}}
		s.Serve(l)
	}},
}

// stopped is echo in a coroutine that may be stopped meanwhile.
func stopped(c net.Conn) error {
	if rand.IntN(2) == 0 {
		time.AfterFunc(time.Duration(rand.IntN(5_000))*time.Microsecond, netco.Self().Stop)
	}
	return echo(c)
}

func echoOnce(c net.Conn) error {
	var buf [4 << 10]byte
	n, err := c.Read(buf[:])
	if err != nil {
		return err
	}
	if rand.IntN(32) == 0 {
		netco.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	}
	_, err = c.Write(buf[:n])
	return err
}

// talk has clients use an echo server until over is set. Its result waits for
// them to end, and returns how many connections they made.
func talk(t *testing.T, address string, over *atomic.Bool,
	excused func(error) bool) (end func() int64) {
	var conns atomic.Int64
	var clients stdsync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for !over.Load() {
				conns.Add(1)
				if err := oneConn(address, func() bool {
					return !over.Load()
				}); err != nil && (errors.Is(err, errOther) || !excused(err)) {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() int64 {
		clients.Wait()
		return conns.Load()
	}
}

// TestServersWhoseConnectionsMove is a hammer: connections are moved all the
// time from their start to their end, and not one byte is lost. At last the
// Scheduler is shut down gracefully, or by force while connections are in use.
func TestServersWhoseConnectionsMove(t *testing.T) {
	span := time.Duration(testenv.Rounds(500)) * time.Millisecond
	for i, server := range echoServers {
		for _, forced := range []bool{false, true} {
			n := []int{2, 3, 6}[i%3]
			if forced {
				n = []int{6, 2, 3}[i%3]
			}
			t.Run(fmt.Sprintf("%s/%d/forced %v", server.name, n, forced), func(t *testing.T) {
				files := testenv.Files()
				procs := begin(t, netco.Options{Processors: n, MinActive: n})
				defer netco.Shutdown(context.Background())
				l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
				netco.Go(func() { server.serve(l) })
				stop := shuffle(procs)
				var over, ending atomic.Bool
				end := talk(t, l.Addr().String(), &over, func(error) bool {
					return server.stops || ending.Load()
				})
				time.Sleep(span)
				ctx, cancel := context.WithTimeout(context.Background(), testenv.Limit)
				defer cancel()
				over.Store(!forced)
				if forced {
					ending.Store(true)
					cancel()
				} else {
					end()
				}
				l.Close()
				err := netco.Shutdown(ctx)
				testenv.True(t, err == nil || forced, "Shutdown: %v", err)
				over.Store(true)
				conns := end()
				stop()
				nothingLeft(t, procs)
				testenv.Until(t, "the files to be closed", func() bool {
					return testenv.Files() <= files
				})
				t.Logf("%d connections", conns)
			})
		}
	}
}

// nothingLeft checks that Processors that have ended have no coroutines, fds or
// Watches.
func nothingLeft(t *testing.T, procs []*processor.Processor) {
	moved := uint64(0)
	for i, p := range procs {
		moved += p.Stats.Moved.Load()
		testenv.True(t, p.Live() == 0 && p.Registered() == 0 && p.Watches() == 0,
			"Processor %d: %d coroutines, %d fds, %d Watches", i, p.Live(), p.Registered(),
			p.Watches())
	}
	testenv.Equal(t, sockinfo.OpenCount(), 0, "sockets are open")
	t.Logf("%d moves of coroutines", moved)
}

// serveBy serves with a Server, or with a coroutine for each connection, in
// which handle is called until it fails.
func serveBy(kind string, l net.Listener, handle func(net.Conn) error) {
	if kind == "Server" {
		server := &socket.Server{Handle: func(c *socket.ServerConn) error { return handle(c) }}
		server.Serve(l)
		return
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := netco.Go(func() {
			defer c.Close()
			for handle(c) == nil {
			}
		}); err != nil {
			c.Close()
		}
	}
}

// TestSpreadsAndPacks: connections, or coroutines that compute and wait for no
// fd, begin on one Processor. They are spread over two when they keep it busy,
// and are together again when they do not.
func TestSpreadsAndPacks(t *testing.T) {
	needHandoff(t)
	for _, kind := range []string{"coroutines", "Server", "computing"} {
		t.Run(kind, func(t *testing.T) {
			procs := begin(t, netco.Options{Processors: 2})
			defer netco.Shutdown(context.Background())
			testenv.True(t, procs[0].IsActive() && !procs[1].IsActive(),
				"not just the first is active")
			var light, over atomic.Bool
			const n = 24 // enough to keep both Processors busy
			var fds int
			var end func()
			if kind == "computing" {
				end = computing(t, procs[0], &light, &over)
			} else {
				fds, end = n+1, talking(t, kind, n, &light, &over)
			}
			spread := func() bool {
				if kind == "computing" {
					return procs[1].Live() > 0 && procs[0].Live() > 3
				}
				return procs[1].Registered() >= 2 && procs[0].Registered() >= 2
			}
			for round := range 2 {
				light.Store(false)
				testenv.Until(t, "both to have some", func() bool {
					return procs[1].IsActive() && spread()
				})
				light.Store(true)
				testenv.Until(t, "one to have all", func() bool {
					return procs[0].Group().Sharing() || !procs[1].IsActive() &&
						procs[1].Registered() == 0 && procs[1].Live() == 0
				})
				if got := procs[0].Registered(); got != fds && !procs[0].Group().Sharing() {
					t.Errorf("round %d: %d fds on the first, want %d", round, got, fds)
				}
			}
			over.Store(true)
			end()
		})
	}
}

// computing starts coroutines that compute, and hardly do so while light is
// set. Some must stay on home; end checks that.
func computing(t *testing.T, home *processor.Processor, light, over *atomic.Bool) (end func()) {
	var strayed atomic.Bool
	var mu sync.Mutex
	for _, pause := range []func(){
		netco.Yield,
		func() { netco.Sleep(time.Microsecond) },
		func() { mu.Lock(); netco.Yield(); mu.Unlock() },
	} {
		work := func() {
			if light.Load() {
				netco.Sleep(20 * time.Millisecond)
			} else {
				compute(200 * time.Microsecond)
			}
			pause()
		}
		for range 4 {
			testenv.Must(netco.Go(func() {
				for !over.Load() {
					work()
				}
			}))
		}
		pinned(home, func() {
			for !over.Load() {
				work()
				if processor.Current() != home {
					strayed.Store(true)
				}
			}
		})
	}
	return func() { testenv.True(t, !strayed.Load(), "one has moved that must stay") }
}

// talking has n clients, with a connection each, send one request after the
// other to a server on the first Processor. An answer takes 2 ms. While light
// is set it takes no time, and requests are rare.
func talking(t *testing.T, kind string, n int, light, over *atomic.Bool) (end func()) {
	l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	testenv.Must(netco.GoWith(netco.Spawn{On: netco.OnProcessor(0), Fn: func() {
		serveBy(kind, l, func(c net.Conn) error {
			var b [1]byte
			if _, err := c.Read(b[:]); err != nil {
				return err
			}
			if !light.Load() {
				compute(2 * time.Millisecond)
			}
			_, err := c.Write(b[:])
			return err
		})
	}}))
	var clients stdsync.WaitGroup
	for i := range n {
		clients.Go(func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			var b [1]byte
			for !over.Load() {
				b[0]++
				want := b[0]
				c.Write(b[:])
				if _, err := c.Read(b[:]); err != nil || b[0] != want {
					t.Errorf("read %d, %v, want %d", b[0], err, want)
					return
				}
				if light.Load() {
					time.Sleep(time.Duration(40+i) * time.Millisecond)
				}
			}
		})
	}
	return func() {
		clients.Wait()
		l.Close()
	}
}

func compute(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}
