package socket_test

import (
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// rawClient is a client that makes system calls and nothing else, so that what
// is allocated is the server's.
func rawClient(t testing.TB, l *socket.TCPListener) (fd int) {
	t.Helper()
	fd = testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	t.Cleanup(func() { unix.Close(fd) })
	port := l.Addr().(*net.TCPAddr).Port
	testenv.OK(t, unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}))
	return fd
}

// TestNoAllocation: a message that comes and goes allocates nothing, in any of
// the ways to serve it.
func TestNoAllocation(t *testing.T) {
	testenv.NoRace(t)
	plain := func(c *socket.TCPConn) error {
		var b [64]byte
		for {
			n, err := c.Read(b[:])
			if err != nil {
				return err
			}
			if _, err := c.Write(b[:n]); err != nil {
				return err
			}
		}
	}
	underDeadlines := func(c *socket.TCPConn) error {
		var b [64]byte
		for {
			c.SetDeadline(time.Now().Add(time.Minute))
			n, err := c.Read(b[:])
			if err != nil {
				return err
			}
			if _, err := c.Write(b[:n]); err != nil {
				return err
			}
		}
	}
	for _, k := range []struct {
		name     string
		messages int
		place    testrun.Place
		serve    func(c *socket.TCPConn) error
	}{
		{"coroutine", 4000, testrun.First, plain},
		{"goroutine", 1000, testrun.Goroutine, plain},
		{"deadlines", 1000, testrun.First, underDeadlines},
		{"deadlines, goroutine", 1000, testrun.Goroutine, underDeadlines},
		{"borrowed buffer", 1000, testrun.First, func(c *socket.TCPConn) error {
			for {
				if err := answerBorrowed(c); err != nil {
					return err
				}
			}
		}},
		{"watched elsewhere", 1000, testrun.Second, plain},
	} {
		t.Run(k.name, func(t *testing.T) {
			start(t, 2)
			l := listen(t)
			fd := rawClient(t, l)
			c := testenv.Closing(t, testenv.Must(l.AcceptTCP()))
			if k.name == "watched elsewhere" { // the first to wait decides which Processor watches
				reader := testrun.First.Go(func() {
					var b [64]byte
					n, err := c.Read(b[:])
					if err == nil {
						c.Write(b[:n])
					}
				})
				trips(t, fd, 1)
				reader.Wait(t)
			}
			server := k.place.Go(func() {
				if err := k.serve(c); err != io.EOF {
					t.Error(err)
				}
			})
			trips(t, fd, 200)
			defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty sync.Pools
			runtime.GC()
			trips(t, fd, 200)
			// A new thread of the Go runtime is some seven, and the client's
			// system calls may want one or two.
			if n := fewestMallocs(40, func() { trips(t, fd, k.messages) }); n > 40 {
				t.Errorf("%d allocations for %d messages", n, k.messages)
			}
			unix.Shutdown(fd, unix.SHUT_WR)
			server.Wait(t)
		})
	}
}

// fewestMallocs returns how often the process allocates while f runs, the
// fewest of some runs if it is more than enough: a machine that has no time for
// its threads makes the Go runtime start more of them, once.
func fewestMallocs(enough uint64, f func()) uint64 {
	fewest := ^uint64(0)
	var before, after runtime.MemStats
	for range 5 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		if fewest = min(fewest, after.Mallocs-before.Mallocs); fewest <= enough {
			break
		}
	}
	return fewest
}

// trips sends and receives n messages.
func trips(t *testing.T, fd, n int) {
	var b [64]byte
	for range n {
		testenv.Must(unix.Write(fd, b[:]))
		for got := 0; got < len(b); {
			m, err := unix.Read(fd, b[got:])
			if err == unix.EINTR {
				continue
			}
			if m <= 0 || err != nil {
				t.Fatal(m, err)
			}
			got += m
		}
	}
}

// TestNoBufferPerIdleConnection: a hundred connections that wait in
// WaitReadable share one buffer.
func TestNoBufferPerIdleConnection(t *testing.T) {
	start(t, 1)
	l := listen(t)
	seen := map[*socket.Buffer]bool{}
	const conns = 100
	var fds []int
	for range conns {
		fds = append(fds, rawClient(t, l))
		c := testenv.Must(l.AcceptTCP())
		testrun.First.Go(func() {
			defer c.Close()
			for c.WaitReadable() == nil {
				b := socket.AcquireBuffer()
				seen[b] = true
				n, err := c.Read(b.Bytes())
				if err == nil {
					_, err = c.Write(b.Bytes()[:n])
				}
				b.Release()
				if err != nil {
					return
				}
			}
		})
	}
	for range 3 {
		for _, fd := range fds {
			trips(t, fd, 1)
		}
	}
	testrun.First.Do(t, func() {
		if len(seen) != 1 {
			t.Errorf("%d buffers for %d connections of which one was busy at a time", len(seen), conns)
		}
	})
	for _, fd := range fds {
		unix.Shutdown(fd, unix.SHUT_RDWR)
	}
	testenv.Until(t, "the connections to end", func() bool { return socket.Open() == 1 })
}
