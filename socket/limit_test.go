package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
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

// TestLimitListener: accepting stops at the limit and goes on when a connection
// is closed, for coroutines and goroutines.
func TestLimitListener(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "unixpacket"} {
		for _, p := range testrun.Places {
			t.Run(network+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
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
				open := []net.Conn{testenv.Await(t, accepted, "the first"), testenv.Await(t, accepted, "the second")}
				for range 4 {
					testenv.Until(t, "the Accept to wait", func() bool { return socket.WaitForRoom(l) == 1 && k.Parked(coroutine.ReasonAccept) })
					if socket.Places(l) != 2 || len(accepted) != 0 {
						t.Fatalf("%d places taken, %d more accepted", socket.Places(l), len(accepted))
					}
					open[0].Close()
					open[0].Close() // gives nothing back
					open = append(open[1:], testenv.Await(t, accepted, "one more"))
				}
				k.Wait(t)
				if n := socket.AcceptPauses() - pauses; n != 4 {
					t.Errorf("%d pauses, want 4", n)
				}
				for _, c := range open {
					switch c.(type) {
					case *socket.TCPConn, *socket.UnixConn:
					default:
						t.Errorf("accepted a %T", c)
					}
					f, err := c.(interface{ File() (*os.File, error) }).File()
					if err != nil {
						t.Error(err)
					}
					defer f.Close() // the duplicate does not count
					c.Close()
				}
				testenv.Until(t, "the places", func() bool { return socket.Places(l) == 0 })
			})
		}
	}
}

// TestLimitListenerEnds: a wait for room ends as a wait for a connection does,
// and leaves nothing behind.
func TestLimitListenerEnds(t *testing.T) {
	type deadliner interface{ SetDeadline(time.Time) error }
	for _, network := range []string{"tcp", "unix"} {
		for _, p := range testrun.Places {
			for _, c := range []struct {
				name string
				end  func(l net.Listener)
				want error
				stop bool // it ends the Scheduler
			}{
				{"closed", func(l net.Listener) { l.Close() }, net.ErrClosed, false},
				{"deadline", func(l net.Listener) { l.(deadliner).SetDeadline(time.Now().Add(time.Millisecond)) }, os.ErrDeadlineExceeded, false},
				{"draining", func(l net.Listener) { netco.Shutdown(context.Background()) }, netco.ErrShutdown, true},
				{"force", func(l net.Listener) { force(t) }, netco.ErrShutdown, true},
			} {
				t.Run(network+"/"+p.Name+"/"+c.name, func(t *testing.T) {
					startAlone(t, 2)
					l := limitedOn(t, network, 1)
					dialLimited(t, l)
					dialLimited(t, l)
					first := make(chan net.Conn, 1)
					k := p.Go(func() {
						c1, err := l.Accept()
						if err != nil {
							t.Error(err)
							return
						}
						first <- c1
						_, err = l.Accept()
						var op *net.OpError
						if !errors.Is(err, c.want) || !errors.As(err, &op) || op.Op != "accept" || op.Addr.String() != l.Addr().String() {
							t.Errorf("%v, want %v as Accept's", err, c.want)
						}
					})
					one := testenv.Await(t, first, "the first")
					testenv.Until(t, "the Accept to wait", func() bool { return socket.WaitForRoom(l) == 1 && k.Parked(coroutine.ReasonAccept) })
					c.end(l)
					k.Wait(t)
					if socket.WaitForRoom(l) != 0 {
						t.Error("it still waits for room")
					}
					one.Close()
					if !c.stop && c.want != net.ErrClosed {
						l.(deadliner).SetDeadline(time.Time{})
						again := p.Go(func() { // there is room again
							if c2, err := l.Accept(); err != nil {
								t.Error(err)
							} else {
								c2.Close()
							}
						})
						again.Wait(t)
					}
					if n := socket.Places(l); n != 0 {
						t.Errorf("%d places are taken", n)
					}
				})
			}
		}
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
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
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
		l := limitedOn(t, "tcp", n[0])
		socket.LimitListener(l, n[1])
		for range 3 {
			dialLimited(t, l)
		}
		var last net.Conn
		for range 3 {
			if last != nil {
				l.(*socket.TCPListener).SetDeadline(time.Now().Add(10 * time.Millisecond))
				if _, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("limits %v: a second Accept: %v", n, err)
				}
				l.(*socket.TCPListener).SetDeadline(time.Time{})
				last.Close()
			}
			var err error
			if last, err = l.Accept(); err != nil {
				t.Fatal(err)
			}
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
			for range 2 {
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				accepted <- c
			}
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v, want net.ErrClosed", err)
			}
		})
		c := testenv.Await(t, accepted, "the first")
		testenv.Until(t, "the Accept to wait", func() bool { return k.Parked(coroutine.ReasonAccept) })
		c.Close()
		c.Close()
		c = testenv.Await(t, accepted, "the second")
		testenv.Until(t, "the Accept to wait", func() bool { return k.Parked(coroutine.ReasonAccept) })
		l.Close()
		k.Wait(t)
		c.Close()
		if n := socket.Places(l); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
}

func TestLimitNone(t *testing.T) {
	start(t, 1)
	for _, n := range []int{0, -1} {
		if _, err := limitedOn(t, "tcp", n).Accept(); err == nil {
			t.Errorf("accepted under a limit of %d", n)
		}
		if _, err := socket.LimitListener(otherListener{listen(t)}, n).Accept(); err == nil {
			t.Errorf("accepted under a limit of %d", n)
		}
	}
	s := &socket.Server{Handle: echoOnce, MaxConns: -1}
	if err := s.Serve(listen(t)); err == nil {
		t.Error("served with MaxConns -1")
	}
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
			if err := s.Serve(l); !errors.Is(err, socket.ErrServerClosed) {
				t.Errorf("Serve: %v", err)
			}
		}))
	}
	conns := make([]net.Conn, clients)
	for i := range conns {
		conns[i] = dialLimited(t, listeners[i%len(listeners)])
	}
	served := make(chan int, clients)
	for i, c := range conns {
		go func() {
			io.WriteString(c, "x")
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
			served <- i
		}()
	}
	var open []int
	for range most {
		open = append(open, testenv.Await(t, served, "a client to be served"))
	}
	testenv.Until(t, "accepting to pause", func() bool { return socket.WaitForRoom(listeners[0]) > 0 && socket.WaitForRoom(listeners[2]) > 0 })
	if socket.Places(listeners[0]) != most || len(served) != 0 {
		t.Errorf("%d places taken, %d more served at the limit", socket.Places(listeners[0]), len(served))
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
					c, err := l.(*socket.UnixListener).AcceptUnix()
					if err != nil {
						t.Error(err)
						return
					}
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
