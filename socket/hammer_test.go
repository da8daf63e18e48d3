package socket_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestHammerStreams: on many connections at once, both directions carry a
// stream in pieces of random size, while others set random deadlines and look
// at the connection. Nothing is lost, doubled or swapped.
func TestHammerStreams(t *testing.T) {
	conns, total := 24, 200<<10
	if goruntime.RaceEnabled {
		conns, total = 12, 60<<10
	}
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	start(t, 2)
	var tasks []*testrun.Task
	for i := range conns {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		a, b := pair(t)
		for _, c := range []*socket.TCPConn{a, b} {
			var left atomic.Int32
			left.Store(2)
			finish := func() {
				if left.Add(-1) == 0 {
					c.Close()
				}
			}
			run := func(f func(*rand.Rand)) {
				own := rand.New(rand.NewPCG(rnd.Uint64(), 0))
				tasks = append(tasks, testrun.Places[rnd.IntN(len(testrun.Places))].Go(func() { f(own) }))
			}
			run(func(rnd *rand.Rand) {
				defer finish()
				if err := writeStream(c, rnd, total); err != nil {
					t.Errorf("writer: %v", err)
				}
			})
			run(func(rnd *rand.Rand) {
				defer finish()
				if err := readStream(c, rnd, total); err != nil {
					t.Errorf("reader: %v", err)
				}
			})
			run(func(rnd *rand.Rand) {
				for c.SetDeadline(someTime(rnd)) == nil && left.Load() > 0 {
					for range rnd.IntN(20) {
						netco.Yield()
					}
					if rnd.IntN(4) == 0 {
						netco.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond)
					}
				}
			})
		}
	}
	testrun.WaitAll(t, tasks...)
}

// someTime is a deadline that is over, near, far or none.
func someTime(rnd *rand.Rand) time.Time {
	switch rnd.IntN(4) {
	case 0:
		return past
	case 1:
		return time.Now().Add(time.Duration(rnd.IntN(300)) * time.Microsecond)
	case 2:
		return future
	}
	return time.Time{}
}

func writeStream(c *socket.TCPConn, rnd *rand.Rand, total int) error {
	buf := make([]byte, 64<<10)
	for at := 0; at < total; {
		p := buf[:min(1+rnd.IntN(1<<rnd.IntN(17)), total-at)]
		fill(p, at)
		n, err := c.Write(p)
		at += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			netco.Yield()
		} else if err != nil || n != len(p) {
			return fmt.Errorf("at %d of %d: wrote %d of %d, %w", at, total, n, len(p), err)
		}
	}
	return c.CloseWrite()
}

func readStream(c *socket.TCPConn, rnd *rand.Rand, total int) error {
	buf := make([]byte, 64<<10)
	for at := 0; ; {
		if rnd.IntN(4) == 0 {
			if err := c.WaitReadable(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
		}
		n, err := c.Read(buf[:1+rnd.IntN(1<<rnd.IntN(17))])
		if d := differs(buf[:n], at); d != "" {
			return errors.New(d)
		}
		at += n
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			netco.Yield()
		case err == io.EOF && at == total:
			return nil
		default:
			return fmt.Errorf("at %d of %d: %w", at, total, err)
		}
	}
}

// TestHammerWild: everything at once from everywhere, closes and resets
// included. Any error that the operation can have is fine; a hang, a crash or
// an fd left open is not.
func TestHammerWild(t *testing.T) {
	conns, ops := 60, 120
	if goruntime.RaceEnabled {
		conns = 20
	}
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	start(t, 2)
	l := listen(t)
	var tasks []*testrun.Task
	for i := range conns {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		a := testenv.Must(dialTCP("tcp", l.Addr().String()))
		b := testenv.Must(l.AcceptTCP())
		for _, c := range []*socket.TCPConn{a, b} {
			for j := range 3 {
				own := rand.New(rand.NewPCG(rnd.Uint64(), 0))
				tasks = append(tasks, testrun.Places[rnd.IntN(len(testrun.Places))].Go(func() {
					if j == 0 { // without it the others might wait for ever
						defer c.Close()
					}
					wild(t, c, own, ops, j == 0)
				}))
			}
		}
	}
	testrun.WaitAll(t, tasks...)
	l.Close()
	noneOpen(t)
}

// wild does random operations; the owner does none that waits, and closes at
// the end or before.
func wild(t *testing.T, c *socket.TCPConn, rnd *rand.Rand, ops int, owner bool) {
	buf := make([]byte, 32<<10)
	for range ops {
		var err error
		op := rnd.IntN(1000)
		switch {
		case owner && op < 600:
			netco.Sleep(time.Duration(rnd.IntN(100)) * time.Microsecond)
		case op < 300:
			_, err = c.Read(buf[:rnd.IntN(len(buf))])
		case op < 550:
			_, err = c.Write(buf[:rnd.IntN(len(buf))])
		case op < 600:
			err = c.WaitReadable()
		case op < 700:
			err = c.SetReadDeadline(someTime(rnd))
		case op < 800:
			err = c.SetWriteDeadline(someTime(rnd))
		case op < 900:
			netco.Yield()
		case op < 990:
			err = c.SetNoDelay(op%2 == 0)
		case op < 992:
			err = c.CloseWrite()
		case op < 994:
			err = c.CloseRead()
		case op < 996:
			err = c.SetLinger(0)
		case op < 998 && owner:
			err = c.Close()
		}
		switch {
		case err == nil, err == io.EOF, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, unix.EPIPE),
			errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.ENOTCONN):
		case errors.Is(err, net.ErrClosed):
			return
		default:
			t.Errorf("operation %d: %v", op, err)
		}
	}
}

// TestHammerConnect: connections are made, used once and closed from
// everywhere, so that fds and slots are reused at once by others and a stale
// event would meet a stranger.
func TestHammerConnect(t *testing.T) {
	start(t, 2)
	l := listen(t)
	each := 150
	if goruntime.RaceEnabled {
		each = 40
	}
	var servers, clients []*testrun.Task
	for _, p := range testrun.Places {
		servers = append(servers, p.Go(func() {
			for {
				c, err := l.AcceptTCP()
				if err != nil {
					checkClosed(t, "accept", err)
					return
				}
				p.Run(func() { echo(c) })
			}
		}))
	}
	for i := range 6 {
		clients = append(clients, testrun.Places[i%len(testrun.Places)].Go(func() {
			for n := range each {
				c, err := dialTCP("tcp", l.Addr().String())
				if err != nil {
					t.Errorf("Dial: %v", err)
					return
				}
				msg := fmt.Appendf(nil, "%d from %d", n, i)
				got := make([]byte, len(msg))
				if n%5 == 0 {
					c.SetLinger(0)
				}
				if n%7 == 0 { // leaves without a word
					c.Close()
					continue
				}
				if _, err := c.Write(msg); err != nil {
					t.Errorf("Write: %v", err)
				}
				if _, err := io.ReadFull(c, got); err != nil || string(got) != string(msg) {
					t.Errorf("sent %q, got %q, %v", msg, got, err)
				}
				c.Close()
			}
		}))
	}
	testrun.WaitAll(t, clients...)
	l.Close()
	testrun.WaitAll(t, servers...)
	testenv.Until(t, "all connections to close", func() bool { return socket.Open() == 0 })
}
