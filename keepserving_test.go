package netco_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/internal/engine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
)

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
	shutdown(t) // a panic is counted and logged after the connection's end
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
	storm(1000)
	before := used()
	storm(10_000)
	after := used()
	for end := time.Now().Add(testenv.Limit); after > before+1<<20 && time.Now().Before(end); {
		after = used() // what is on its way out
	}
	if after > before+1<<20 {
		t.Errorf("10,000 panics have left %d bytes", after-before)
	}
	testenv.Equal(t, panics(s), 11_000, "panics counted")
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
