package netco_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

func ExampleServe() {
	ln, err := netco.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	netco.Run(func() {
		netco.Go(func() {
			defer ln.Close()
			c, err := netco.Dial("tcp", ln.Addr().String())
			if err != nil {
				return
			}
			defer c.Close()
			answer, _ := io.ReadAll(c)
			fmt.Printf("%s\n", answer)
		})
		err := netco.Serve(ln, func(c net.Conn) {
			defer c.Close()
			io.WriteString(c, "hello")
		})
		fmt.Println(errors.Is(err, net.ErrClosed))
	})
	netco.Shutdown(context.Background())
	// Output:
	// hello
	// true
}

// serving is a Serve under way.
type serving struct {
	ln    net.Listener
	ended chan error
}

// listeners are of each kind that Serve takes, and where it runs.
var listeners = []struct {
	name   string
	listen func() (net.Listener, error)
	place  testrun.Place
}{
	{"netco's", listenTCP(netco.Listen), testrun.First},
	{"netco's, on a goroutine", listenTCP(netco.Listen), testrun.Goroutine},
	{"limited", func() (net.Listener, error) {
		ln, err := netco.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		return socket.LimitListener(ln, 2), nil
	}, testrun.First},
	{"wrapped", func() (net.Listener, error) {
		ln, err := netco.Listen("tcp", "127.0.0.1:0")
		return struct{ net.Listener }{ln}, err
	}, testrun.First},
	{"net's, on a goroutine", listenTCP(net.Listen), testrun.Goroutine},
}

func listenTCP(f func(network, addr string) (net.Listener, error)) func() (net.Listener, error) {
	return func() (net.Listener, error) { return f("tcp", "127.0.0.1:0") }
}

func serve(ln net.Listener, p testrun.Place, handler func(net.Conn)) *serving {
	s := &serving{ln, make(chan error, 1)}
	p.Run(func() { s.ended <- netco.Serve(ln, handler) })
	return s
}

func (s *serving) end(t *testing.T, want error) {
	t.Helper()
	testenv.Fails(t, testenv.Await(t, s.ended, "Serve to return"), want, "Serve returned")
}

func echoAll(c net.Conn) {
	defer c.Close()
	io.Copy(c, c)
}

// ask sends a word to an echo server, and returns its answer.
func ask(t *testing.T, addr net.Addr) string {
	t.Helper()
	c := client(t, addr.String())
	defer c.Close()
	c.SetDeadline(time.Now().Add(testenv.Limit))
	io.WriteString(c, "word")
	c.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection was left open")
	}
	return string(answer)
}

// TestServeNothing: a call without a handler is a mistake.
func TestServeNothing(t *testing.T) {
	testenv.Panics(t, "without a handler", func() { netco.Serve(nil, nil) })
}

// TestServe: connections are handled until the listener is closed or the
// Scheduler ends.
func TestServe(t *testing.T) {
	for _, l := range listeners {
		for _, end := range []struct {
			name string
			want error
			end  func(*testing.T, net.Listener)
		}{
			{"closed", net.ErrClosed, func(_ *testing.T, ln net.Listener) { ln.Close() }},
			{"shutdown", netco.ErrShutdown, func(t *testing.T, _ net.Listener) {
				testrun.Shutdown(t)
			}},
		} {
			t.Run(l.name+" "+end.name, func(t *testing.T) {
				testrun.Start(t, 2)
				ln := testenv.Must(l.listen())
				s := serve(ln, l.place, echoAll)
				for range 3 {
					testenv.Equal(t, ask(t, ln.Addr()), "word", "answer")
				}
				end.end(t, ln)
				s.end(t, end.want)
				testenv.Fails(t, ln.Close(), net.ErrClosed, "Close after Serve")
			})
		}
	}
}

// temporary is an error that a listener of another package calls temporary.
type temporary struct{}

func (temporary) Error() string   { return "temporary" }
func (temporary) Temporary() bool { return true }

// script is a listener whose Accept returns one after the other.
type script struct {
	steps []any // a net.Conn or an error
}

func (s *script) Accept() (net.Conn, error) {
	step := s.steps[0]
	s.steps = s.steps[1:]
	if c, ok := step.(net.Conn); ok {
		return c, nil
	}
	return nil, step.(error)
}

func (s *script) Close() error   { return nil }
func (s *script) Addr() net.Addr { return &net.TCPAddr{} }

// TestServeErrors: errors that pass do not end Serve, others do.
func TestServeErrors(t *testing.T) {
	passing := func(errno syscall.Errno) error {
		return &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)}
	}
	for _, c := range []struct {
		err  error
		ends bool
	}{
		{passing(syscall.EMFILE), false},
		{passing(syscall.ENFILE), false},
		{passing(syscall.ENOMEM), false},
		{passing(syscall.ECONNABORTED), false},
		{temporary{}, false},
		{passing(syscall.EINVAL), true},
		{os.ErrDeadlineExceeded, true},
		{io.ErrUnexpectedEOF, true},
	} {
		testrun.Each(t, func(t *testing.T, p testrun.Place) {
			testrun.Start(t, 2)
			near, far := net.Pipe()
			defer far.Close()
			l := &script{[]any{c.err, c.err, near, io.EOF}}
			s := serve(l, p, func(c net.Conn) { c.Close() })
			want := io.EOF
			if c.ends {
				want = c.err
				near.Close()
			}
			s.end(t, want)
			far.SetDeadline(time.Now().Add(testenv.Limit))
			testenv.Equal(t, testenv.Err(far.Read(make([]byte, 1))), io.EOF,
				"the connection before the last error")
		})
	}
}

// TestServeRefused: a connection for which there is no coroutine is closed, and
// later ones are served.
func TestServeRefused(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 1, MaxCoroutines: 2})
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	s := serve(ln, testrun.On(0), echoAll) // one of the two
	first := client(t, ln.Addr().String())
	io.WriteString(first, "a")
	testenv.Must(io.ReadFull(first, make([]byte, 1)))
	testenv.Equal(t, ask(t, ln.Addr()), "", "refused, and yet")
	first.Close()
	testenv.Until(t, "the next to be served", func() bool { return ask(t, ln.Addr()) == "word" })
	ln.Close()
	s.end(t, net.ErrClosed)
}

// TestServePanics: with KeepServing a handler's panic ends itself alone.
func TestServePanics(t *testing.T) {
	testrun.StartWith(t, netco.Options{Processors: 1, OnPanic: func(netco.PanicInfo) {}})
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	var calls atomic.Int64
	s := serve(ln, testrun.On(0), func(c net.Conn) {
		defer c.Close()
		if calls.Add(1) == 1 {
			explode("in a handler")
		}
		io.Copy(c, c)
	})
	testenv.Equal(t, ask(t, ln.Addr()), "", "the handler has panicked, and yet")
	testenv.Equal(t, ask(t, ln.Addr()), "word", "after a panic")
	ln.Close()
	s.end(t, net.ErrClosed)
}

// explode panics; its name must be in the stack.
//
//go:noinline
func explode(why string) { panic(why) }

// bomber is a Server that echoes lines, and panics in Opened or Handle when
// asked to.
func bomber(t *testing.T) (address string, closed *atomic.Int64, stop func()) {
	t.Helper()
	l := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	closed = new(atomic.Int64)
	var opened atomic.Int64
	s := &socket.Server{
		Opened: func(*socket.ServerConn) error {
			if opened.Add(1) == 1 {
				explode("in Opened")
			}
			return nil
		},
		Handle: func(c *socket.ServerConn) error {
			b := socket.AcquireBuffer()
			defer b.Release()
			n, err := c.Read(b.Bytes())
			if err != nil {
				return err
			}
			if bytes.HasPrefix(b.Bytes()[:n], []byte("bomb")) {
				explode("in Handle")
			}
			_, err = c.Write(b.Bytes()[:n])
			return err
		},
		Closed: func(_ *socket.ServerConn, err error) {
			if closed.Add(1) == 2 {
				explode(fmt.Sprint("in Closed after ", err))
			}
		},
	}
	served := make(chan error, 1)
	netco.Go(func() { served <- s.Serve(l) })
	return l.Addr().String(), closed, func() {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Limit)
		defer cancel()
		testenv.Fails(t, s.Shutdown(ctx), nil, "Shutdown of the Server")
		<-served
	}
}

func client(t *testing.T, address string) net.Conn {
	t.Helper()
	c := testenv.Must(net.Dial("tcp", address))
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// panics returns how many coroutines of s have panicked.
func panics(s *scheduler.Scheduler) (n uint64) {
	for _, p := range engine.Of(s).Processors() {
		n += p.Coroutines().Panics.Load()
	}
	return n
}

// TestKeepServing: a panic in a Server's Opened, Handle or Closed closes that
// connection and calls Closed; others go on. The log has each with its stack,
// once, and it is counted.
func TestKeepServing(t *testing.T) {
	core, logged := observer.New(zap.InfoLevel)
	testenv.OK(t, netco.Start(netco.Options{Processors: 2, OnPanic: netco.KeepServing,
		Logger: zap.New(core)}))
	defer netco.Shutdown(context.Background())
	s := testenv.Must(netco.Default())
	address, closed, stop := bomber(t)
	if n, err := client(t, address).Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after a panic in Opened: %d, %v", n, err)
	}
	calm := client(t, address)
	echo := func() {
		t.Helper()
		io.WriteString(calm, "calm")
		if _, err := io.ReadFull(calm, make([]byte, 4)); err != nil {
			t.Fatalf("another connection: %v", err)
		}
	}
	echo()
	const bombs = 10
	for range bombs {
		c := client(t, address)
		io.WriteString(c, "bomb")
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("answered instead of closed")
		}
		echo()
	}
	stop()
	testrun.Shutdown(t) // a panic is counted and logged after the connection's end
	testenv.Equal(t, closed.Load(), bombs+2, "calls of Closed")
	// One in Opened, ten in Handle; the one in Closed is the second of those,
	// in the place of the first.
	testenv.Equal(t, panics(s), bombs+1, "panics counted")
	lines := logged.FilterMessage("coroutine panicked").All()
	testenv.Equal(t, len(lines), bombs+1, "panics logged")
	for _, line := range lines {
		stack, _ := line.ContextMap()["stack"].(string)
		if n := strings.Count(stack, "netco_test.explode("); n == 0 {
			t.Errorf("the stack does not show where:\n%s", stack)
		}
	}
}

// TestPanicStorm: many panics leave nothing behind.
func TestPanicStorm(t *testing.T) {
	testenv.OK(t, netco.Start(netco.Options{Processors: 2, OnPanic: netco.KeepServing,
		Logger: zap.New(quietCore{})}))
	defer netco.Shutdown(context.Background())
	storm := func(n int) {
		for range n / 100 {
			var all []netco.Handle
			for range 100 {
				h := testenv.Must(netco.Go(func() { explode("storm") }))
				all = append(all, h)
			}
			for _, h := range all {
				h.Join()
			}
		}
	}
	used := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	s := testenv.Must(netco.Default())
	storm(500)
	before := used()
	storm(1500)
	after := used()
	for end := time.Now().Add(testenv.Limit); after > before+1<<20 && time.Now().Before(end); {
		after = used() // some memory is still on its way out
	}
	if after > before+1<<20 {
		t.Errorf("1,500 panics have left %d bytes", after-before)
	}
	testenv.Equal(t, panics(s), 2000, "panics counted")
}

// quietCore takes everything and writes nothing.
type quietCore struct{}

func (quietCore) Enabled(zapcore.Level) bool                 { return true }
func (c quietCore) With([]zapcore.Field) zapcore.Core        { return c }
func (quietCore) Write(zapcore.Entry, []zapcore.Field) error { return nil }
func (quietCore) Sync() error                                { return nil }
func (c quietCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return ce.AddCore(e, c)
}
