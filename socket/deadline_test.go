package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/netco-go/netco/coroutine"
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

var (
	past   = time.Unix(1, 0)
	future = time.Now().Add(100 * time.Hour)
)

// timed are the operations that a deadline ends, each one not possible until
// release is called.
var timed = []struct {
	op     string
	reason coroutine.Reason
	make   func(t *testing.T) timedOp
}{
	{"read", coroutine.ReasonRead, func(t *testing.T) timedOp {
		c, peer := withPeer(t)
		return timedOp{
			wait:    func() error { _, err := c.Read(make([]byte, 10)); return err },
			set:     c.SetReadDeadline,
			release: func() { peer.Write([]byte("x")) },
			after:   func() {},
		}
	}},
	{"read", coroutine.ReasonRead, func(t *testing.T) timedOp {
		c, peer := withPeer(t)
		empty(t, c, peer)
		return timedOp{
			wait:    c.WaitReadable,
			set:     c.SetDeadline,
			release: func() { peer.Write([]byte("x")) },
			after:   func() { c.Read(make([]byte, 10)) },
		}
	}},
	{"write", coroutine.ReasonWrite, func(t *testing.T) timedOp {
		c, peer := withPeer(t)
		return timedOp{
			wait:    func() error { _, err := c.Write(tooMuch); return err },
			set:     c.SetWriteDeadline,
			release: func() { go io.Copy(io.Discard, peer) },
		}
	}},
	{"accept", coroutine.ReasonAccept, func(t *testing.T) timedOp {
		l := listen(t)
		return timedOp{
			wait: func() error { return shut(l.Accept()) },
			set:  l.SetDeadline,
			release: func() {
				if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
					t.Cleanup(func() { c.Close() })
				}
			},
			after: func() {},
		}
	}},
}

type timedOp struct {
	wait    func() error
	set     func(time.Time) error
	release func()
	after   func() // undoes release
}

// empty brings c to where it knows that there is nothing to read.
func empty(t *testing.T, c *socket.TCPConn, peer net.Conn) {
	t.Helper()
	testenv.Must(peer.Write([]byte("x")))
	testenv.Must(c.Read(make([]byte, 10)))
}

func forTimed(t *testing.T, f func(t *testing.T, p testrun.Place, op string,
	reason coroutine.Reason, x timedOp)) {
	for i, b := range timed {
		t.Run(fmt.Sprint(i, " ", b.op), func(t *testing.T) {
			inPlaces(t, func(t *testing.T, p testrun.Place) { f(t, p, b.op, b.reason, b.make(t)) })
		})
	}
}

// TestDeadlinePast: an operation does not even begin, also when what it wants
// is there, as with net. After the deadline is taken back it goes on.
func TestDeadlinePast(t *testing.T) {
	forTimed(t, func(t *testing.T, p testrun.Place, op string, _ coroutine.Reason, x timedOp) {
		x.release()
		testenv.OK(t, x.set(past))
		p.Do(t, func() {
			for range 3 {
				checkTimeout(t, op, x.wait())
			}
			x.set(time.Time{})
			testenv.Fails(t, x.wait(), nil, op, "after its deadline was taken back")
		})
	})
}

// TestDeadlineFuture: the operation ends at its deadline, not before.
func TestDeadlineFuture(t *testing.T) {
	forTimed(t, func(t *testing.T, p testrun.Place, op string, _ coroutine.Reason, x timedOp) {
		p.Do(t, func() {
			for range 2 {
				at := time.Now().Add(5 * time.Millisecond)
				x.set(at)
				checkTimeout(t, op, x.wait())
				if early := time.Until(at); early > 0 {
					t.Errorf("%s ended %v before its deadline", op, early)
				}
			}
		})
	})
}

// TestDeadlineMovedEarlier: from another thread, while the operation is blocked
// under a far one, and under none.
func TestDeadlineMovedEarlier(t *testing.T) {
	forTimed(t, func(t *testing.T, p testrun.Place, op string, reason coroutine.Reason, x timedOp) {
		for _, first := range []time.Time{{}, future} {
			for _, then := range []func() time.Time{
				func() time.Time { return past },
				func() time.Time { return time.Now().Add(time.Millisecond) },
			} {
				x.set(first)
				k := p.Go(func() { checkTimeout(t, op, x.wait()) })
				k.UntilParked(t, reason)
				x.set(then())
				k.Wait(t)
			}
		}
	})
}

// TestDeadlineMovedLater: far away and never, while the operation is blocked.
// What it was to be before passes, which a second operation with a deadline
// just behind it shows, and ends nothing.
func TestDeadlineMovedLater(t *testing.T) {
	forTimed(t, func(t *testing.T, p testrun.Place, op string, reason coroutine.Reason, x timedOp) {
		for _, then := range []time.Time{future, {}} {
			var (
				k    *testrun.Task
				err  error
				near time.Time
			)
			// until this machine is fast enough to move it in time
			for d := 10 * time.Millisecond; ; d *= 2 {
				near = time.Now().Add(d)
				x.set(near)
				k = p.Go(func() { err = x.wait() })
				testenv.Until(t, "the task to park", func() bool {
					return k.Parked(reason) || k.Over()
				})
				x.set(then)
				if time.Now().Before(near) {
					break
				}
				if d > limit {
					t.Fatal("a deadline was never moved before it had passed")
				}
				x.set(past)
				k.Wait(t)
			}

			witness, _ := withPeer(t)
			witness.SetReadDeadline(near.Add(time.Microsecond))
			p.Do(t, func() {
				_, err := witness.Read(make([]byte, 1))
				checkTimeout(t, "read", err)
			})
			witness.Close()

			x.release()
			k.Wait(t)
			if err != nil {
				t.Fatalf("%s whose deadline was moved: %v", op, err)
			}
			if x.after == nil {
				return // what was released stays so
			}
			x.after()
		}
	})
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
