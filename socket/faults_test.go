package socket_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// storm is an Injector that does at random what the kernel may do at any time:
// it interrupts, moves less than it was asked to, tells of fewer events than
// there are, and refuses connections that have ended and those for which there
// is no fd.
type storm struct {
	seed  uint64
	calls [64]atomic.Uint64 // by Op
}

func (s *storm) install(t *testing.T) (remove func()) {
	remove = sysx.Inject(s.inject)
	t.Cleanup(remove)
	return remove
}

func (s *storm) inject(op sysx.Op, _, asked int) (int, syscall.Errno) {
	rnd := rand.New(rand.NewPCG(s.seed, s.calls[op].Add(1)<<8|uint64(op)))
	switch op {
	case sysx.Recv, sysx.Send, sysx.Sendv:
		if rnd.IntN(4) == 0 {
			return asked, unix.EINTR
		}
		if rnd.IntN(2) == 0 {
			return 1 + rnd.IntN(asked+1), 0
		}
	case sysx.EpollWait:
		if rnd.IntN(4) == 0 {
			return asked, unix.EINTR
		}
		return 1 + rnd.IntN(3), 0
	case sysx.Accept:
		return asked, []syscall.Errno{0, 0, 0, unix.EINTR, unix.ECONNABORTED, unix.EPROTO, unix.EHOSTUNREACH, unix.EMFILE, unix.ENFILE,
			unix.ENOBUFS}[rnd.IntN(10)]
	}
	return asked, 0
}

// TestStorm: in a storm nothing is lost, doubled or swapped: by connections
// that have a coroutine or goroutine each, and by those of a Server, over TCP
// and Unix sockets.
func TestStorm(t *testing.T) {
	total := 60 << 10
	if goruntime.RaceEnabled {
		total = 15 << 10
	}
	seed := diffSeed(t)
	for _, network := range []string{"tcp", "unix"} {
		for _, server := range []string{"tasks", "Server"} {
			t.Run(network+"/"+server, func(t *testing.T) {
				start(t, 2)
				before := testenv.Files()
				remove := (&storm{seed: seed}).install(t)
				l := listenAny(t, network)
				var stop func()
				if server == "Server" {
					stop = serveAny(t, l, echoOnce)
				} else {
					stop = echoAny(t, l)
				}
				var clients []*testrun.Task
				for i := range 9 {
					rnd := rand.New(rand.NewPCG(seed, uint64(i)))
					clients = append(clients, testrun.Places[i%len(testrun.Places)].Go(func() {
						if err := stormClient(network, l.Addr().String(), rnd, total); err != nil {
							t.Errorf("client %d: %v", i, err)
						}
					}))
				}
				testrun.WaitAll(t, clients...)
				remove()
				stop()
				testenv.Until(t, "all fds to be closed", func() bool { return testenv.Files() <= before })
			})
		}
	}
}

// listenAny listens on a network's loopback.
func listenAny(t *testing.T, network string) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = unixName(t, "s")
	}
	l := testenv.Closing(t, testenv.Must(socket.Listen(network, address)))
	return l
}

// serveAny serves l with a Server until stop is called, by when each connection
// has been closed once.
func serveAny(t *testing.T, l net.Listener, handle func(*socket.ServerConn) error) (stop func()) {
	var opened, closed atomic.Int32
	s := &socket.Server{
		Handle: handle,
		Opened: func(*socket.ServerConn) error { opened.Add(1); return nil },
		Closed: func(_ *socket.ServerConn, err error) {
			closed.Add(1)
			if err != io.EOF && !errors.Is(err, socket.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				t.Errorf("a connection was ended by %v", err)
			}
		},
	}
	k := testrun.First.Go(func() { s.Serve(l) })
	return func() {
		s.Close()
		k.Wait(t)
		testenv.Until(t, "all connections to be closed", func() bool { return opened.Load() == closed.Load() })
	}
}

// echoAny echoes on connections of l, each in another place.
func echoAny(t *testing.T, l net.Listener) (stop func()) {
	k := testrun.Second.Go(func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Accept: %v", err)
				}
				return
			}
			testrun.Places[i%len(testrun.Places)].Run(func() {
				defer c.Close()
				buf := make([]byte, 4<<10)
				for {
					n, err := c.Read(buf)
					if n > 0 {
						if _, err := c.Write(buf[:n]); err != nil {
							t.Errorf("echo: %v", err)
							return
						}
					}
					if err != nil {
						if err != io.EOF {
							t.Errorf("echo: %v", err)
						}
						return
					}
				}
			})
		}
	})
	return func() {
		l.Close()
		k.Wait(t)
	}
}

// stormClient sends the pattern in pieces and takes each back.
func stormClient(network, address string, rnd *rand.Rand, total int) error {
	c, err := socket.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, 8<<10)
	for at := 0; at < total; {
		p := buf[:min(1+rnd.IntN(len(buf)), total-at)]
		fill(p, at)
		var n int64
		if rnd.IntN(2) == 0 {
			cut := rnd.IntN(len(p))
			n, err = writeBuffers(c.(diffEnd), &net.Buffers{p[:cut], p[cut:]})
		} else {
			var done int
			done, err = c.Write(p)
			n = int64(done)
		}
		if err != nil || int(n) != len(p) {
			return fmt.Errorf("at %d wrote %d of %d: %w", at, n, len(p), err)
		}
		clear(p)
		if n, err := io.ReadFull(c, p); err != nil {
			return fmt.Errorf("at %d read %d of %d: %w", at, n, len(p), err)
		}
		if d := differs(p, at); d != "" {
			return errors.New(d)
		}
		at += len(p)
	}
	if err := c.(diffEnd).CloseWrite(); err != nil {
		return err
	}
	if n, err := c.Read(buf); n != 0 || err != io.EOF {
		return fmt.Errorf("at the end: %d, %w", n, err)
	}
	return nil
}
