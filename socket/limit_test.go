package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// limitedOn listens on a network of streams, with a limit.
func limitedOn(t *testing.T, network string, n int) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network != "tcp" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l := testenv.Closing(t, testenv.Must(socket.Listen(network, address)))
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
			pauses := socket.AcceptPauses()
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
			testenv.Equal(t, socket.AcceptPauses()-pauses, 4, "pauses, 4")
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
// edges, has ended leaves nothing behind. That it ends is in the tables of
// waits.
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
			k := p.Go(func() { testenv.Equal(t, testenv.Err(l.Accept()) != nil, true) })
			untilNoRoom(t, l, k)
			end(l)
			k.Wait(t)
			testenv.Equal(t, socket.WaitForRoom(l), 0, "waits for room")
			one.Close()
			testenv.Equal(t, socket.Places(l), 0, "places taken")
		})
	}
}

// TestLimitListenerOnce: however many close a connection, and whoever uses it
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

// TestLimitTwice: the narrower of two limits holds, and a place under one that
// finds none under the other is given back.
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
		accepted := make(chan net.Conn, 2)
		k := p.Go(func() {
			accepted <- testenv.Must(l.Accept())
			accepted <- testenv.Must(l.Accept())
			testenv.Fails(t, testenv.Err(l.Accept()), net.ErrClosed, "net.ErrClosed")
		})
		c := testenv.Await(t, accepted, "the first")
		waits := func() bool { return k.Parked(coroutine.ReasonAccept) }
		testenv.Until(t, "the Accept to wait", waits)
		c.Close()
		c.Close()
		c = testenv.Await(t, accepted, "the second")
		testenv.Until(t, "the Accept to wait", waits)
		l.Close()
		k.Wait(t)
		c.Close()
		testenv.Equal(t, socket.Places(l), 0, "places are taken")
	})
}

// unwindingListener is one whose Accept ends its goroutine, or panics.
type unwindingListener struct {
	net.Listener
	end func()
}

func (l unwindingListener) Accept() (net.Conn, error) {
	l.end()
	return nil, net.ErrClosed
}

// TestLimitUnwound: the Accept of another package's listener that does not
// return gives its place back.
func TestLimitUnwound(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		for name, end := range map[string]func(){
			"ends":   runtime.Goexit,
			"panics": func() { panic("Accept") },
			"fails":  func() {},
		} {
			l := socket.LimitListener(unwindingListener{listen(t), end}, 1)
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
// open, and all are served in the end; what is handed away counts until it is
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
// it is not missed. All clients are there before, so that none wakes it by
// coming.
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

func init() { children["all limits"] = serveWithinLimits }

const (
	stressConns   = 12 // of the Server; as many as there are fds for these and the other listener's
	stressClients = 40 // at a time, for each listener
	stressRounds  = 3
	busy          = "busy\n"
)

// serveWithinLimits is a child that has all limits at once: connections,
// coroutines, buffers and fds. It serves a Server at one address; at the other,
// coroutines that it starts by Go, and whoever finds no room for one hears
// so.
func serveWithinLimits() {
	testenv.MustOK(netco.Start(netco.Options{Processors: 2, MaxCoroutines: 9,
		BufferMemory: 16 << 10, BufferSize: 16 << 10, OnPanic: netco.KeepServing}))
	served := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	started := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	fillFDs(64, 12)
	server := &socket.Server{MaxConns: stressConns, Handle: slowEcho}
	netco.Go(func() { server.Serve(served) })
	var turnedAway atomic.Int64
	netco.Go(func() {
		for {
			c, err := started.Accept()
			if err != nil {
				return
			}
			if _, err := netco.Go(func() { echoLines(c.(*socket.TCPConn)) }); err != nil {
				if !errors.Is(err, netco.ErrTooManyCoroutines) {
					fmt.Fprintln(os.Stderr, err)
				}
				turnedAway.Add(1)
				io.WriteString(c, busy)
				c.(*socket.TCPConn).CloseWrite()
				c.Close()
			}
		}
	})
	os.Stdout.WriteString(served.Addr().String() + " " + started.Addr().String() + "\n")
	s, _ := netco.Default()
	noFiles := func() (n uint64) {
		for _, p := range engine.Of(s).Processors() {
			n += p.IO().AcceptErrors[processor.AcceptFiles].Load()
		}
		return n
	}
	for noFiles() == 0 {
		time.Sleep(time.Millisecond)
	}
	os.Stdout.WriteString("no fd is left\n")
	io.Copy(io.Discard, os.Stdin)
	waits, files := bufferWaits(), noFiles()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := netco.Shutdown(ctx); err != nil {
		testenv.Fatal("Shutdown:", err)
	}
	fmt.Printf("pauses %d refused %d away %d waits %d files %d open %d\n", socket.AcceptPauses(),
		s.Refused(), turnedAway.Load(), waits, files, socket.OpenCount())
}

// bufferWaits is how often a caller has waited for a buffer.
func bufferWaits() (n uint64) {
	s, _ := netco.Default()
	for _, p := range engine.Of(s).Processors() {
		n += p.BufferWaits()
	}
	return n
}

// slowEcho keeps a buffer for a while; if it is asked to keep it, until another
// wants one.
func slowEcho(c *socket.ServerConn) error {
	b := socket.AcquireBuffer()
	defer b.Release()
	n, err := c.Read(b.Bytes())
	if err != nil {
		return err
	}
	netco.Sleep(100 * time.Microsecond)
	for bytes.HasPrefix(b.Bytes()[:n], []byte("keep")) && bufferWaits() == 0 {
		netco.Sleep(100 * time.Microsecond)
	}
	if bytes.HasPrefix(b.Bytes()[:n], []byte("bomb")) {
		panic("a request that its handler cannot bear")
	}
	_, err = c.Write(b.Bytes()[:n])
	return err
}

// echoLines answers lines, by a Buffered that may find no buffer.
func echoLines(c *socket.TCPConn) {
	b := socket.NewBuffered(c)
	defer b.Close()
	for {
		line, err := b.ReadSlice('\n')
		if err != nil {
			return
		}
		b.Write(line)
	}
}

// TestAllLimits: more clients than connections, coroutines, buffers and fds
// allow, all at once. Every client of the Server is served in the end; those of
// the other listener are served or refused as busy; and nothing is left
// over.
func TestAllLimits(t *testing.T) {
	cmd := children.Command(t, "all limits")
	var out, problems bytes.Buffer
	in := testenv.Must(cmd.StdinPipe())
	stdout := testenv.Must(cmd.StdoutPipe())
	cmd.Stderr = &problems
	testenv.OK(t, cmd.Start())
	giveUp := time.AfterFunc(6*limit, func() { cmd.Process.Kill() })
	defer giveUp.Stop()
	t.Cleanup(func() { // if the test has ended early
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	var addresses [2]string
	if _, err := fmt.Fscanln(lines, &addresses[0], &addresses[1]); err != nil {
		cmd.Process.Kill()
		cmd.Wait() // which ends the writes to problems
		t.Fatalf("%v\n%s", err, &problems)
	}
	echoed, away := stress(t, addresses, runOutOfFiles(t, addresses, lines)+
		runOutOfCoroutines(t, addresses[1]))
	in.Close()
	io.Copy(&out, lines)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, problems.String())
	}
	var pauses, refused, refusals, waits, files, open int
	fmt.Sscanf(out.String(), "pauses %d refused %d away %d waits %d files %d open %d", &pauses,
		&refused, &refusals, &waits, &files, &open)
	t.Logf("%d answers, %d turned away; %s", echoed, away, strings.TrimSpace(out.String()))
	testenv.True(t, pauses != 0 && refused != 0 && waits != 0 && files != 0 &&
		refused == refusals && refusals == int(away), "not every limit was met, or counted: %s",
		&out)
	if open != 1 { // the second listener
		t.Errorf("%d sockets are still open: %s", open, &out)
	}
	if n := strings.Count(problems.String(), "netco: panic in coroutine"); n == 0 {
		t.Error("no panic was told of")
	}
}

// stress loads both listeners, and returns how many clients were answered and
// how many turned away, with those before.
func stress(t *testing.T, addresses [2]string, before int64) (echoed, away int64) {
	var wg sync.WaitGroup
	var answered, turned atomic.Int64
	for i := range stressClients {
		for kind, address := range addresses {
			wg.Go(func() {
				for round := range stressRounds {
					switch got, err := stressClient(address, i, round, i == 0 && kind == 0); {
					case err != nil:
						t.Errorf("client %d of listener %d, round %d: %v", i, kind, round, err)
					case got == busy && kind == 1:
						turned.Add(1)
					case got == busy:
						t.Error("the Server turned a client away")
					default:
						answered.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
	return answered.Load(), turned.Load() + before
}

// runOutOfFiles holds all connections that the Server may have, which are all
// fds that there are, until another is wanted. It returns how many were turned
// away.
func runOutOfFiles(t *testing.T, addresses [2]string, child *bufio.Reader) int64 {
	t.Helper()
	var held []net.Conn
	for range stressConns {
		c := dialNet(t, addresses[0])
		exchange(t, c, "held\n")
		held = append(held, c)
	}
	waiting := dialNet(t, addresses[1])
	if line, err := child.ReadString('\n'); line != "no fd is left\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	for _, c := range held { // one of them waits for the other's buffer
		io.WriteString(c, "keep\n")
	}
	for _, c := range held {
		if got, err := bufio.NewReader(c).ReadString('\n'); got != "keep\n" {
			t.Errorf("%q, %v", got, err)
		}
		c.Close()
	}
	defer waiting.Close()
	io.WriteString(waiting, "no longer waiting\n")
	got, err := bufio.NewReader(waiting).ReadString('\n')
	switch {
	case got == "no longer waiting\n":
		return 0
	// As long as the coroutines of those that are held have not ended.
	case got != busy && !errors.Is(err, syscall.ECONNRESET):
		t.Errorf("%q, %v", got, err)
	}
	return 1
}

// runOutOfCoroutines holds connections that have a coroutine each until one is
// turned away, and returns how many were.
func runOutOfCoroutines(t *testing.T, address string) int64 {
	t.Helper()
	for {
		c := dialNet(t, address)
		defer c.Close()
		io.WriteString(c, "held\n")
		got, err := bufio.NewReader(c).ReadString('\n')
		if got != "held\n" {
			t.Logf("turned away: %q, %v", got, err)
			return 1
		}
	}
}

// stressClient exchanges a line of some kB and returns what came back. A bomb
// is what makes the Server's handler panic: who sends one is content with the
// end of its connection.
func stressClient(address string, i, round int, bomb bool) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(4 * limit))
	line := fmt.Sprintf("%d %d %s\n", i, round, strings.Repeat("x", 3000))
	if bomb {
		line = "bomb " + line
	}
	if _, err := io.WriteString(c, line); err != nil {
		return busy, nil
	}
	got, err := bufio.NewReader(c).ReadString('\n')
	switch {
	case got == busy || got == line:
		return got, nil
	case bomb && err != nil:
		return "gone", nil
	case err != nil && strings.Contains(err.Error(), "connection reset"):
		return busy, nil // closed with our line unread, which drops what it was sent
	}
	return got, fmt.Errorf("%d bytes came back, and %v", len(got), err)
}
