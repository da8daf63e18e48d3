package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
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
				p := testrun.Places[i%len(testrun.Places)]
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
// pointer in one.
func TestFacadeNil(t *testing.T) {
	start(t, 1)
	if l, err := netco.Listen("tcp", "127.0.0.1:99999"); l != nil || err == nil {
		t.Errorf("Listen: %v, %v", l, err)
	}
	if c, err := netco.Dial("tcp", testenv.ClosedPort(t)); c != nil || err == nil {
		t.Errorf("Dial: %v, %v", c, err)
	}
	l := listen(t)
	l.SetDeadline(time.Unix(1, 0))
	if c, err := net.Listener(l).Accept(); c != nil || err == nil {
		t.Errorf("Accept: %v, %v", c, err)
	}
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

// TestGoroutinesLeaveNothing: ordinary goroutines that use sockets start what
// watches these and nothing else, and once the sockets are closed no goroutine
// and no fd of it is left. All Processors and a watchdog were started, for
// good.
func TestGoroutinesLeaveNothing(t *testing.T) {
	// what package net and the runtime make once
	if c, err := net.Dial("tcp", echoNet(t)); err == nil {
		c.Close()
	}
	before := testenv.Snapshot()
	for range 3 { // it starts anew each time
		ln := echoes(testenv.Must(socket.Listen("tcp", "127.0.0.1:0")))
		c := testenv.Must(socket.Dial("tcp", ln.Addr().String()))
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
		if now := testenv.Snapshot(); now.Goroutines > before.Goroutines || now.FDs > before.FDs {
			if err := before.Leaks(); err != nil { // the end of the server's, say
				t.Fatal(err)
			}
		}
	}
}

// TestGoroutinesOneByOne: connections that follow one another at once have one
// goroutine poller, which is neither woken nor made for each.
func TestGoroutinesOneByOne(t *testing.T) {
	address := echoNet(t)
	for range 200 {
		c := testenv.Must(socket.Dial("tcp", address))
		testenv.OK(t, answered(c, "hello"))
		c.Close()
	}
	testenv.Until(t, "its end", func() bool {
		return !strings.Contains(string(testenv.Stacks()), "netco/processor.")
	})
}

// TestAcceptBeforeStart: an Accept that a goroutine began before the default
// Scheduler was started ends with it all the same, and one that begins after
// that does not.
func TestAcceptBeforeStart(t *testing.T) {
	for range 2 {
		ln := testenv.Closing(t, testenv.Must(socket.Listen("tcp", "127.0.0.1:0")))
		k := testrun.Goroutine.Go(func() {
			testenv.Fails(t, testenv.Err(ln.Accept()), netco.ErrShutdown, "Accept")
		})
		k.UntilParked(t, coroutine.ReasonAccept)
		c := testenv.Closing(t, testenv.Must(socket.Dial("tcp", echoNet(t))))
		testenv.NoError(t, answered(c, "hello"))
		testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
		testenv.OK(t, netco.Shutdown(context.Background()))
		k.Wait(t)
		testenv.Fails(t, testenv.Err(c.Read(make([]byte, 1))), netco.ErrShutdown)
	}
}

// Libraries connect, read and write on goroutines of their own, and make who
// called them wait for these in a Go channel. If that is a coroutine, its
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

// TestCoroutineWaitsForGoroutine: a coroutine that blocks its Processor until a
// goroutine has dialled and been answered is not waited for by that goroutine
// in turn.
func TestCoroutineWaitsForGoroutine(t *testing.T) {
	address := echoNet(t)
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint(n, " Processors"), func(t *testing.T) {
			start(t, n)
			var tasks []*testrun.Task
			for i := range n { // all of them are held up
				tasks = append(tasks, testrun.On(i).Go(func() {
					done := make(chan error)
					go func() {
						c, err := netco.Dial("tcp", address)
						if err == nil {
							err = answered(c, "hello")
							c.Close()
						}
						done <- err
					}()
					testenv.NoError(t, <-done)
				}))
			}
			testrun.WaitAll(t, tasks...)
		})
	}
}

// TestGoroutineTakesOver: the same with a connection that the coroutine has
// used, and uses again.
func TestGoroutineTakesOver(t *testing.T) {
	address := echoNet(t)
	start(t, 1)
	testrun.First.Do(t, func() {
		c := testenv.Must(netco.Dial("tcp", address))
		defer c.Close()
		for i := range 20 {
			testenv.NoError(t, answered(c, fmt.Sprint("coroutine ", i)))
			done := make(chan error)
			go func() { done <- answered(c, fmt.Sprint("goroutine ", i)) }()
			testenv.NoError(t, <-done)
		}
	})
}

// TestGoroutineAccepts: goroutines serve while every Processor is held up.
func TestGoroutineAccepts(t *testing.T) {
	startLocked(t, 2)
	l := listen(t)
	k := testrun.Goroutine.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go echo(c)
		}
	})
	k.UntilParked(t, 0)
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
