package socket_test

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// tooMuch is more than fits into any buffers.
var tooMuch = make([]byte, 64<<20)

// blockers are the operations that wait, each on what nobody will give it.
var blockers = []struct {
	op     string
	reason coroutine.Reason
	make   func(t *testing.T) (wait func() error, close func() error)
}{
	{"read", coroutine.ReasonRead, func(t *testing.T) (func() error, func() error) {
		c, _ := withPeer(t)
		return func() error {
			n, err := c.Read(make([]byte, 10))
			if n != 0 {
				t.Errorf("read %d", n)
			}
			return err
		}, c.Close
	}},
	{"read", coroutine.ReasonRead, func(t *testing.T) (func() error, func() error) {
		c, peer := withPeer(t)
		under := 0 // bytes that were sent and not read
		return func() error {
			if _, err := peer.Write([]byte("x")); err == nil {
				under++
			}
			for under > 0 { // a connection that has been read empty waits without another read
				n, err := c.Read(make([]byte, 10))
				if under -= n; err != nil {
					break
				}
			}
			return c.WaitReadable()
		}, c.Close
	}},
	{"write", coroutine.ReasonWrite, func(t *testing.T) (func() error, func() error) {
		c, _ := withPeer(t)
		return func() error {
			n, err := c.Write(tooMuch)
			if n >= len(tooMuch) {
				t.Errorf("wrote %d of %d", n, len(tooMuch))
			}
			return err
		}, c.Close
	}},
	{"accept", coroutine.ReasonAccept, func(t *testing.T) (func() error, func() error) {
		l := listen(t)
		return func() error {
			c, err := l.Accept()
			if c != nil {
				t.Errorf("accepted %v", c)
			}
			return err
		}, l.Close
	}},
}

// checkClosed checks that err is what net returns for an operation that Close
// has ended.
func checkClosed(t *testing.T, op string, err error) {
	t.Helper()
	var e *net.OpError
	switch {
	case !errors.Is(err, net.ErrClosed):
		t.Errorf("%s: %v, want net.ErrClosed", op, err)
	case !errors.As(err, &e) || e.Op != op || e.Net != "tcp" || e.Err != net.ErrClosed || e.Addr == nil:
		t.Errorf("%s: %#v, want a *net.OpError of it", op, err)
	case e.Timeout() || errors.Is(err, coroutine.ErrShutdown):
		t.Errorf("%s: %v looks like something else", op, err)
	}
}

// TestCloseEndsWaits closes from every kind of place what is waited for in
// every kind of place.
func TestCloseEndsWaits(t *testing.T) {
	for i, b := range blockers {
		for _, waiter := range testrun.Places {
			for _, closer := range testrun.Places {
				t.Run(fmt.Sprintf("%d %s/%s/closed by %s", i, b.op, waiter.Name, closer.Name), func(t *testing.T) {
					start(t, 2)
					wait, close := b.make(t)
					before := socket.Open()
					w := waiter.Go(func() { checkClosed(t, b.op, wait()) })
					w.UntilParked(t, b.reason)
					k := closer.Go(func() {
						if err := close(); err != nil {
							t.Errorf("Close: %v", err)
						}
						checkClosed(t, "close", close())
					})
					k.Wait(t)
					w.Wait(t)
					checkClosed(t, b.op, wait()) // and the next one too
					if n := socket.Open(); n != before-1 {
						t.Errorf("%d sockets open after the close, want %d", n, before-1)
					}
				})
			}
		}
	}
}

// fdOf is the fd of one of net's connections.
func fdOf(t *testing.T, c *net.TCPConn) (fd int) {
	t.Helper()
	raw := testenv.Must(c.SyscallConn())
	raw.Control(func(p uintptr) { fd = int(p) })
	return fd
}

// TestCloseParked: an fd that is only waited for is closed at once, and its
// number may be given away before the one that waits has run. That one touches
// it no more.
func TestCloseParked(t *testing.T) {
	startLocked(t, 1)
	c, _ := withPeer(t)
	reader := testrun.First.Go(func() {
		for range 3 {
			n, err := c.Read(make([]byte, 10))
			checkClosed(t, "read", err)
			if n != 0 {
				t.Errorf("%d bytes of another connection", n)
			}
		}
	})
	reader.UntilParked(t, coroutine.ReasonRead)
	release := hog(t, 0) // so that the reader cannot return
	fd, before := c.FD(), socket.Open()
	c.Close()
	if n := socket.Open(); n != before-1 {
		t.Errorf("%d sockets open, want %d", n, before-1)
	}
	again := false
	for range 10 {
		a, b := netPair(t)
		for _, x := range [][2]*net.TCPConn{{a, b}, {b, a}} {
			again = again || fdOf(t, x[0]) == fd
			x[1].Write([]byte("not yours"))
		}
	}
	if !again {
		t.Error("the fd's number was not given away, so this shows nothing")
	}
	release()
	reader.Wait(t)
	if n := socket.Open(); n != before-1 {
		t.Errorf("%d sockets open in the end, want %d", n, before-1)
	}
}

// TestCloseFreesFDLast: while somebody is in the middle of using the fd, its
// number is not given to anybody else.
func TestCloseFreesFDLast(t *testing.T) {
	for _, closer := range testrun.Places {
		t.Run(closer.Name, func(t *testing.T) {
			start(t, 2)
			c, _ := withPeer(t)
			inside, leave := make(chan struct{}), make(chan struct{})
			user := testrun.Goroutine.Go(func() {
				raw, err := c.SyscallConn()
				if err != nil {
					t.Error(err)
					return
				}
				raw.Control(func(uintptr) {
					close(inside)
					<-leave
				})
			})
			// who is parked does not hide who is not
			reader := testrun.First.Go(func() { c.Read(make([]byte, 1)) })
			reader.UntilParked(t, coroutine.ReasonRead)
			testenv.Await(t, inside, "the user")
			fd, before := c.FD(), socket.Open()
			closer.Go(func() { c.Close() }).Wait(t) // a goroutine's waits a while
			reader.Wait(t)
			for range 10 {
				a, b := netPair(t)
				if fdOf(t, a) == fd || fdOf(t, b) == fd {
					t.Errorf("fd %d is in use again while it is used", fd)
				}
			}
			if n := socket.Open(); n != before {
				t.Errorf("%d sockets open, want %d", n, before)
			}
			close(leave)
			user.Wait(t)
			if n := socket.Open(); n != before-1 {
				t.Errorf("%d sockets open after the last user has gone, want %d", n, before-1)
			}
		})
	}
}

// TestCloseEndsQueued: of five readers one waits for the socket and four for
// their turn; all are told.
func TestCloseEndsQueued(t *testing.T) {
	start(t, 2)
	c, _ := withPeer(t)
	var tasks []*testrun.Task
	for i := range 5 {
		k := testrun.Places[i%len(testrun.Places)].Go(func() {
			_, err := c.Read(make([]byte, 1))
			checkClosed(t, "read", err)
		})
		reason := coroutine.ReasonLock
		if i == 0 {
			reason = coroutine.ReasonRead
		}
		k.UntilParked(t, reason)
		tasks = append(tasks, k)
	}
	c.Close()
	testrun.WaitAll(t, tasks...)
}

// TestUseAfterClose runs every method on a closed connection beside net's and
// compares the errors, and closed listeners too.
func TestUseAfterClose(t *testing.T) {
	start(t, 1)
	ours, _ := withPeer(t)
	theirs, _ := netPair(t)
	ours.Close()
	theirs.Close()
	type conn interface {
		net.Conn
		CloseRead() error
		CloseWrite() error
		SetNoDelay(bool) error
		SetKeepAlive(bool) error
		SetLinger(int) error
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}
	soon := time.Now().Add(time.Hour)
	for name, call := range map[string]func(c conn) error{
		"Read":             func(c conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"Read nothing":     func(c conn) error { _, err := c.Read(nil); return err },
		"Write":            func(c conn) error { _, err := c.Write([]byte("x")); return err },
		"Write nothing":    func(c conn) error { _, err := c.Write(nil); return err },
		"Close":            func(c conn) error { return c.Close() },
		"CloseRead":        func(c conn) error { return c.CloseRead() },
		"CloseWrite":       func(c conn) error { return c.CloseWrite() },
		"SetDeadline":      func(c conn) error { return c.SetDeadline(soon) },
		"SetReadDeadline":  func(c conn) error { return c.SetReadDeadline(soon) },
		"SetWriteDeadline": func(c conn) error { return c.SetWriteDeadline(soon) },
		"SetNoDelay":       func(c conn) error { return c.SetNoDelay(true) },
		"SetKeepAlive":     func(c conn) error { return c.SetKeepAlive(true) },
		"SetLinger":        func(c conn) error { return c.SetLinger(0) },
		"SetReadBuffer":    func(c conn) error { return c.SetReadBuffer(4096) },
		"SetWriteBuffer":   func(c conn) error { return c.SetWriteBuffer(4096) },
	} {
		got, want := outcome(0, call(ours)), outcome(0, call(theirs))
		if got != want || !errors.Is(call(ours), net.ErrClosed) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if ours.LocalAddr() == nil || ours.RemoteAddr() == nil {
		t.Error("a closed connection has forgotten its addresses")
	}

	l := listen(t)
	l.Close()
	nl := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	nl.Close()
	checkClosed(t, "set", l.SetDeadline(soon)) // net's is bare
	for name, call := range map[string]func(l net.Listener) error{
		"Accept": func(l net.Listener) error { _, err := l.Accept(); return err },
		"Close":  func(l net.Listener) error { return l.Close() },
	} {
		got, want := outcome(0, call(l)), outcome(0, call(nl))
		if got != want || !errors.Is(call(l), net.ErrClosed) {
			t.Errorf("Listener.%s: %s, want %s", name, got, want)
		}
	}
}

// TestCloseWaits: when Close returns the fd is closed, also when a coroutine of
// any Processor, the caller's own among them, was using it: its port is free.
func TestCloseWaits(t *testing.T) {
	for _, user := range testrun.Places {
		for _, closer := range testrun.Places {
			t.Run(user.Name+"/"+closer.Name, func(t *testing.T) {
				start(t, 2)
				taken := 0 // by somebody else, at the very moment
				for range 20 {
					l := listen(t)
					k := user.Go(func() {
						if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
							t.Errorf("Accept: %v", err)
						}
					})
					k.UntilParked(t, coroutine.ReasonAccept)
					closer.Do(t, func() {
						l.Close()
						if n := socket.Open(); n != 0 {
							t.Errorf("%d sockets are open", n)
						}
						again, err := socket.Listen("tcp", l.Addr().String())
						if errors.Is(err, unix.EADDRINUSE) && taken == 0 {
							taken++
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						again.Close()
					})
					k.Wait(t)
				}
			})
		}
	}
}

// TestCloseDoesNotHang: a coroutine that cannot return, because its thread
// waits for whoever closes, is not waited for.
func TestCloseDoesNotHang(t *testing.T) {
	start(t, 1)
	a, _ := withPeer(t)
	k := testrun.First.Go(func() { a.Read(make([]byte, 1)) })
	k.UntilParked(t, coroutine.ReasonRead)
	testrun.First.Do(t, func() {
		done := make(chan struct{})
		go func() {
			a.Close()
			close(done)
		}()
		<-done
	})
	k.Wait(t)
}
