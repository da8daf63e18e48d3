package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
)

// TestFINInTheEdgeOfItsData: data and FIN arrive before the Processor looks, so
// epoll tells of both in one event. Who skips the read after a short one, since
// the socket was emptied, then waits for an edge that has been already: a trap
// that prototypes fell into. The reader must get the data and then io.EOF.
func TestFINInTheEdgeOfItsData(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for _, parked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/parked=%v", p.Name, parked), func(t *testing.T) {
				startLocked(t, 1)
				c, peer := withPeer(t)
				read := func() {
					got, err := io.ReadAll(c)
					if string(got) != "last words" || err != nil {
						t.Errorf("read %q, %v", got, err)
					}
				}
				var reader *testrun.Task
				release := func() {}
				if parked {
					reader = p.Go(read)
					reader.UntilParked(t, coroutine.ReasonRead)
					release = hog(t, 0)
				}
				testenv.Must(peer.Write([]byte("last words")))
				testenv.OK(t, peer.CloseWrite())
				testenv.Until(t, "the FIN", func() bool { return tcpState(t, c.FD()) == tcpCloseWait })
				release()
				if !parked {
					reader = p.Go(read)
				}
				reader.Wait(t)
			})
		}
	}
}

// TestFINAfterShortRead is the same trap the other way round: the short read
// comes first, the FIN alone after it.
func TestFINAfterShortRead(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 1)
			c, peer := withPeer(t)
			testenv.Must(peer.Write([]byte("data")))
			reader := p.Go(func() {
				var buf [64]byte
				if n, err := c.Read(buf[:]); n != 4 || err != nil {
					t.Errorf("first read: %d, %v", n, err)
				}
				if n, err := c.Read(buf[:]); n != 0 || err != io.EOF {
					t.Errorf("second read: %d, %v, want 0, EOF", n, err)
				}
				if n, err := c.Read(buf[:]); n != 0 || err != io.EOF {
					t.Errorf("third read: %d, %v, want 0, EOF again", n, err)
				}
			})
			reader.UntilParked(t, coroutine.ReasonRead)
			testenv.OK(t, peer.CloseWrite())
			reader.Wait(t)
		})
	}
}

// outcome is what a sequence of operations on a connection gave, in a form in
// which two can be compared.
func outcome(n int, err error) string {
	var op *net.OpError
	var sys *os.SyscallError
	switch {
	case err == nil:
		return fmt.Sprintf("%d", n)
	case errors.As(err, &op) && errors.As(err, &sys):
		return fmt.Sprintf("%d %s: %v timeout=%v", n, op.Op, sys, op.Timeout())
	case errors.As(err, &op):
		return fmt.Sprintf("%d %s: %v timeout=%v", n, op.Op, op.Err, op.Timeout())
	}
	return fmt.Sprintf("%d %v", n, err)
}

// TestResetLikeNet: a peer sends data, then resets. Reads and writes return
// what they return on net's connections, in the same order. C++ netco reported
// success.
func TestResetLikeNet(t *testing.T) {
	for _, unread := range []int{0, 1000} {
		want := reset(t, unread, func(t *testing.T) (net.Conn, func() int, *net.TCPConn) {
			c, peer := netPair(t)
			raw := testenv.Must(c.SyscallConn())
			return c, func() (state int) {
				raw.Control(func(fd uintptr) { state = tcpState(t, int(fd)) })
				return state
			}, peer
		}, testrun.Place{Name: "net", Run: testrun.Goroutine.Run})
		for _, p := range testrun.Places {
			t.Run(fmt.Sprintf("%s/%d unread", p.Name, unread), func(t *testing.T) {
				start(t, 2)
				got := reset(t, unread, func(t *testing.T) (net.Conn, func() int, *net.TCPConn) {
					c, peer := withPeer(t)
					return c, func() int { return tcpState(t, c.FD()) }, peer
				}, p)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got  %q\nwant %q, as net", got, want)
				}
			})
		}
	}
}

func reset(t *testing.T, unread int, connect func(*testing.T) (net.Conn, func() int, *net.TCPConn), p testrun.Place) (got []string) {
	c, state, peer := connect(t)
	testenv.Must(peer.Write(pattern(unread)))
	peer.SetLinger(0)
	peer.Close()
	testenv.Until(t, "the reset", func() bool { return state() == tcpClose })
	p.Do(t, func() {
		buf := make([]byte, 4096)
		for range 3 {
			got = append(got, outcome(c.Read(buf)))
		}
		for range 2 {
			got = append(got, outcome(c.Write(buf)))
		}
	})
	return got
}

// TestResetWakes: reader and writer that are parked when the reset comes get
// ECONNRESET, or what the other of the two left of it.
func TestResetWakes(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		errs := make(chan error, 2)
		reader := p.Go(func() {
			_, err := c.Read(make([]byte, 1))
			errs <- err
		})
		writer := p.Go(func() {
			_, err := c.Write(tooMuch)
			errs <- err
		})
		reader.UntilParked(t, coroutine.ReasonRead)
		writer.UntilParked(t, coroutine.ReasonWrite)
		peer.SetLinger(0)
		peer.Close()
		reset := 0
		for range 2 {
			switch err := testenv.Await(t, errs, "the reset"); {
			case errors.Is(err, unix.ECONNRESET):
				reset++
			case err == io.EOF || errors.Is(err, unix.EPIPE):
			default:
				t.Errorf("got %v", err)
			}
		}
		if reset == 0 {
			t.Error("neither was told of the reset")
		}
	})
}

// TestHalfClose: 8 MiB after a FIN in the other direction, both ways, and a
// Close right behind 8 MiB. gnet, netpoll and nbio lose data here.
func TestHalfClose(t *testing.T) {
	const total = 8 << 20
	for _, p := range testrun.Places {
		t.Run("theirs first/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			testenv.OK(t, peer.CloseWrite())
			k := p.Go(func() {
				defer c.Close()
				if n, err := c.Read(make([]byte, 10)); n != 0 || err != io.EOF {
					t.Errorf("read %d, %v, want 0, EOF", n, err)
				}
				if n, err := c.Write(pattern(total)); n != total || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			})
			got, err := io.ReadAll(peer)
			if d := differs(got, 0); len(got) != total || err != nil || d != "" {
				t.Errorf("the peer read %d of %d, %v %s", len(got), total, err, d)
			}
			k.Wait(t)
		})
		t.Run("ours first/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			k := p.Go(func() {
				if _, err := c.Write([]byte("question")); err != nil {
					t.Error(err)
				}
				if err := c.CloseWrite(); err != nil {
					t.Error(err)
				}
				got, err := io.ReadAll(c)
				if d := differs(got, 0); len(got) != total || err != nil || d != "" {
					t.Errorf("read %d of %d, %v %s", len(got), total, err, d)
				}
				if _, err := c.Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
					t.Errorf("a write after CloseWrite: %v, want EPIPE", err)
				}
			})
			if q, err := io.ReadAll(peer); string(q) != "question" || err != nil {
				t.Errorf("the peer read %q, %v", q, err)
			}
			if _, err := peer.Write(pattern(total)); err != nil {
				t.Error(err)
			}
			peer.Close()
			k.Wait(t)
		})
	}
}

// TestCloseRead: a reader that waits gets io.EOF, and so do later ones; writing
// goes on.
func TestCloseRead(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		reader := p.Go(func() {
			for range 2 {
				if n, err := c.Read(make([]byte, 10)); n != 0 || err != io.EOF {
					t.Errorf("read %d, %v, want 0, EOF", n, err)
				}
			}
		})
		reader.UntilParked(t, coroutine.ReasonRead)
		testenv.OK(t, c.CloseRead())
		reader.Wait(t)
		p.Do(t, func() {
			if _, err := c.Write([]byte("still here")); err != nil {
				t.Error(err)
			}
			c.Close()
		})
		if got, err := io.ReadAll(peer); string(got) != "still here" || err != nil {
			t.Errorf("the peer read %q, %v", got, err)
		}
	})
}
