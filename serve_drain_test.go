package netco_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/internal/diagnose"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
	netcotls "github.com/netco-go/netco/tls"
)

// echoes are handlers that answer each line by itself, and return why they
// ended.
var echoes = []struct {
	name string
	echo func(net.Conn) error
}{
	{"Read and Write", func(c net.Conn) error {
		b := make([]byte, 100)
		for {
			n, err := c.Read(b)
			if err != nil {
				return err
			}
			c.Write(b[:n])
		}
	}},
	{"bufio", func(c net.Conn) error {
		for in := bufio.NewReader(c); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			io.WriteString(c, line)
		}
	}},
	{"Copy", func(c net.Conn) error {
		_, err := io.Copy(c, c)
		return err
	}},
	{"WaitReadable", func(c net.Conn) error {
		s, ok := c.(socket.Stream)
		if !ok {
			return echoLines(c)
		}
		for b := make([]byte, 100); ; {
			if err := s.WaitReadable(); err != nil {
				return err
			}
			n, err := c.Read(b)
			if err != nil {
				return err
			}
			c.Write(b[:n])
		}
	}},
	{"Buffered", func(c net.Conn) error {
		s, ok := c.(socket.Stream)
		if !ok {
			return echoLines(c)
		}
		return echoLines(socket.NewBuffered(s))
	}},
}

func echoLines(c io.ReadWriter) error {
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil {
			return err
		}
		c.Write(b)
	}
}

// drainable are listeners whose connections a drain ends, and how to dial them.
var drainable = []struct {
	name   string
	listen func(*testing.T) (net.Listener, func() net.Conn)
}{
	{"tcp", func(t *testing.T) (net.Listener, func() net.Conn) {
		return listenFor(t, func(ln net.Listener) net.Listener { return ln })
	}},
	{"limited", func(t *testing.T) (net.Listener, func() net.Conn) {
		return listenFor(t, func(ln net.Listener) net.Listener {
			return socket.LimitListener(struct{ net.Listener }{ln}, 5)
		})
	}},
	{"unix", func(t *testing.T) (net.Listener, func() net.Conn) {
		name := testenv.SocketPath(t, "s")
		return testenv.Must(netco.Listen("unix", name)), func() net.Conn {
			return testenv.Closing(t, testenv.Must(net.Dial("unix", name)))
		}
	}},
	{"crypto/tls", func(t *testing.T) (net.Listener, func() net.Conn) {
		return listenTLS(t, tls.NewListener)
	}},
	{"netco/tls", func(t *testing.T) (net.Listener, func() net.Conn) {
		return listenTLS(t, netcotls.NewListener)
	}},
}

func listenFor(t *testing.T, as func(net.Listener) net.Listener) (net.Listener, func() net.Conn) {
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	return as(ln), func() net.Conn { return client(t, ln.Addr().String()) }
}

func listenTLS(t *testing.T, f func(net.Listener, *tls.Config) net.Listener) (net.Listener,
	func() net.Conn) {
	s := httptest.NewTLSServer(nil) // for its certificate
	defer s.Close()
	ln, dial := listenFor(t, func(ln net.Listener) net.Listener { return f(ln, s.TLS) })
	return ln, func() net.Conn { return tls.Client(dial(), &tls.Config{InsecureSkipVerify: true}) }
}

// atRest waits until n coroutines live, and each waits for something.
func atRest(t *testing.T, n uint64) {
	t.Helper()
	procs := engine.Of(testenv.Must(netco.Default())).Processors()
	testenv.Until(t, "all to wait", func() bool {
		now := diagnose.ProgressOf(procs)
		return now.Asleep && now.Live == n
	})
}

// exchange sends a line and wants it back.
func exchange(t *testing.T, c net.Conn) {
	t.Helper()
	io.WriteString(c, "line\n")
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "line\n" {
		t.Errorf("answer %q, %v", b, err)
	}
}

// TestDrainEndsIdle: a drain ends handlers that wait for a request, the first
// one or another, and Shutdown then has nothing to wait for.
func TestDrainEndsIdle(t *testing.T) {
	for _, l := range drainable {
		for _, e := range echoes {
			t.Run(l.name+" "+e.name, func(t *testing.T) {
				testrun.Start(t, 2)
				ln, dial := l.listen(t)
				why := make(chan error, 2)
				s := serve(ln, testrun.First, func(c net.Conn) {
					defer c.Close()
					why <- e.echo(c)
				})
				fresh, used := dial(), dial()
				exchange(t, used)
				if c, ok := fresh.(*tls.Conn); ok {
					testenv.OK(t, c.Handshake())
				}
				if l.name == "crypto/tls" { // whose handshake looks like a request
					exchange(t, fresh)
				}
				atRest(t, 3)
				testrun.Shutdown(t)
				s.end(t, netco.ErrShutdown)
				for range 2 {
					err := testenv.Await(t, why, "a handler")
					testenv.Fails(t, err, netco.ErrShutdown, "a handler")
					testenv.Fails(t, err, net.ErrClosed, "a handler")
				}
				for _, c := range []net.Conn{fresh, used} {
					testenv.Equal(t, testenv.Err(c.Read(make([]byte, 1))), io.EOF,
						"the client reads")
				}
			})
		}
	}
}

// drain begins Shutdown, and returns when it has begun. The function that it
// returns waits until it is over.
func drain(t *testing.T) (wait func()) {
	t.Helper()
	group := engine.Of(testenv.Must(netco.Default())).Group()
	over := make(chan error, 1)
	go func() { over <- netco.Shutdown(context.Background()) }()
	testenv.Until(t, "draining", func() bool { return group.Phase() == processor.Draining })
	return func() { testenv.OK(t, testenv.Await(t, over, "Shutdown")) }
}

// kept are handlers that a drain does not end while the client is owed
// something: the rest of the answer to what is sent before it begins.
var kept = []struct {
	name         string
	before, rest string // what the client sends
	want         string // after that
	handler      func(c net.Conn, next func())
}{
	{"part of a line", "par", "tial\n", "partial\n", func(c net.Conn, _ func()) {
		echoes[1].echo(c)
	}},
	{"part of a line behind an answer, in a Buffered", "line\npar", "tial\n", "line\npartial\n",
		func(c net.Conn, _ func()) {
			b := socket.NewBuffered(c.(socket.Stream))
			for {
				line, err := b.ReadLine()
				if err != nil {
					return
				}
				b.Write(append(line, '\n'))
			}
		}},
	{"at work", "line\n", "", "line\n", func(c net.Conn, next func()) {
		b := make([]byte, 5)
		c.Read(b)
		next()
		c.Write(b)
	}},
	{"a request that has come while it was at work", "line\nmore\n", "", "line\nmore\n",
		func(c net.Conn, next func()) {
			b := make([]byte, 5)
			io.ReadFull(c, b)
			next()
			c.Write(b)
			echoes[0].echo(c)
		}},
	{"another writes", "line\n", "end", "123", func(c net.Conn, next func()) {
		c.Read(make([]byte, 5))
		netco.GoWith(netco.Spawn{Child: true, Fn: func() {
			io.WriteString(c, "1")
			next()
			io.WriteString(c, "23")
		}})
		c.Read(make([]byte, 3))
	}},
	{"another writes first", "", "end", "123", func(c net.Conn, next func()) {
		blocking.Do(context.Background(), func() { io.WriteString(c, "1") })
		netco.GoWith(netco.Spawn{Child: true, Fn: func() { next(); io.WriteString(c, "23") }})
		c.Read(make([]byte, 3))
	}},
	{"Shield", "", "line\n", "line\n", func(c net.Conn, _ func()) {
		b := make([]byte, 5)
		netco.Shield(func() { io.ReadFull(c, b) })
		c.Write(b)
		echoes[0].echo(c)
	}},
	{"passed on", "", "line\n", "line\n", func(c net.Conn, _ func()) {
		netco.Go(func() {
			defer c.Close()
			b := make([]byte, 5)
			io.ReadFull(c, b)
			c.Write(b)
		})
	}},
}

// TestDrainKeepsBusy: a drain waits for what has begun.
func TestDrainKeepsBusy(t *testing.T) {
	for _, k := range kept {
		t.Run(k.name, func(t *testing.T) {
			testrun.Start(t, 1)
			ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
			step := channel.Make[int](1)
			serve(ln, testrun.First, func(c net.Conn) {
				if k.name != "passed on" {
					defer c.Close()
				}
				k.handler(c, func() { step.Recv() })
			})
			c := client(t, ln.Addr().String())
			io.WriteString(c, k.before)
			live := uint64(2)
			if k.rest == "end" {
				live = 3
			}
			testenv.Until(t, "the client to be served", func() bool {
				return sockinfo.OpenCount() == 2 // the listener and the connection
			})
			atRest(t, live)
			wait := drain(t)
			atRest(t, live-1) // all but the one that accepted
			step.Send(1)
			io.WriteString(c, k.rest)
			got, err := io.ReadAll(c)
			if string(got) != k.want || err != nil {
				t.Errorf("the client has got %q, %v, want %q", got, err, k.want)
			}
			wait()
		})
	}
}

// TestDrainKeepsByHand: a connection that the program has accepted itself is
// its own to end. A listener accepts no more, even what has come.
func TestDrainKeepsByHand(t *testing.T) {
	testrun.Start(t, 1)
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	other := testenv.Closing(t, testenv.Must(netco.Listen("tcp", "127.0.0.1:0")))
	client(t, other.Addr().String())
	testrun.First.Run(func() {
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		c.SetDeadline(time.Now().Add(testenv.Limit))
		netco.Go(func() { echoAll(c) })
	})
	c := client(t, ln.Addr().String())
	exchange(t, c)
	atRest(t, 1)
	wait := drain(t)
	testenv.Fails(t, testenv.Err(other.Accept()), netco.ErrShutdown, "Accept")
	for range 2 {
		atRest(t, 1)
		exchange(t, c)
	}
	c.Close()
	wait()
	ln.Close()
}

// TestDrainRefusesWaits: while a Scheduler drains, a read ends that would wait
// for a request, and one does not that finds it there.
func TestDrainRefusesWaits(t *testing.T) {
	testrun.Start(t, 1)
	ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
	step, results := channel.Make[int](1), make(chan error, 5)
	serve(ln, testrun.First, func(c net.Conn) {
		defer c.Close()
		step.Recv()
		for range 3 { // the second would wait, and the third
			_, err := c.Read(make([]byte, 5))
			if err == nil {
				_, err = c.Write([]byte("done\n"))
			}
			results <- err
		}
		_, err := io.WriteString(c, "more") // nothing was closed
		results <- err
		conn := testenv.Must(c.(syscall.Conn).SyscallConn())
		conn.Control(func(fd uintptr) { // the Processor knows nothing of what comes
			testenv.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		})
		_, err = c.Read(make([]byte, 5))
		results <- err
	})
	c := client(t, ln.Addr().String())
	io.WriteString(c, "line\n")
	atRest(t, 2)
	wait := drain(t)
	atRest(t, 1)
	step.Send(1)
	got := make([]byte, len("done\nmore"))
	_, err := io.ReadFull(c, got)
	io.WriteString(c, "line\n")
	if string(got) != "done\nmore" || err != nil {
		t.Errorf("the client has got %q, %v", got, err)
	}
	for i, want := range []error{nil, netco.ErrShutdown, netco.ErrShutdown, nil, nil} {
		testenv.Fails(t, <-results, want, "call", i)
	}
	wait()
}

// TestDrainHammer: drains begin at any moment of an exchange. Each ends, none
// by force, and each client sees its end.
func TestDrainHammer(t *testing.T) {
	for round := range testenv.Rounds(300) {
		testrun.Start(t, 1+round%2)
		ln := testenv.Must(netco.Listen("tcp", "127.0.0.1:0"))
		s := serve(ln, testrun.First, func(c net.Conn) {
			defer c.Close()
			echoes[round%len(echoes)].echo(c)
		})
		var clients sync.WaitGroup
		var answers atomic.Int64
		for range 8 {
			c := client(t, ln.Addr().String())
			clients.Go(func() {
				defer c.Close()
				for b := make([]byte, 1); ; answers.Add(1) {
					c.Write([]byte("\n"))
					if _, err := c.Read(b); err != nil {
						if errors.Is(err, os.ErrDeadlineExceeded) {
							t.Error("a client was left alone")
						}
						return
					}
					if rand.IntN(4) == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		least := rand.Int64N(100)
		testenv.Until(t, "some answers", func() bool { return answers.Load() >= least })
		testrun.Shutdown(t)
		s.end(t, netco.ErrShutdown)
		clients.Wait()
	}
}
