package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// forHours is a time to linger that no test waits for.
const forHours = 10_000

// lingerFor sets the option as others set it.
func lingerFor(c syscall.RawConn, sec int32) (err error) {
	cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: sec})
	})
	if cerr != nil {
		return cerr
	}
	return err
}

// unsent writes to c until the peer, who does not read, has all that it takes
// and more, and returns how much that is.
func unsent(t *testing.T, c net.Conn) (n int) {
	t.Helper()
	c.SetWriteDeadline(time.Now().Add(time.Millisecond))
	for {
		some, err := c.Write(make([]byte, 64<<10))
		n += some
		if err != nil {
			return n
		}
	}
}

// readsRest reads what is left to the end of the stream, and checks how much it
// is.
func readsRest(t *testing.T, peer *net.TCPConn, want int) {
	t.Helper()
	n, err := io.Copy(io.Discard, peer)
	if int(n) != want || err != nil {
		t.Errorf("the peer got %d bytes, %v; want %d", n, err, want)
	}
}

// TestCloseDoesNotLinger: close(2) of a socket with SO_LINGER waits until the
// peer has everything, however non-blocking it is, and held up the whole
// Processor.
func TestCloseDoesNotLinger(t *testing.T) {
	listen := func(t *testing.T, lc socket.ListenConfig) net.Listener {
		l := testenv.Must(lc.Listen(context.Background(), "tcp", "127.0.0.1:0"))
		return l
	}
	accept := func(t *testing.T, l net.Listener) (*socket.TCPConn, *net.TCPConn) {
		defer l.Close()
		peer := testenv.Must(net.Dial("tcp", l.Addr().String()))
		c := testenv.Must(l.Accept())
		t.Cleanup(func() { c.Close(); peer.Close() })
		return c.(*socket.TCPConn), peer.(*net.TCPConn)
	}
	byHand := func(_, _ string, c syscall.RawConn) error { return lingerFor(c, forHours) }
	for name, made := range map[string]func(t *testing.T) (net.Conn, *net.TCPConn){
		"SetLinger": func(t *testing.T) (net.Conn, *net.TCPConn) {
			c, peer := withPeer(t)
			testenv.OK(t, c.SetLinger(forHours))
			return c, peer
		},
		"SyscallConn": func(t *testing.T) (net.Conn, *net.TCPConn) {
			c, peer := withPeer(t)
			raw, err := c.SyscallConn()
			if err == nil {
				err = lingerFor(raw, forHours)
			}
			if err != nil {
				t.Fatal(err)
			}
			return c, peer
		},
		"inherited": func(t *testing.T) (net.Conn, *net.TCPConn) {
			return accept(t, listen(t, socket.ListenConfig{Control: byHand}))
		},
		"inherited later": func(t *testing.T) (net.Conn, *net.TCPConn) {
			l := listen(t, socket.ListenConfig{})
			raw, err := l.(*socket.TCPListener).SyscallConn()
			if err == nil {
				err = lingerFor(raw, forHours)
			}
			if err != nil {
				t.Fatal(err)
			}
			return accept(t, l)
		},
		"Dialer.Control": func(t *testing.T) (net.Conn, *net.TCPConn) {
			l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
			c := testenv.Must((&socket.Dialer{Control: byHand}).Dial("tcp", l.Addr().String()))
			peer := testenv.Must(l.Accept())
			t.Cleanup(func() { c.Close(); peer.Close() })
			return c, peer.(*net.TCPConn)
		},
		"FileConn": func(t *testing.T) (net.Conn, *net.TCPConn) {
			theirs, peer := netPair(t)
			theirs.SetLinger(forHours)
			f := testenv.Must(theirs.File())
			c := testenv.Must(socket.FileConn(f))
			f.Close()
			theirs.Close()
			t.Cleanup(func() { c.Close() })
			return c, peer
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			c, peer := made(t)
			n := unsent(t, c)
			testrun.First.Go(func() { c.Close() }).Wait(t)
			readsRest(t, peer, n)
		})
	}

	t.Run("Socket", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		f := testenv.Closing(t, testenv.Must(c.File()))
		fd := testenv.Must(unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0))
		x := testenv.Must(socket.AdoptSocket(fd))
		raw, _ := x.SyscallConn()
		lingerFor(raw, forHours)
		n := unsent(t, c)
		f.Close()
		c.Close()
		testrun.First.Go(func() { x.Close() }).Wait(t)
		readsRest(t, peer, n)
	})
	t.Run("Server", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		c.SetLinger(forHours)
		n := unsent(t, c)
		closed := make(chan struct{})
		s := &socket.Server{
			Handle: func(c *socket.ServerConn) error {
				c.Read(make([]byte, 1)) // what is unread would make it a reset
				return io.ErrUnexpectedEOF
			},
			Closed: func(*socket.ServerConn, error) { close(closed) },
		}
		peer.Write([]byte("x"))
		testenv.OK(t, s.ServeConn(c))
		testenv.Await(t, closed, "the connection to be closed")
		polled(t)
		readsRest(t, peer, n)
	})
	t.Run("the end by force", func(t *testing.T) {
		testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
		c, peer := withPeer(t)
		c.SetLinger(forHours)
		n := unsent(t, c)
		c.SetDeadline(time.Time{})
		k := testrun.First.Go(func() {
			defer c.Close()
			c.Read(make([]byte, 1))
		})
		k.UntilParked(t, coroutine.ReasonRead)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		netco.Shutdown(ctx)
		k.Wait(t)
		readsRest(t, peer, n)
	})
}

// TestLingerZero: with 0 a Close still resets the connection.
func TestLingerZero(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	c.SetLinger(0)
	testrun.First.Go(func() { c.Close() }).Wait(t)
	if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the peer's read: %v, want a reset", err)
	}
}
