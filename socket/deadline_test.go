package socket_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// checkTimeout checks that err is what net returns for an operation that a
// deadline has ended.
func checkTimeout(t *testing.T, op string, err error) {
	t.Helper()
	var (
		e  *net.OpError
		ne net.Error
	)
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		t.Errorf("%s: %v, want os.ErrDeadlineExceeded", op, err)
	case !errors.As(err, &e) || e.Op != op || e.Addr == nil:
		t.Errorf("%s: %#v, want a *net.OpError of it", op, err)
	case !errors.As(err, &ne) || !ne.Timeout():
		t.Errorf("%s: Timeout is not true for %v", op, err)
	case errors.Is(err, net.ErrClosed):
		t.Errorf("%s: %v looks closed", op, err)
	}
}

// empty brings c to where it knows that there is nothing to read.
func empty(t *testing.T, c *socket.TCPConn, peer net.Conn) {
	t.Helper()
	testenv.Must(peer.Write([]byte("x")))
	testenv.Must(c.Read(make([]byte, 10)))
}

// TestDeadlineOfOneDirection: a deadline for reads leaves writes alone, and the
// reverse.
func TestDeadlineOfOneDirection(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	testenv.OK(t, c.SetReadDeadline(past))
	testenv.Gives(t, 1, nil)(c.Write([]byte("x")))
	testenv.OK(t, c.SetWriteDeadline(past))
	c.SetReadDeadline(future)
	peer.Write([]byte("y"))
	testenv.Gives(t, 1, nil)(c.Read(make([]byte, 1)))
	checkTimeout(t, "write", testenv.Err(c.Write([]byte("x"))))
	c.SetDeadline(past)
	checkTimeout(t, "read", testenv.Err(c.Read(make([]byte, 1))))
}

// TestDeadlineStays: a deadline holds for all operations until it is set anew,
// and one that passed while nothing waited counts.
func TestDeadlineStays(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		p.Do(t, func() {
			at := time.Now().Add(20 * time.Millisecond)
			c.SetReadDeadline(at)
			var err error
			for err == nil {
				testenv.Must(peer.Write([]byte("x")))
				_, err = c.Read(make([]byte, 10))
			}
			checkTimeout(t, "read", err)
			if time.Now().Before(at) {
				t.Error("too early")
			}
			c.SetReadDeadline(time.Time{})
			// The byte that met the deadline is still there.
			testenv.Gives(t, 1, nil)(c.Read(make([]byte, 10)))
		})
	})
}

// TestDeadlineAgainstTimer moves a deadline back and forth from another thread
// while the timer of the one before fires, so that the two wakers meet. Under
// the race detector this also checks that a late waker does not touch the
// waiter's next park.
func TestDeadlineAgainstTimer(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		stop := make(chan struct{})
		mover := testrun.Goroutine.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					c.SetReadDeadline(time.Now().Add(time.Duration(i%50) * time.Microsecond))
				}
			}
		})
		p.Do(t, func() {
			for range 2000 {
				_, err := c.Read(make([]byte, 1))
				checkTimeout(t, "read", err)
			}
		})
		close(stop)
		mover.Wait(t)
	})
}
