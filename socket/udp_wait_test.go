package socket_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// udpWaits are the operations of a UDP socket that wait, each not possible
// until release is called.
var udpWaits = []struct {
	name   string
	op     string
	reason coroutine.Reason
	make   func(t *testing.T) udpWait
}{
	{"Read", "read", coroutine.ReasonRead, udpReader(func(c *socket.UDPConn, p []byte) error { _, err := c.Read(p); return err })},
	{"WaitReadable", "read", coroutine.ReasonRead, udpReader(func(c *socket.UDPConn, p []byte) error {
		err := c.WaitReadable()
		if err == nil {
			_, err = c.Read(p)
		}
		return err
	})},
	{"ReadFromUDPAddrPort", "read", coroutine.ReasonRead, udpReader(func(c *socket.UDPConn, p []byte) error {
		_, _, err := c.ReadFromUDPAddrPort(p)
		return err
	})},
	{"ReadMsgUDPAddrPort", "read", coroutine.ReasonRead, udpReader(func(c *socket.UDPConn, p []byte) error {
		_, _, _, _, err := c.ReadMsgUDPAddrPort(p, nil)
		return err
	})},
	{"ReadBatch", "read", coroutine.ReasonRead, udpReader(func(c *socket.UDPConn, p []byte) error {
		n, err := c.ReadBatch([]socket.Message{{Buf: p}, {Buf: make([]byte, 10)}})
		if (n > 0) != (err == nil) {
			return fmt.Errorf("%d datagrams and %w", n, err)
		}
		return err
	})},
	{"Write", "write", coroutine.ReasonWrite, udpWriter(func(c *socket.UDPConn) error { _, err := c.Write([]byte("x")); return err })},
	{"WriteMsgUDP", "write", coroutine.ReasonWrite, udpWriter(func(c *socket.UDPConn) error {
		_, _, err := c.WriteMsgUDP([]byte("x"), nil, nil)
		return err
	})},
	{"WriteBatch", "write", coroutine.ReasonWrite, udpWriter(func(c *socket.UDPConn) error {
		n, err := c.WriteBatch([]socket.Message{{Buf: []byte("x")}, {Buf: []byte("y")}})
		if (n == 2) != (err == nil) || n == 1 {
			return fmt.Errorf("%d datagrams and %w", n, err)
		}
		return err
	})},
}

type udpWait struct {
	c       *socket.UDPConn
	wait    func() error
	set     func(time.Time) error
	release func()
}

func udpReader(read func(c *socket.UDPConn, p []byte) error) func(t *testing.T) udpWait {
	return func(t *testing.T) udpWait {
		peer := netPeer(t, loopback4)
		c := dialTo(t, peer)
		// a socket that has been read waits without another look
		peer.WriteToUDP([]byte("x"), udpAddr(c))
		if n, err := c.Read(make([]byte, 10)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		return udpWait{
			c:       c,
			wait:    func() error { return read(c, make([]byte, 10)) },
			set:     c.SetReadDeadline,
			release: func() { peer.WriteToUDP([]byte("x"), udpAddr(c)) },
		}
	}
}

// udpWriter needs a socket without room. There is none on loopback, where a
// datagram leaves the sender's buffer at once, so it is made up; the edge when
// there is room again is that of a datagram that comes in, as epoll tells
// everything at once.
func udpWriter(write func(c *socket.UDPConn) error) func(t *testing.T) udpWait {
	return func(t *testing.T) udpWait {
		peer := netPeer(t, loopback4)
		c := dialTo(t, peer)
		var full atomic.Bool
		full.Store(true)
		t.Cleanup(sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
			if op == sysx.Send && fd == c.FD() && full.Load() {
				return 0, unix.EAGAIN
			}
			return asked, 0
		}))
		return udpWait{
			c:    c,
			wait: func() error { return write(c) },
			set:  c.SetWriteDeadline,
			release: func() {
				full.Store(false)
				peer.WriteToUDP([]byte("x"), udpAddr(c))
			},
		}
	}
}

func forUDPWaits(t *testing.T, f func(t *testing.T, p testrun.Place, op string, reason coroutine.Reason, x udpWait)) {
	for _, b := range udpWaits {
		for _, p := range testrun.Places {
			t.Run(b.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				f(t, p, b.op, b.reason, b.make(t))
			})
		}
	}
}

// TestUDPWaits: what is awaited comes, over and over.
func TestUDPWaits(t *testing.T) {
	forUDPWaits(t, func(t *testing.T, p testrun.Place, op string, reason coroutine.Reason, x udpWait) {
		for range 3 {
			k := p.Go(func() {
				if err := x.wait(); err != nil {
					t.Error(err)
				}
			})
			k.UntilParked(t, reason)
			x.release()
			k.Wait(t)
			if op == "write" {
				return // it has room now
			}
		}
	})
}

// TestUDPDeadlines: one that is over ends an operation before it begins, one to
// come ends it then, and one that is moved while it is blocked counts; after it
// is taken back all is well.
func TestUDPDeadlines(t *testing.T) {
	forUDPWaits(t, func(t *testing.T, p testrun.Place, op string, reason coroutine.Reason, x udpWait) {
		p.Do(t, func() {
			x.set(past)
			checkUDPTimeout(t, op, x.wait())
			at := time.Now().Add(3 * time.Millisecond)
			x.set(at)
			checkUDPTimeout(t, op, x.wait())
			if time.Now().Before(at) {
				t.Error("too early")
			}
		})
		for _, first := range []time.Time{{}, future} {
			x.set(first)
			k := p.Go(func() { checkUDPTimeout(t, op, x.wait()) })
			k.UntilParked(t, reason)
			x.set(future)
			k.UntilParked(t, reason)
			x.set(past)
			k.Wait(t)
		}
		x.release()
		p.Do(t, func() {
			checkUDPTimeout(t, op, x.wait()) // also when it need not wait
			x.set(time.Time{})
			if err := x.wait(); err != nil {
				t.Errorf("after the deadline was taken back: %v", err)
			}
		})
	})
}

// TestUDPCloseEndsWaits: from every kind of place, and what is queued behind
// the one that waits too.
func TestUDPCloseEndsWaits(t *testing.T) {
	for _, closer := range testrun.Places {
		forUDPWaits(t, func(t *testing.T, p testrun.Place, op string, reason coroutine.Reason, x udpWait) {
			before := socket.Open()
			w := p.Go(func() { checkUDPClosed(t, op, x.wait()) })
			w.UntilParked(t, reason)
			queued := p.Go(func() { checkUDPClosed(t, op, x.wait()) })
			queued.UntilParked(t, coroutine.ReasonLock)
			closer.Do(t, func() {
				if err := x.c.Close(); err != nil {
					t.Error(err)
				}
			})
			w.Wait(t)
			queued.Wait(t)
			checkUDPClosed(t, op, x.wait())
			checkUDPClosed(t, "close", x.c.Close())
			if n := socket.Open(); n != before-1 {
				t.Errorf("%d sockets open, want %d", n, before-1)
			}
		})
	}
}

// TestUDPFlood: a socket that always has something to read, or room to write,
// does not keep its Processor from others, one datagram at a time or in
// batches. The other end is system calls that netco knows nothing of.
func TestUDPFlood(t *testing.T) {
	const batch = 32
	fill := func(c *socket.UDPConn) {
		sa := &unix.SockaddrInet4{Port: udpAddr(c).Port, Addr: [4]byte{127, 0, 0, 1}}
		for range batch {
			unix.Sendto(c.FD(), []byte("x"), unix.MSG_DONTWAIT, sa)
		}
	}
	drain := func(c *socket.UDPConn) {
		for range batch {
			unix.Recvfrom(c.FD(), make([]byte, 10), unix.MSG_DONTWAIT)
		}
	}
	for name, round := range map[string]func(c *socket.UDPConn, ms []socket.Message) error{
		"read": func(c *socket.UDPConn, ms []socket.Message) (err error) {
			fill(c)
			for i := 0; i < batch && err == nil; i++ {
				_, _, err = c.ReadFromUDPAddrPort(ms[0].Buf)
			}
			return err
		},
		"read batch": func(c *socket.UDPConn, ms []socket.Message) (err error) {
			fill(c)
			for left := batch; left > 0 && err == nil; { // some may come late
				var n int
				n, err = c.ReadBatch(ms[:left])
				left -= n
			}
			return err
		},
		"write": func(c *socket.UDPConn, ms []socket.Message) (err error) {
			drain(c)
			for i := 0; i < batch && err == nil; i++ {
				_, err = c.WriteToUDPAddrPort(ms[0].Buf, ms[0].Addr)
			}
			return err
		},
		"write batch": func(c *socket.UDPConn, ms []socket.Message) error {
			drain(c)
			_, err := c.WriteBatch(ms)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			c := listenUDP(t, loopback4)
			ms := room(batch, 10, 0)
			for i := range ms {
				ms[i].Addr = portOf(c)
			}
			flood := testrun.First.Go(func() {
				for {
					if err := round(c, ms); err != nil {
						checkUDPClosed(t, strings.Fields(name)[0], err)
						return
					}
				}
			})
			testenv.Await(t, flood.Started, "the flood")
			for range 10 {
				testrun.First.Go(func() {}).Wait(t)
			}
			c.Close()
			flood.Wait(t)
		})
	}
}

// checkUDPTimeout checks that err is what net returns for an operation that a
// deadline has ended.
func checkUDPTimeout(t *testing.T, op string, err error) {
	t.Helper()
	var e *net.OpError
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &e) || e.Op != op || !e.Timeout() || e.Source == nil {
		t.Errorf("%s: %#v, want os.ErrDeadlineExceeded", op, err)
	}
}
