package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/netco-go/netco/examples/internal/child"
	"github.com/netco-go/netco/internal/testenv"
)

// TestMain runs the proxy itself when a test starts it as a child.
func TestMain(m *testing.M) {
	if child.Is() {
		main()
		return
	}
	os.Exit(m.Run())
}

// limit is when a test gives up waiting.
const limit = time.Minute

// startProxy runs the proxy as a child. The test's end stops it, and wants exit
// code 0.
func startProxy(t *testing.T, target string, args ...string) (addr string) {
	t.Helper()
	addr, _ = startProcess(t, target, args...)
	return addr
}

// startProcess is startProxy that returns the process too.
func startProcess(t *testing.T, target string, args ...string) (addr string, process *os.Process) {
	t.Helper()
	var said bytes.Buffer
	cmd, addr := child.StartTo(t, &said, append([]string{"-addr", "127.0.0.1:0", "-target", target,
		"-grace", "100ms"}, args...)...)
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		gaveUp := time.AfterFunc(limit, func() { cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			t.Errorf("the proxy ended with %v\n%s", err, &said)
		}
		gaveUp.Stop()
	})
	return addr, cmd.Process
}

// setup runs a proxy before a listener of this process.
func setup(t *testing.T, args ...string) (proxy string, target *net.TCPListener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return startProxy(t, l.Addr().String(), args...), l.(*net.TCPListener)
}

// through connects through the proxy and returns both ends.
func through(t *testing.T, proxy string, target *net.TCPListener) (client, server *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	target.SetDeadline(time.Now().Add(limit))
	s, err := target.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c.SetDeadline(time.Now().Add(limit))
	s.SetDeadline(time.Now().Add(limit))
	return c.(*net.TCPConn), s
}

// random returns bytes that are the same for the same seed.
func random(seed uint64, size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	r.Read(b)
	return b
}

func send(t *testing.T, c *net.TCPConn, b []byte) {
	if _, err := c.Write(b); err != nil {
		t.Error("write:", err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Error("shutdown:", err)
	}
}

func arrives(t *testing.T, c *net.TCPConn, want []byte) {
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes arrived of %d, the same: %v, %v", len(got), len(want),
			bytes.Equal(got, want), err)
	}
}

// TestBulk: bulk both ways at once, on many connections.
func TestBulk(t *testing.T) {
	proxy, target := setup(t)
	var wg sync.WaitGroup
	for i := range 20 {
		size := 1 << (10 + i%13)
		client, server := through(t, proxy, target)
		up, down := random(uint64(2*i), size), random(uint64(2*i+1), size)
		wg.Go(func() { send(t, client, up) })
		wg.Go(func() { send(t, server, down) })
		wg.Go(func() { arrives(t, server, up) })
		wg.Go(func() { arrives(t, client, down) })
	}
	wg.Wait()
}

// TestHalfClose: either side may end first, and the other may go on.
func TestHalfClose(t *testing.T) {
	proxy, target := setup(t)
	for _, clientFirst := range []bool{true, false} {
		first, second := through(t, proxy, target)
		if !clientFirst {
			first, second = second, first
		}
		send(t, first, []byte("question"))
		arrives(t, second, []byte("question"))
		send(t, second, []byte("answer"))
		arrives(t, first, []byte("answer"))
	}
}

// TestMessages: small messages go back and forth.
func TestMessages(t *testing.T) {
	proxy, target := setup(t)
	client, server := through(t, proxy, target)
	for i := range 200 {
		msg := random(uint64(i), 1+i*17)
		got := make([]byte, len(msg))
		for _, d := range [][2]*net.TCPConn{{client, server}, {server, client}} {
			d[0].Write(msg)
			if _, err := io.ReadFull(d[1], got); err != nil || !bytes.Equal(got, msg) {
				t.Fatal(err)
			}
		}
	}
}

// TestReset: a reset of either side, idle or in the middle of bulk, is a reset
// for the other.
func TestReset(t *testing.T) {
	proxy, target := setup(t)
	for _, byClient := range []bool{true, false} {
		for _, bulk := range []bool{true, false} {
			t.Run(fmt.Sprint(byClient, bulk), func(t *testing.T) {
				from, to := through(t, proxy, target)
				if !byClient {
					from, to = to, from
				}
				var wg sync.WaitGroup
				if bulk {
					wg.Go(func() { io.Copy(from, endless{}) })
					io.CopyN(io.Discard, to, 1<<20)
				}
				from.SetLinger(0)
				from.Close()
				_, err := io.Copy(io.Discard, to)
				if err == nil || !strings.Contains(err.Error(), "connection reset") {
					t.Errorf("the other side saw %v", err)
				}
				wg.Wait()
			})
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestTargetDown: without a target the client sees a reset, and the proxy goes
// on.
func TestTargetDown(t *testing.T) {
	proxy := startProxy(t, testenv.ClosedPort(t))
	for range 3 {
		c, err := net.Dial("tcp", proxy)
		if err == nil { // else the reset was as quick as that
			defer c.Close()
			c.SetDeadline(time.Now().Add(limit))
			_, err = c.Read(make([]byte, 1))
		}
		if err == nil || !strings.Contains(err.Error(), "connection reset") {
			t.Errorf("%v", err)
		}
	}
}

// TestIdle: a connection on which nothing moves is closed; one is not on which
// something moves now and then, if only one way.
func TestIdle(t *testing.T) {
	// On a busy machine the connection may be idle for that long by chance.
	for idle := 200 * time.Millisecond; ; idle *= 4 {
		ok := false
		t.Run(idle.String(), func(t *testing.T) { ok = keepsBusy(t, idle) })
		if ok {
			return
		}
		if t.Failed() || idle > 10*time.Second {
			t.Fatal("the connection in use was closed")
		}
	}
}

// keepsBusy reports whether a connection is kept that is in use, after another,
// which is not, was closed.
func keepsBusy(t *testing.T, idle time.Duration) bool {
	proxy, target := setup(t, "-idle", idle.String())
	busy, busyServer := through(t, proxy, target)
	client, server := through(t, proxy, target)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		arrives(t, client, nil)
		arrives(t, server, nil)
	}()
	got := make([]byte, 1)
	for n := 0; ; n++ { // until the other has been closed, and for three idle times at least
		busy.Write([]byte{byte(n)})
		if _, err := io.ReadFull(busyServer, got); err != nil {
			<-closed
			return false
		} else if got[0] != byte(n) {
			t.Fatal(n, got)
		}
		select {
		case <-closed:
			if n > 48 {
				return true
			}
		default:
		}
		<-time.After(idle / 16) // the pace at which it is used
	}
}
