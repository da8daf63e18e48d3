package socket_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

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
					if err := s.ServeConn(a); err != nil {
						t.Error(err)
					}
					c.early(s, a)
				})
				release()
				emptied(t, s)
				if opened.Load() != c.opened || closed.Load() != c.opened {
					t.Errorf("Opened was called %d times and Closed %d, want %d", opened.Load(), closed.Load(), c.opened)
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
		if err := s.ServeConn(a); err != nil {
			t.Error(err)
		}
	})
	testenv.Until(t, "the first coroutine to be stopped", func() (stopped bool) {
		coroutine.Look(func(info coroutine.Info) bool {
			if info.Name == s.Name && info.State == coroutine.Waiting && info.Reason == coroutine.ReasonLock {
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
	embedded := func(l net.Listener) net.Listener { return struct{ *socket.TCPListener }{l.(*socket.TCPListener)} }
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
		{"wrapped, limited, wrapped, limited, wrapped", layers{wrapped, limited, wrapped, limited, wrapped}},
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
