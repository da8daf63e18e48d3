package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// TestGoroutinesOnly: with no Scheduler running, ordinary goroutines wait all
// the same, and start none.
func TestGoroutinesOnly(t *testing.T) {
	a, b := pair(t)
	server := testrun.Goroutine.Go(func() { echo(b) })
	server.UntilParked(t, coroutine.ReasonRead) // or all might be there whenever it is read
	testenv.NoError(t, roundTrip(testrun.Goroutine, a, 100<<10))
	a.Close()
	server.Wait(t)
	testenv.NoError(t, netco.Start(netco.Options{}))
	netco.Shutdown(context.Background())
}

// TestHandedOver: a connection goes back and forth between coroutines of two
// Processors and goroutines; each writes and reads in its turn. The first to
// wait decides which Processor watches the fd.
func TestHandedOver(t *testing.T) {
	for _, first := range testrun.Places {
		t.Run("first "+first.Name, func(t *testing.T) {
			start(t, 2)
			a, b := pair(t)
			server := testrun.First.Go(func() { echo(b) })
			turn := func(i int) { testenv.NoError(t, answered(a, fmt.Sprint("message ", i))) }
			first.Do(t, func() { turn(0) })
			for i := range 30 {
				p := place(i)
				p.Do(t, func() {
					if here := processor.Current(); here != nil &&
						here.Index() != i%len(testrun.Places) {
						t.Errorf("turn %d on Processor %d", i, here.Index())
					}
					turn(i + 1)
				})
			}
			a.Close()
			server.Wait(t)
		})
	}
}

// TestFacadeNil: the facade's errors come with a nil interface, not with a nil
// pointer in one: shut looks.
func TestFacadeNil(t *testing.T) {
	start(t, 1)
	l := listen(t)
	l.SetDeadline(past)
	testenv.True(t, shut(netco.Listen("tcp", "127.0.0.1:99999")) != nil, "Listen succeeded")
	testenv.True(t, shut(netco.Dial("tcp", testenv.ClosedPort(t))) != nil, "Dial succeeded")
	testenv.True(t, shut(net.Listener(l).Accept()) != nil, "Accept succeeded")
}

// echoes accepts connections of l and echoes on each, on goroutines.
func echoes(l net.Listener) net.Listener {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l
}

// TestGoroutinesLeaveNothing: goroutines that use sockets start the goroutine
// poller and nothing else, and once the sockets are closed no goroutine and no
// fd of it is left. All Processors and a watchdog were started, for good.
func TestGoroutinesLeaveNothing(t *testing.T) {
	// package net and the runtime make these once
	testenv.Must(net.Dial("tcp", echoNet(t))).Close()
	before := testenv.Snapshot()
	for range 3 { // it starts anew each time
		ln := echoes(testenv.Must(conet.Listen("tcp", "127.0.0.1:0")))
		c := testenv.Must(conet.Dial("tcp", ln.Addr().String()))
		testenv.NoError(t, answered(c, "hello"))
		testenv.Until(t, "one goroutine, and the ends of earlier ones", func() bool {
			all := string(testenv.Stacks())
			return strings.Count(all, "processor.(*goroutinePoller).loop") == 1 &&
				!strings.Contains(all, "processor.(*Processor)") &&
				!strings.Contains(all, "scheduler.")
		})
		c.Close()
		ln.Close()
		testenv.Until(t, "the goroutines' end", func() bool {
			return !strings.Contains(string(testenv.Stacks()), "netco/processor.")
		})
		testenv.OK(t, before.Leaks())
	}
}

// TestGoroutinesOneByOne: connections that follow one another at once have one
// goroutine poller, which is neither woken nor made for each.
func TestGoroutinesOneByOne(t *testing.T) {
	address := echoNet(t)
	for range 200 {
		c := testenv.Must(conet.Dial("tcp", address))
		testenv.OK(t, answered(c, "hello"))
		c.Close()
	}
	testenv.Until(t, "its end", func() bool {
		return !strings.Contains(string(testenv.Stacks()), "netco/processor.")
	})
}

// TestAcceptBeforeStart: an Accept that a goroutine began before the default
// Scheduler was started ends with the Scheduler all the same, and so do sockets
// that nothing has waited for yet. The next round begins after that end, and
// its Accept waits.
func TestAcceptBeforeStart(t *testing.T) {
	for range 2 {
		ln := testenv.Closing(t, testenv.Must(conet.Listen("tcp", "127.0.0.1:0")))
		k := testrun.Goroutine.Park(t, coroutine.ReasonAccept, func() {
			testenv.Fails(t, testenv.Err(ln.Accept()), netco.ErrShutdown, "Accept")
		})
		c := testenv.Closing(t, testenv.Must(conet.Dial("tcp", echoNet(t))))
		testenv.NoError(t, answered(c, "hello"))
		early := testenv.Closing(t, testenv.Must(conet.Listen("tcp", "127.0.0.1:0")))
		testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
		late := testenv.Closing(t, testenv.Must(conet.Listen("tcp", "127.0.0.1:0")))
		udp := testenv.Closing(t, testenv.Must(conet.ListenUDP("udp", nil)))
		testenv.OK(t, netco.Shutdown(context.Background()))
		k.Wait(t)
		testenv.Fails(t, testenv.Err(early.Accept()), netco.ErrShutdown, "opened before the start")
		testenv.Fails(t, testenv.Err(late.Accept()), netco.ErrShutdown, "opened while it ran")
		testenv.Fails(t, testenv.Err(udp.Read(make([]byte, 1))), netco.ErrShutdown)
		testenv.Fails(t, testenv.Err(c.Read(make([]byte, 1))), netco.ErrShutdown)
	}
}

// Libraries connect, read and write on goroutines of their own, and have their
// caller wait for these in a Go channel. If the caller is a coroutine, its
// Processor stands still meanwhile. The goroutine must get on all the same.

// echoNet is an echo server of package net's.
func echoNet(t *testing.T) string {
	t.Helper()
	l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
	return echoes(l).Addr().String()
}

func answered(c net.Conn, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		return fmt.Errorf("%q came back, %w", got, err)
	}
	return nil
}

// TestCoroutineWaitsForGoroutine: a coroutine blocks its Processor until a
// goroutine has dialled and been answered, and then until a goroutine has used
// the coroutine's own connection. The goroutine does not wait for the Processor
// in turn.
func TestCoroutineWaitsForGoroutine(t *testing.T) {
	address := echoNet(t)
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint(n, " Processors"), func(t *testing.T) {
			start(t, n)
			var tasks []*testrun.Task
			for i := range n { // all of them are held up
				tasks = append(tasks, testrun.On(i).Go(func() {
					var c net.Conn
					done := make(chan error)
					go func() { // and uses it here for the first time
						c = testenv.Must(netco.Dial("tcp", address))
						done <- answered(c, "hello")
					}()
					testenv.NoError(t, <-done)
					defer c.Close()
					for range 20 {
						testenv.NoError(t, answered(c, "coroutine"))
						go func() { done <- answered(c, "goroutine") }()
						testenv.NoError(t, <-done)
					}
				}))
			}
			testrun.WaitAll(t, tasks...)
		})
	}
}

// TestGoroutineAccepts: goroutines serve while every Processor is held up.
func TestGoroutineAccepts(t *testing.T) {
	startLocked(t, 2)
	l := listen(t)
	k := testrun.Goroutine.Park(t, 0, func() { acceptAll(t, l, func(c net.Conn) { go echo(c) }) })
	let, letOther := hog(t, 0), hog(t, 1)
	for range 3 {
		c := testenv.Must(net.Dial("tcp", l.Addr().String()))
		testenv.NoError(t, answered(c, "hello"))
		c.Close()
	}
	let()
	letOther()
	l.Close()
	k.Wait(t)
	untilOpen(t, 0)
}

// mixed are connections between package net or os and this one, each with two
// functions of this package: one takes a byte, one puts a byte.
var mixed = map[string]func(t *testing.T) (theirs io.ReadWriter, take, put func() error){
	"tcp": func(t *testing.T) (io.ReadWriter, func() error, func() error) {
		return mixedTCP(t, nil)
	},
	"unix": func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, mine := mixedPair(t, "unix", testenv.SocketPath(t, "s"))
		take, put = bytewise(mine)
		return theirs, take, put
	},
	"pieces": func(t *testing.T) (io.ReadWriter, func() error, func() error) {
		return mixedTCP(t, func(mine net.Conn) error {
			return testenv.Err(mine.(*socket.TCPConn).WriteBuffers(&net.Buffers{{1}, {}}))
		})
	},
	"sendfile": func(t *testing.T) (io.ReadWriter, func() error, func() error) {
		f := fileOf(t, 1)
		return mixedTCP(t, func(mine net.Conn) error { return testenv.Err(io.CopyN(mine, f, 1)) })
	},
	"messages": func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		theirs, c := mixedPair(t, "unix", testenv.SocketPath(t, "s"))
		mine := c.(*socket.UnixConn)
		take = func() error {
			_, _, _, _, err := mine.ReadMsgUnix(make([]byte, 1), make([]byte, 1))
			return err
		}
		put = func() error { return err3(mine.WriteMsgUnix([]byte{1}, nil, nil)) }
		return theirs, take, put
	},
	"file": func(t *testing.T) (theirs io.ReadWriter, take, put func() error) {
		mineIn, theirsOut := pipeOfOS(t)
		theirsIn, mineOut := pipeOfOS(t)
		take, _ = bytewise(testenv.Closing(t, testenv.Must(socket.NewFile(mineIn))))
		_, put = bytewise(testenv.Closing(t, testenv.Must(socket.NewFile(mineOut))))
		return struct {
			io.Reader
			io.Writer
		}{theirsIn, theirsOut}, take, put
	},
}

// mixedTCP puts by the function that it is given, or by Write.
func mixedTCP(t *testing.T, by func(net.Conn) error) (io.ReadWriter, func() error, func() error) {
	theirs, mine := mixedPair(t, "tcp", "127.0.0.1:0")
	take, put := bytewise(mine)
	if by != nil {
		put = func() error { return by(mine) }
	}
	return theirs, take, put
}

// mixedPair connects package net with this one.
func mixedPair(t *testing.T, network, address string) (theirs, mine net.Conn) {
	t.Helper()
	l := testenv.Must(net.Listen(network, address))
	defer l.Close()
	mine = testenv.Closing(t, testenv.Must(conet.Dial(network, l.Addr().String())))
	return testenv.Closing(t, testenv.Must(l.Accept())), mine
}

func pipeOfOS(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	testenv.OK(t, err)
	return testenv.Closing(t, r), testenv.Closing(t, w)
}

func bytewise(c io.ReadWriter) (take, put func() error) {
	take = func() error { return testenv.Err(c.Read(make([]byte, 1))) }
	put = func() error { return testenv.Err(c.Write([]byte{1})) }
	return take, put
}

// TestMixedIsOrdered: a write of package net's or os's comes before the read of
// this package's that it enables, and the other way round. Under -race an order
// that the detector does not learn of is a failure.
func TestMixedIsOrdered(t *testing.T) {
	for name, open := range mixed {
		for _, p := range testrun.Places {
			t.Run(name+"/"+p.Name, func(t *testing.T) {
				testrun.Start(t, 2)
				theirs, take, put := open(t)
				takeTheirs, putTheirs := bytewise(theirs)
				steps := 0
				k := p.Go(func() {
					testenv.NoError(t, take())
					steps++
					testenv.NoError(t, put())
				})
				steps++
				testenv.NoError(t, putTheirs())
				testenv.NoError(t, takeTheirs())
				steps++
				k.Wait(t)
				testenv.Equal(t, steps, 3, "steps")
			})
		}
	}
}

// socketsInBubble uses sockets of the kernel's in a bubble.
func socketsInBubble(t *testing.T) {
	ln := testenv.Closing(t, testenv.Must(conet.Listen("tcp", "127.0.0.1:0")))
	served := make(chan struct{})
	go func() {
		defer close(served)
		c := testenv.Must(ln.Accept())
		defer c.Close()
		io.Copy(c, c)
	}()
	c := testenv.Must(conet.DialTimeout("tcp",
		fmt.Sprintf("localhost:%d", ln.Addr().(*net.TCPAddr).Port), time.Minute))
	testenv.NoError(t, answered(c, "hello"))
	real := time.Now()
	c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	for range 2 {
		testenv.Fails(t, testenv.Err(c.Read(make([]byte, 1))), os.ErrDeadlineExceeded,
			"a read under a deadline")
	}
	testenv.Equal(t, time.Since(real), 0,
		"the bubble's clock went on by while a goroutine waited for the kernel")
	c.SetReadDeadline(time.Time{})
	big := make([]byte, 8<<20)
	go c.Write(big)
	if n, err := io.ReadFull(c, make([]byte, len(big))); err != nil {
		t.Errorf("%d of %d bytes came back: %v", n, len(big), err)
	}
	endInBubble(t, c, ln, served)

}

// endInBubble ends reads and an accept that wait.
func endInBubble(t *testing.T, c net.Conn, ln net.Listener, served <-chan struct{}) {
	ended := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	c.SetReadDeadline(time.Unix(1, 0))
	testenv.Fails(t, <-ended, os.ErrDeadlineExceeded, "a read whose deadline was set meanwhile")
	c.SetReadDeadline(time.Time{})
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	c.Close()
	testenv.Fails(t, <-ended, net.ErrClosed, "a read that was closed meanwhile")
	<-served
	go func() {
		_, err := ln.Accept()
		ended <- err
	}()
	ln.Close()
	testenv.Fails(t, <-ended, net.ErrClosed, "an accept that was closed meanwhile")
}

// TestSocketsInBubble: sockets of the kernel's work in a bubble, in real time,
// as those of package net. Nothing that the wait takes is the bubble's: a
// poller that it started kept the bubble from ending, and one outside may not
// wake its goroutines.
func TestSocketsInBubble(t *testing.T) {
	new(socket.Resolver).LookupHost(context.Background(),
		"localhost") // Go's resolver may not be used in a bubble first of all
	before := testenv.Snapshot()
	synctest.Test(t, socketsInBubble)
	start(t, 1) // also beside Processors
	synctest.Test(t, socketsInBubble)
	testenv.NoError(t, netco.Shutdown(context.Background()))
	testenv.NoError(t, before.Leaks())
}

// TestServerInBubble: a Server, whose connections need coroutines, returns an
// error in a bubble.
func TestServerInBubble(t *testing.T) {
	start(t, 1)
	var busy atomic.Bool
	serving := &socket.Server{Handle: func(c *socket.ServerConn) error {
		c.Read(make([]byte, 1))
		busy.Store(true)
		_, err := c.Read(make([]byte, 1)) // Shutdown has to wait for it
		return err
	}}
	ln := testenv.Must(conet.Listen("tcp", "127.0.0.1:0"))
	go serving.Serve(ln)
	peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", ln.Addr().String())))
	testenv.Must(peer.Write([]byte{1}))
	testenv.Until(t, "the connection", busy.Load) // and not only its fd
	synctest.Test(t, func(t *testing.T) {
		inside := testenv.Closing(t, testenv.Must(conet.Listen("tcp", "127.0.0.1:0")))
		c := testenv.Must(conet.Dial("tcp", inside.Addr().String()))
		testenv.Fails(t, new(socket.Server).ServeConn(c.(*socket.TCPConn), nil), netco.ErrBubble,
			"ServeConn")
		testenv.Fails(t, serving.Shutdown(context.Background()), netco.ErrBubble, "Shutdown")
	})
	serving.Close()
}
