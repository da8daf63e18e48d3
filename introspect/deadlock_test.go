package introspect

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/channel"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/scheduler"
	"github.com/netco-go/netco/socket"
	"github.com/netco-go/netco/sync"
)

// embrace starts two coroutines that wait for each other's lock, on the first
// and the last Processor, and returns the first of them.
func embrace(s *scheduler.Scheduler) coroutine.Handle {
	var a, b sync.Mutex
	var held sync.WaitGroup
	held.Add(2)
	locks := func(mine, others *sync.Mutex) func() {
		return func() { mine.Lock(); held.Done(); held.Wait(); others.Lock() }
	}
	testenv.Must(s.GoWith(spawnOn(s.Processors()-1, "takes b, then a", locks(&b, &a))))
	return testenv.Must(s.GoWith(spawnOn(0, "takes a, then b", locks(&a, &b))))
}

// TestDeadlock: two coroutines that wait for each other's lock are shown, as a
// deadlock of all if no other goes on, until one is stopped.
func TestDeadlock(t *testing.T) {
	for _, others := range []int{0, 1} {
		s := start(t, scheduler.Options{Processors: 2 - others})
		h := New(s, Options{})
		for range others {
			s.GoWith(spawn("sleeper", func() { processor.Sleep(time.Hour) }))
		}
		first := embrace(s)
		var o *overviewJSON
		testenv.Until(t, "the circle", func() bool {
			o = overview(t, h)
			return len(o.LockCircles) == 1 && (others > 0 || o.Deadlock != nil)
		})
		c, says := o.LockCircles[0], "DEADLOCK of 2"
		if others == 0 {
			c.Count, c.Coroutines = int(o.Deadlock.Count), o.Deadlock.Coroutines
			says = "ordinary goroutine"
		} else if o.Deadlock != nil {
			t.Errorf("a deadlock of all: %+v", o.Deadlock)
		}
		if c.Count != 2 || len(c.Coroutines) != 2 ||
			!strings.Contains(c.Circle, `"takes a, then b" waits for`) {
			t.Fatalf("%+v", c)
		}
		one, other := c.Coroutines[0], c.Coroutines[1]
		if one.HeldBy != other.ID || other.HeldBy != one.ID || one.Reason != "lock" ||
			!strings.Contains(one.Name, "takes") {
			t.Errorf("not held by each other: %+v, %+v", one, other)
		}
		text, _ := get(t, h, "/", 200)
		for _, want := range []string{"DEADLOCK", says, "takes a, then b", "takes b, then a",
			fmt.Sprintf(`held by <a href="coroutine?id=%d">`, one.ID)} {
			testenv.True(t, strings.Contains(text, want), "the page has no %q", want)
		}
		wellFormed(t, says, text)
		first.Stop()
		testenv.Until(t, "its end", func() bool { return len(overview(t, h).LockCircles) == 0 })
	}
}

// noDeadlocks are what may still set a coroutine going, until end: how it
// waits, and how that is shown.
var noDeadlocks = []struct {
	name, reason string
	extra        func(t *testing.T, end context.Context)
}{
	{"sleeper", "sleep", func(*testing.T, context.Context) { processor.Sleep(time.Hour) }},
	{"bounded wait", "channel", func(*testing.T, context.Context) {
		channel.Make[int](0).RecvTimeout(time.Hour)
	}},
	{"context", "context", func(_ *testing.T, end context.Context) { sync.Wait(end) }},
	// So that its worker does not stay.
	{"blocking call", "blocking", func(_ *testing.T, end context.Context) {
		blocking.Do(context.Background(), func() { <-end.Done(); runtime.Goexit() })
	}},
	{"another's primitive", "user", func(*testing.T, context.Context) {
		w := coroutine.AcquireWaiter()
		defer w.Release()
		w.Park(coroutine.ReasonUser)
	}},
	{"reader", "read", func(t *testing.T, _ context.Context) {
		c := dialled(t)
		defer c.Close()
		c.Read(make([]byte, 1))
	}},
	{"listener", "accept", func(t *testing.T, _ context.Context) {
		ln, err := new(socket.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			return
		}
		defer ln.Close()
		ln.Accept()
	}},
	{"computes", "", func(_ *testing.T, end context.Context) {
		for end.Err() == nil {
			coroutine.Yield()
		}
	}},
}

// TestNoDeadlock: where besides a deadlock something may still come that sets a
// coroutine going, it is none, until that has ended.
func TestNoDeadlock(t *testing.T) {
	for _, c := range noDeadlocks {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, scheduler.Options{Processors: 1})
			h := New(s, Options{})
			end, cancel := context.WithCancel(context.Background())
			defer cancel()
			for range 2 {
				s.GoWith(spawn("deadlocked", func() { channel.Make[int](0).Recv() }))
			}
			extra := testenv.Must(s.GoWith(spawn("extra", func() { c.extra(t, end) })))
			testenv.Until(t, "it waits", func() bool {
				list := getJSON[coroutinesJSON](t, h, "/coroutines.json?name=extra").Coroutines
				return len(list) == 1 && list[0].Reason == c.reason && getJSON[coroutinesJSON](t, h,
					"/coroutines.json?name=dead&reason=channel").Matched == 2
			})
			for range 3 {
				if o := overview(t, h); o.Deadlock != nil {
					t.Fatalf("with one more it is none: %+v", o.Deadlock)
				}
			}
			cancel()
			extra.Stop()
			testenv.Until(t, "without it, it is told of", func() bool {
				d := overview(t, h).Deadlock
				return d != nil && d.Count == 2
			})
		})
	}
}

// dialled returns a connection on which nothing comes.
func dialled(t *testing.T) net.Conn {
	ln := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c := testenv.Must(ln.Accept())
		accepted <- c
	}()
	c := testenv.Must(new(socket.Dialer).Dial("tcp", ln.Addr().String()))
	peer := <-accepted
	t.Cleanup(func() { peer.Close() })
	return c
}

// TestIdleConnection: a Server's connection holds no coroutine while it is
// idle, but what comes on it starts one.
func TestIdleConnection(t *testing.T) {
	s := start(t, scheduler.Options{Processors: 1})
	h := New(s, Options{})
	server := &socket.Server{Handle: func(c *socket.ServerConn) error { return io.EOF }}
	s.GoWith(spawn("deadlocked", func() {
		testenv.NoError(t, server.ServeConn(dialled(t).(socket.Stream), nil))
		channel.Make[int](0).Recv()
	}))
	testenv.Until(t, "it is idle", func() bool {
		return getJSON[socketsJSON](t, h, "/sockets.json?kind=idle").Matched == 1
	})
	testenv.Until(t, "the other waits", func() bool {
		return getJSON[coroutinesJSON](t, h, "/coroutines.json?reason=channel").Matched == 1
	})
	for range 3 {
		if o := overview(t, h); o.Deadlock != nil {
			t.Fatalf("with an idle connection it is none: %+v", o.Deadlock)
		}
	}
	server.Close()
	testenv.Until(t, "without it, it is told of", func() bool {
		return overview(t, h).Deadlock != nil
	})
}
